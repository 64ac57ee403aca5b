"""The client-side cryptography of Strongroom: pure functions without input or output, importable alone.

Names are loaded when they are first used, so that importing a part costs only that part.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strongroom.crypto.artefacts import read_artefacts, write_artefacts
    from strongroom.crypto.clear_keys import holds_private_key
    from strongroom.crypto.compat import derive_key, open_with_key, open_with_passphrase
    from strongroom.crypto.derivation import DerivationArtefacts, derive, parse_derivation_artefacts
    from strongroom.crypto.errors import (
        ContextRefused,
        CryptoError,
        DecryptionFailed,
        MalformedArtefacts,
        MalformedCiphertext,
        MalformedKey,
        ParametersRefused,
        PassphraseRefused,
        PlaintextRefused,
        RealmRefused,
        SessionStringRefused,
        StrongroomError,
        UsernameRefused,
        VerificationFailed,
    )
    from strongroom.crypto.formats import ArtefactFormat, Mode, Strategy
    from strongroom.crypto.inspection import Explanation, explain
    from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey
    from strongroom.crypto.login_secret import derive_login_secret
    from strongroom.crypto.names import account_tag, canonical_realm, canonical_username, realm_tag
    from strongroom.crypto.passphrases import AccountSecret, canonical_passphrase, passphrase_for_pdk
    from strongroom.crypto.public_keys import PublicKey
    from strongroom.crypto.rsa4096 import PrivateKey
    from strongroom.crypto.secret import Secret
    from strongroom.crypto.serialized_values import SerializedValue, check_encrypted_value, join, split
    from strongroom.crypto.signatures import sign, verify
    from strongroom.crypto.vault_session_strings import open_vault_session
    from strongroom.crypto.verification import Verification, check_verification, make_verification

_HOMES = {
    "AccountSecret": "passphrases",
    "ArtefactFormat": "formats",
    "ContextRefused": "errors",
    "CryptoError": "errors",
    "DataEncryptionKey": "keys",
    "DecryptionFailed": "errors",
    "DerivationArtefacts": "derivation",
    "Explanation": "inspection",
    "KeyEncryptionKey": "keys",
    "MalformedArtefacts": "errors",
    "MalformedCiphertext": "errors",
    "MalformedKey": "errors",
    "Mode": "formats",
    "ParametersRefused": "errors",
    "PassphraseRefused": "errors",
    "PasswordDerivedKey": "keys",
    "PlaintextRefused": "errors",
    "PrivateKey": "rsa4096",
    "PublicKey": "public_keys",
    "RealmRefused": "errors",
    "Secret": "secret",
    "SerializedValue": "serialized_values",
    "SessionStringRefused": "errors",
    "Strategy": "formats",
    "StrongroomError": "errors",
    "UsernameRefused": "errors",
    "Verification": "verification",
    "VerificationFailed": "errors",
    "account_tag": "names",
    "canonical_passphrase": "passphrases",
    "canonical_realm": "names",
    "canonical_username": "names",
    "check_encrypted_value": "serialized_values",
    "check_verification": "verification",
    "derive": "derivation",
    "derive_key": "compat",
    "derive_login_secret": "login_secret",
    "explain": "inspection",
    "holds_private_key": "clear_keys",
    "join": "serialized_values",
    "make_verification": "verification",
    "open_vault_session": "vault_session_strings",
    "open_with_key": "compat",
    "open_with_passphrase": "compat",
    "parse_derivation_artefacts": "derivation",
    "passphrase_for_pdk": "passphrases",
    "read_artefacts": "artefacts",
    "realm_tag": "names",
    "sign": "signatures",
    "split": "serialized_values",
    "verify": "signatures",
    "write_artefacts": "artefacts",
}

__all__ = [
    "AccountSecret",
    "ArtefactFormat",
    "ContextRefused",
    "CryptoError",
    "DataEncryptionKey",
    "DecryptionFailed",
    "DerivationArtefacts",
    "Explanation",
    "KeyEncryptionKey",
    "MalformedArtefacts",
    "MalformedCiphertext",
    "MalformedKey",
    "Mode",
    "ParametersRefused",
    "PassphraseRefused",
    "PasswordDerivedKey",
    "PlaintextRefused",
    "PrivateKey",
    "PublicKey",
    "RealmRefused",
    "Secret",
    "SerializedValue",
    "SessionStringRefused",
    "Strategy",
    "StrongroomError",
    "UsernameRefused",
    "Verification",
    "VerificationFailed",
    "account_tag",
    "canonical_passphrase",
    "canonical_realm",
    "canonical_username",
    "check_encrypted_value",
    "check_verification",
    "derive",
    "derive_key",
    "derive_login_secret",
    "explain",
    "holds_private_key",
    "join",
    "make_verification",
    "open_vault_session",
    "open_with_key",
    "open_with_passphrase",
    "parse_derivation_artefacts",
    "passphrase_for_pdk",
    "read_artefacts",
    "realm_tag",
    "sign",
    "split",
    "verify",
    "write_artefacts",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
