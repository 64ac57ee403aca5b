"""Does the portal's mail server take what it is given: reachable, over TLS, with this user name and password."""

import os
from collections.abc import Iterable

from strongroom.cli.doctor.finding import Finding, Verdict
from strongroom.runtime.settings import SettingsError, load

_CHECK = "mail"


def findings() -> Iterable[Finding]:
    """By STRONGROOM_SMTP_URL; nothing is sent."""
    if not os.environ.get("STRONGROOM_SMTP_URL"):
        yield Finding(_CHECK, Verdict.skipped, "none set up: the portal needs STRONGROOM_SMTP_URL to send any")
        return
    try:
        settings = load(os.environ)
    except SettingsError as error:
        yield Finding(_CHECK, Verdict.failed, str(error))
        return
    from strongroom.portal.messaging.mail import NotSent
    from strongroom.portal.messaging.mailers import SmtpMailer, why

    assert settings.smtp_url is not None
    try:
        SmtpMailer(settings.smtp_url, settings.sender).check()
    except NotSent as error:
        yield Finding(_CHECK, Verdict.failed, why(error))
    else:
        yield Finding(_CHECK, Verdict.ok, f"the server lets us in; mail comes from {settings.sender}")
