"""Opening the encrypted session string."""

from strongroom.crypto.formats import Mode
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.secret import Secret


def open_vault_session(
    private_key: PrivateKey, serialized: str, *, realm: str, mode: Mode = Mode.STRICT
) -> Secret[str]:
    """SessionStringRefused."""
    raise NotImplementedError
