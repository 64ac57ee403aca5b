"""Does a service answer: reachable, which version, ready for requests, and does it take the subscription key."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from strongroom.cli.doctor.finding import Finding, Verdict
from strongroom.crypto.errors import StrongroomError

if TYPE_CHECKING:
    from strongroom.client.blocking.service import Strongroom

REACHABLE = "service"
_KEY = "subscription key"


def findings(url: str) -> Iterable[Finding]:
    from strongroom.client.blocking.service import Strongroom

    try:
        client = Strongroom(url, timeout=10)
    except StrongroomError as error:
        yield Finding(REACHABLE, Verdict.failed, str(error))
        return
    with client:
        try:
            version = client.calls.version()
        except StrongroomError as error:
            yield Finding(REACHABLE, Verdict.failed, str(error))
            return
        yield Finding(REACHABLE, Verdict.ok, f"{version.name} {version.version}, areas: {', '.join(version.areas)}")
        yield _ready(client)
        yield _subscription_key(client, version.areas)


def _ready(client: "Strongroom") -> Finding:
    try:
        client.calls.readyz()
    except StrongroomError as error:
        return Finding("readiness", Verdict.failed, str(error))
    return Finding("readiness", Verdict.ok, "the databases answer and take writes")


def _subscription_key(client: "Strongroom", areas: list[str]) -> Finding:
    from strongroom.client.errors import ServiceRefused, SessionExpired

    if not os.environ.get("STRONGROOM_SUBSCRIPTION_KEY"):
        return Finding(_KEY, Verdict.skipped, "none given: set STRONGROOM_SUBSCRIPTION_KEY")
    try:
        # The key is judged before the session: a session that cannot be tells what we want to know and changes nothing.
        if "keystore" in areas:
            client.calls.read_key_encryption_key("none")
        else:
            client.calls.list_classification_nodes("none")
    except SessionExpired:
        return Finding(_KEY, Verdict.ok, "accepted")
    except ServiceRefused as refused:
        return Finding(_KEY, Verdict.failed, f"refused: {refused.code}")
    except StrongroomError as error:
        return Finding(_KEY, Verdict.failed, str(error))
    return Finding(_KEY, Verdict.warning, "the service answered a session string that cannot be one")
