"""`strongroom admin mail`: is the portal's mail set up so that it arrives?"""

import asyncio
import os

import click

from strongroom.cli.admin.common import show
from strongroom.cli.output import Failed, data_option, json_option
from strongroom.runtime.clock import SystemClock
from strongroom.runtime.settings import load


@click.group()
def mail() -> None:
    """How the portal sends mail: STRONGROOM_SMTP_URL and STRONGROOM_MAIL_FROM, as for `serve`."""


@mail.command()
@click.argument("address")
@data_option
@json_option
def test(address: str, data: str | None, as_json: bool) -> None:
    """Send one test message to ADDRESS, now and from here.

    Without STRONGROOM_SMTP_URL it is written to the outbox of the data folder, where the portal's mail goes then, as
    long as only this machine can reach the portal.
    """
    from strongroom.portal.accounts.emails import canonical_email
    from strongroom.portal.area import PREFIX
    from strongroom.portal.messaging import mailers, messages
    from strongroom.portal.messaging.mail import NotSent

    settings = load(os.environ, {"data": data})
    to = canonical_email(address)
    if to is None:
        raise click.UsageError("ADDRESS has to be an e-mail address, such as you@vault.example")
    mailer = mailers.make(settings, SystemClock())
    if mailer is None:
        raise Failed("the portal can send no mail: STRONGROOM_SMTP_URL is not set")
    if settings.smtp_url is None and not settings.data.is_dir():
        raise Failed(f"there is no data folder {settings.data}: start the service once")
    try:
        asyncio.run(mailer.send(messages.test(to, f"{settings.base_url}{PREFIX}")))
    except NotSent as error:
        raise Failed(mailers.why(error)) from None
    way = "outbox" if settings.smtp_url is None else "smtp"
    said = "written to the outbox" if way == "outbox" else "the mail server took it; look whether it arrives"
    show({"to": to, "from": settings.sender, "way": way}, as_json, said)
