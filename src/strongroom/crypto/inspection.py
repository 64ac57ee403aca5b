"""Explains what a value is, without any key: for the command line and the documentation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from strongroom.crypto import binding
from strongroom.crypto.artefacts import read_artefacts
from strongroom.crypto.checksum import has_checksum
from strongroom.crypto.clear_keys import holds_private_key
from strongroom.crypto.encoding import decode_padded, decode_unpadded
from strongroom.crypto.errors import CryptoError, MalformedCiphertext
from strongroom.crypto.formats import Mode, Strategy
from strongroom.crypto.grammar import login_secret_class
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.serialized_values import SerializedValue, split, split_derived

LIMIT: Final = 64 * 1024 * 1024
COMPAT_ONLY: Final = "opens in compat mode only: another port wrote it, or not in our spelling"
UNBOUND: Final = "bound to nothing: a server could put it in the place of another value under the same key"
FAST_DERIVATION: Final = "too cheap to derive, or outside the strict bounds: strict mode refuses it"
PRIVATE_KEY: Final = "holds a private key in clear text: treat that key as known to everyone who has seen this text"
ENOUGH_ALONE: Final = "a secret in itself: its holder needs nothing else"

_TOKENS: Final = {
    "srk_": "subscription key",
    "srp_": "provider API key",
    "sra_": "admission token",
    "srs_": "key store session string",
    "sri_": "service credential",
    "srd_": "portal session",
    "srm_": "one-time link of the portal's mail",
    "srv1_": "vault session string",
    "srx1_": "account secret",
    "srx2_": "passphrase replaced by an account secret",
}
_BINDINGS: Final = {
    "kek": ("key encryption key", ("account",)),
    "dek": ("data encryption key", ("account", "purpose", "uid")),
    "key": ("private key", ("account", "tag", "fingerprint")),
    "data": ("data", ("account", "uid", "context")),
    "ikey": ("item key", ("account", "uid", "item")),
    "item": ("item", ("account", "item", "revision")),
    "akey": ("attachment key", ("account", "item", "attachment")),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Plain data. `kind` is `unknown` for anything not recognised; no field ever holds key material or plaintext."""

    kind: str
    strategy: str | None = None
    format: str | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    fields: dict[str, str | int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def explain(text: str) -> Explanation:
    """What `text` looks like: a serialized value, artefacts, a public key, a token. Never raises for any string."""
    text = text.strip()
    if len(text) > LIMIT:
        return Explanation("unknown", sizes={"characters": len(text)})
    if holds_private_key(text):
        return Explanation("private key", warnings=(PRIVATE_KEY,))
    for reader in _READERS:
        try:
            explanation = reader(text)
        except CryptoError:
            continue
        if explanation is not None:
            return explanation
    return Explanation("unknown", sizes={"characters": len(text)})


def _token(text: str) -> Explanation | None:
    if text.startswith(("srl1_", "srl2_")):
        kind, valid = "login secret", login_secret_class(text) is not None
    else:
        kind = next((kind for prefix, kind in _TOKENS.items() if text.startswith(prefix)), "")
        # The replaced passphrase is input to a derivation and carries no checksum.
        valid = has_checksum(text) or text.startswith("srx2_")
    if not kind:
        return None
    warnings = (ENOUGH_ALONE,) if valid else (ENOUGH_ALONE, "the checksum does not hold: mistyped or cut off")
    return Explanation(kind, sizes={"characters": len(text)}, warnings=warnings)


def _verification(text: str) -> Explanation | None:
    if not text.startswith("srva1."):
        return None
    parts = [decode_unpadded(part) for part in text.split(".")[1:]]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        raise MalformedCiphertext
    return Explanation("verification artefacts", sizes={"payload": len(parts[0]), "tag": len(parts[1])})


def _public_key(text: str) -> Explanation | None:
    if not text.startswith("-----BEGIN"):
        return None
    key = PublicKey.parse(text)
    return Explanation("public key", "Rsa4096", "PEM", {"bits": 4096}, {"fingerprint": key.fingerprint})


def _value(text: str) -> Explanation | None:
    strategy = text.partition(".")[0]
    for known in _STRATEGIES:
        if strategy == known and text.count(".") == 2:
            value = split(text, known, Mode.COMPAT, LIMIT)
            return _explain_value(value, _reads_strictly(text, known))
    return None


def _reads_strictly(text: str, strategy: Strategy) -> bool:
    try:
        split(text, strategy, Mode.STRICT, LIMIT)
    except MalformedCiphertext:
        return False
    return True


def _explain_value(value: SerializedValue, strict: bool) -> Explanation:
    sizes = {"data": len(value.data)}
    fields: dict[str, str | int] = {}
    warnings = [] if strict else [COMPAT_ONLY]
    if value.artefacts is not None:
        sizes |= {"iv": len(value.artefacts.iv), "tag": len(value.artefacts.at)}
        fields["ad"] = value.artefacts.ad
        bound = _binding_fields(value.artefacts.ad)
        fields |= bound
        if not bound:
            warnings.append(UNBOUND)
    return Explanation("encrypted value", value.strategy, value.format.value, sizes, fields, tuple(warnings))


def _binding_fields(ad: str) -> dict[str, str]:
    parts = ad.removeprefix(binding.PREFIX).split(":")
    what, names = _BINDINGS.get(parts[0], ("", ()))
    if not ad.startswith(binding.PREFIX) or not what or len(parts) != len(names) + 1:
        return {}
    return {"holds": what, **dict(zip(names, parts[1:], strict=True))}


def _derived_value(text: str) -> Explanation | None:
    if text.count(".") != 4:
        return None
    serialized, derivation = split_derived(text, LIMIT)
    value = _explain_value(split(serialized, "Aes256Gcm", Mode.COMPAT, LIMIT), strict=False)
    artefacts = _derivation(derivation)
    return Explanation(
        "encrypted value with a derived key",
        value.strategy,
        value.format,
        value.sizes | artefacts.sizes,
        value.fields | artefacts.fields,
        tuple(dict.fromkeys(value.warnings + artefacts.warnings)),
    )


def _signature(text: str) -> Explanation | None:
    parts = text.split(".")
    if parts[:2] != ["Sign", "Rsa4096"] or len(parts) != 4:
        return None
    signature, data = (decode_padded(part, Mode.COMPAT) for part in parts[2:])
    if signature is None or data is None:
        raise MalformedCiphertext
    return Explanation("signature", "Rsa4096", sizes={"signature": len(signature), "data": len(data)})


def _derivation(text: str) -> Explanation:
    # Imported here: only this reader needs the derivation, and with it the OpenSSL binding.
    from strongroom.crypto.derivation import parse_derivation_artefacts

    artefacts = parse_derivation_artefacts(text, Mode.COMPAT)
    warnings = []
    try:
        artefacts.check_strict()
    except CryptoError:
        warnings.append(FAST_DERIVATION)
    try:
        parse_derivation_artefacts(text, Mode.STRICT)
    except CryptoError:
        warnings.append(COMPAT_ONLY)
    return Explanation(
        "derivation artefacts",
        "Pbkdf2Hmac",
        sizes={"salt": len(artefacts.salt)},
        fields={"iter": artefacts.iter, "length": artefacts.length, "hash": artefacts.hash},
        warnings=tuple(warnings),
    )


def _bare_artefacts(text: str) -> Explanation | None:
    decoded = decode_padded(text, Mode.COMPAT)
    if not decoded:
        return None
    fields, artefact_format = read_artefacts(decoded, Mode.COMPAT)
    sizes = {name: len(value) for name, value in fields.items() if isinstance(value, bytes)}
    shown = {name: value for name, value in fields.items() if not isinstance(value, bytes)}
    return Explanation("encryption artefacts", None, artefact_format.value, sizes, shown)


_STRATEGIES: Final[tuple[Strategy, ...]] = ("Aes256Gcm", "Rsa4096")
_READERS: Final[tuple[Callable[[str], Explanation | None], ...]] = (
    _token,
    _verification,
    _public_key,
    _value,
    _derived_value,
    _signature,
    _derivation,
    _bare_artefacts,
)
