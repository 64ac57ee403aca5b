"""The login secret."""

from strongroom.crypto.passphrases import AccountSecret
from strongroom.crypto.secret import Secret


def derive_login_secret(
    passphrase: str, username: str, realm: str, account_secret: AccountSecret | None = None
) -> Secret[str]:
    """`srl1_...` or `srl2_...`; takes half a second."""
    raise NotImplementedError
