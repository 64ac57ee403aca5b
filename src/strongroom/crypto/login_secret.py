"""The login secret: what stands in the `passphrase` field instead of the passphrase."""

import hashlib
from typing import Final

from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.encoding import encode_unpadded
from strongroom.crypto.key_stretching import expand, pbkdf2
from strongroom.crypto.names import canonical_realm, canonical_username
from strongroom.crypto.passphrases import AccountSecret, passphrase_for_pdk
from strongroom.crypto.secret import Secret

ITERATIONS: Final = 600_000


def derive_login_secret(
    passphrase: str, username: str, realm: str, account_secret: AccountSecret | None = None
) -> Secret[str]:
    """`srl1_...`, or `srl2_...` with an account secret: 43 Base64url characters and a checksum; takes half a second.

    PassphraseRefused, UsernameRefused or RealmRefused for inputs without a canonical form.
    """
    # The salt comes from name and realm alone: nothing is fetched before login, so no server can weaken it.
    salt = hashlib.sha256(
        b"strongroom/1/login-salt\0" + canonical_realm(realm).encode() + b"\0" + canonical_username(username).encode()
    ).digest()
    stretched = pbkdf2(passphrase_for_pdk(passphrase, account_secret), salt, ITERATIONS)
    secret = expand(stretched, b"strongroom/1/login-secret")
    prefix = "srl1_" if account_secret is None else "srl2_"
    return Secret(with_checksum(prefix + encode_unpadded(secret)))
