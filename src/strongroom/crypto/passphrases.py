"""Passphrases and account secrets, as bytes for PBKDF2."""

from typing import final

from strongroom.crypto.secret import Secret


@final
class AccountSecret:
    """32 random bytes shown once to the user."""

    @classmethod
    def generate(cls) -> "AccountSecret":
        raise NotImplementedError

    @classmethod
    def parse(cls, text: str) -> "AccountSecret":
        """Read the text form; PassphraseRefused."""
        raise NotImplementedError

    def text(self) -> Secret[str]:
        """The text form."""
        raise NotImplementedError


def canonical_passphrase(passphrase: str) -> bytes:
    """UTF-8 of NFC, 1 to 1,024 bytes; PassphraseRefused."""
    raise NotImplementedError


def passphrase_for_pdk(passphrase: str, account_secret: AccountSecret | None = None) -> bytes:
    """P, or P2 with an account secret."""
    raise NotImplementedError


def code_units(passphrase: str) -> bytes:
    """The bytes early JavaScript ports fed to PBKDF2."""
    raise NotImplementedError
