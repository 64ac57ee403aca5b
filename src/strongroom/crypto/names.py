"""Canonical usernames and realms, and the tags computed from them."""


def canonical_username(username: str) -> str:
    """NFC(casefold(NFKC(username))); UsernameRefused."""
    raise NotImplementedError


def account_tag(username: str) -> str:
    """`acct`: 22 characters."""
    raise NotImplementedError


def canonical_realm(url: str) -> str:
    """`https://host[:port]` or `http://localhost`; RealmRefused."""
    raise NotImplementedError


def realm_tag(realm: str) -> str:
    """11 base62 digits."""
    raise NotImplementedError
