"""Passphrases and account secrets, as the bytes that reach key derivation."""

import hashlib
import hmac
import unicodedata
from typing import Final, NoReturn, final

from strongroom.crypto.checksum import LENGTH, has_checksum, with_checksum
from strongroom.crypto.encoding import decode_unpadded, encode_unpadded
from strongroom.crypto.errors import PassphraseRefused
from strongroom.crypto.randomness import random_bytes
from strongroom.crypto.secret import Secret

PASSPHRASE_LIMIT: Final = 1024
_TEXT_PREFIX: Final = "srx1_"


@final
class AccountSecret:
    """32 random bytes shown once to the user; with them a stolen database is no oracle for guessing the passphrase."""

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        """PassphraseRefused unless exactly 32 bytes."""
        if len(value) != 32:
            raise PassphraseRefused
        self._value = value

    @classmethod
    def generate(cls) -> "AccountSecret":
        """A new one."""
        return cls(random_bytes(32))

    @classmethod
    def parse(cls, text: str) -> "AccountSecret":
        """From its text form, white space anywhere ignored. PassphraseRefused for a typing error or anything else."""
        compact = "".join(text.split())
        if not compact.startswith(_TEXT_PREFIX) or not has_checksum(compact):
            raise PassphraseRefused
        value = decode_unpadded(compact[len(_TEXT_PREFIX) : -LENGTH])
        if value is None:
            raise PassphraseRefused
        return cls(value)

    def text(self) -> Secret[str]:
        """`srx1_`, 43 Base64url characters and a checksum: what the user writes down."""
        return Secret(with_checksum(_TEXT_PREFIX + encode_unpadded(self._value)))

    def input_for_pdk(self, passphrase: bytes) -> bytes:
        """P2: `srx2_` and the Base64url of HMAC-SHA256(secret, "strongroom/1/pdk-input" 00 P), 48 ASCII bytes."""
        mixed = hmac.digest(self._value, b"strongroom/1/pdk-input\0" + passphrase, hashlib.sha256)
        return b"srx2_" + encode_unpadded(mixed).encode("ascii")

    def __repr__(self) -> str:
        return "AccountSecret(********)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an account secret cannot be pickled or copied")

    def __eq__(self, other: object) -> bool:
        return hmac.compare_digest(self._value, other._value) if isinstance(other, AccountSecret) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # typeshed declares __hash__ a method; None is the documented opt-out


def canonical_passphrase(passphrase: str) -> bytes:
    """P: UTF-8 of NFC(passphrase), so that one keyboard's é is another's. PassphraseRefused unless 1 to 1,024 bytes."""
    # Normalising costs more than linear time on hostile text, and NFC never shortens text below a third.
    if len(passphrase) > 3 * PASSPHRASE_LIMIT:
        raise PassphraseRefused
    return exact_passphrase(unicodedata.normalize("NFC", passphrase))


def passphrase_for_pdk(passphrase: str, account_secret: AccountSecret | None = None) -> bytes:
    """What goes to PBKDF2 for the password derived key and the login secret: P, or P2 with an account secret."""
    canonical = canonical_passphrase(passphrase)
    return canonical if account_secret is None else account_secret.input_for_pdk(canonical)


def exact_passphrase(passphrase: str) -> bytes:
    """UTF-8 of the passphrase as given, as other ports use it. PassphraseRefused unless 1 to 1,024 bytes."""
    try:
        encoded = passphrase.encode("utf-8")
    except UnicodeEncodeError:
        raise PassphraseRefused from None
    if not 1 <= len(encoded) <= PASSPHRASE_LIMIT:
        raise PassphraseRefused
    return encoded


def code_units(passphrase: str) -> bytes:
    """The bytes early JavaScript ports gave to PBKDF2: one per UTF-16 code unit, PassphraseRefused beyond 1,024.

    Byte i is the low byte of unit i, XOR the high byte of unit i+1 unless i mod 4 is 3 or i is the last: the ports'
    library packed units into 32-bit words and let the high bytes run over. Up to U+00FF this is Latin-1.
    """
    units = passphrase.encode("utf-16-be", "surrogatepass")
    high, low = units[::2], units[1::2]
    if not 1 <= len(low) <= PASSPHRASE_LIMIT:
        raise PassphraseRefused
    return bytes(
        unit ^ (high[index + 1] if index % 4 != 3 and index + 1 < len(low) else 0) for index, unit in enumerate(low)
    )
