"""E-mail addresses: the form they are compared in."""

import re

import idna

MAX_LENGTH = 254
WRONG_EMAIL = "Enter an e-mail address, such as ada@example.com."
"""What a form says where `canonical_email` finds none."""
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")


def canonical_email(text: str) -> str | None:
    """Lower case, with the domain as it stands in DNS; None for what is no address that mail can be sent to.

    The local part has to be ASCII (RFC 5321 section 4.1.2, without quoted strings); at most 254 characters.
    """
    local, at, domain = text.strip().rpartition("@")
    # Nor what looks like an encoded word (RFC 2047), which would be read as something else in a header.
    if not at or len(local) > 64 or not _LOCAL.fullmatch(local) or "=?" in local:
        return None
    try:
        host = idna.encode(domain, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return None
    # With a dot at the end it would be a second address of the same mailbox.
    if "." not in host or host.endswith("."):
        return None
    address = f"{local}@{host}".lower()
    return address if len(address) <= MAX_LENGTH else None


def mailbox(email: str) -> str:
    """Where mail to a canonical address arrives: most servers leave out what follows a plus sign."""
    local, _, host = email.rpartition("@")
    return f"{local.partition('+')[0]}@{host}"
