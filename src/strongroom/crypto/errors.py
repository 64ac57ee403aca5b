"""Everything this package refuses, as one small tree; messages are fixed sentences that never repeat input.

StrongroomError
└── CryptoError
    ├── MalformedCiphertext    not a serialized value of the expected shape
    ├── MalformedKey           not a key of the one accepted form
    ├── MalformedArtefacts     derivation artefacts that cannot be read
    ├── ParametersRefused      derivation parameters outside the bounds
    ├── DecryptionFailed       wrong key, wrong binding or changed bytes: never distinguished
    ├── VerificationFailed     verification artefacts or a signature do not hold
    ├── SessionStringRefused   what the vault sent is not a session string for this realm
    ├── UsernameRefused        not 1 to 128 assigned code points without controls
    ├── PassphraseRefused      not 1 to 1,024 bytes of text, or no account secret
    ├── RealmRefused           not an https address (or a loopback one)
    ├── ContextRefused         a purpose, context, tag or account outside its grammar
    └── PlaintextRefused       empty, or longer than the strategy takes
"""

from typing import ClassVar


class StrongroomError(Exception):
    """The root of every error Strongroom raises on purpose."""


class CryptoError(StrongroomError):
    """The root of this package's errors. The text is the class's own and takes no argument, so no input can leak."""

    message: ClassVar[str] = "the value is refused"

    def __init__(self) -> None:
        super().__init__(self.message)

    def __reduce__(self) -> tuple[type["CryptoError"], tuple[()]]:
        return type(self), ()


class MalformedCiphertext(CryptoError):
    message = "not a serialized value of the expected strategy and shape"


class MalformedKey(CryptoError):
    message = "not an RSA key of exactly 4096 bits in an accepted form"


class MalformedArtefacts(CryptoError):
    message = "the artefacts cannot be read"


class ParametersRefused(CryptoError):
    message = "the derivation parameters are outside the accepted bounds"


class DecryptionFailed(CryptoError):
    message = "decryption failed: wrong key, or the value was changed or belongs elsewhere"


class VerificationFailed(CryptoError):
    message = "verification failed: wrong passphrase, or the data was changed"


class SessionStringRefused(CryptoError):
    message = "the encrypted session string is refused"


class UsernameRefused(CryptoError):
    message = "a username has 1 to 128 characters, all assigned in Unicode 14, and no controls"


class PassphraseRefused(CryptoError):
    message = "a passphrase has 1 to 1,024 bytes of valid text; an account secret is the text shown once"


class RealmRefused(CryptoError):
    message = "a realm is an https address; http is for loopback only"


class ContextRefused(CryptoError):
    message = "a purpose, context, tag or identifier does not fit its grammar"


class PlaintextRefused(CryptoError):
    message = "the plaintext is empty or longer than the strategy takes"
