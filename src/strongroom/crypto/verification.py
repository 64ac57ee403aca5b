"""Verification artefacts: proof to the client that stored parameters are those its own passphrase was set up with."""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Final

from strongroom.crypto.encoding import decode_unpadded, encode_unpadded
from strongroom.crypto.errors import ContextRefused, VerificationFailed
from strongroom.crypto.key_stretching import expand
from strongroom.crypto.keys import PasswordDerivedKey

TEXT_LIMIT: Final = 4 * 1024
_LABEL: Final = b"strongroom/1/verification-artefacts"
_PREFIX: Final = "srva1."
_TIME: Final = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z", re.ASCII)
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9_-]{22}")
# Says that every value of the account is bound by `ad`, so that an unbound one is an attack and not an old value.
_FEATURES: Final = ["ad"]


@dataclass(frozen=True, slots=True)
class Verification:
    """What the artefacts vouch for."""

    generation: int
    iterations: int
    time: str
    features: tuple[str, ...]


def make_verification(
    pdk: PasswordDerivedKey, *, account: str, derivation_artefacts: str, iterations: int, generation: int, time: str
) -> str:
    """`srva1.<payload>.<tag>` over the derivation artefacts exactly as sent.

    `generation` counts passphrase changes from 1; `time` is `YYYY-MM-DDTHH:MM:SSZ`. ContextRefused otherwise.
    """
    if _TIME.fullmatch(time) is None or _ACCOUNT.fullmatch(account) is None or generation < 1 or iterations < 1:
        raise ContextRefused
    payload = _canonical(
        {
            "a": account,
            "d": _digest(derivation_artefacts),
            "f": _FEATURES,
            "g": generation,
            "i": iterations,
            "t": time,
        }
    )
    return f"{_PREFIX}{encode_unpadded(payload)}.{encode_unpadded(_tag(pdk, payload))}"


def check_verification(pdk: PasswordDerivedKey, text: str, *, account: str, derivation_artefacts: str) -> Verification:
    """What the artefacts say, if this key made them for this account and these derivation artefacts.

    VerificationFailed for everything else: a wrong passphrase and tampering look the same. Check before the key
    encryption key is touched: HMAC commits to its key, so a hostile answer tests one guess at most.
    """
    encoded, _, encoded_tag = text.removeprefix(_PREFIX).partition(".")
    payload = decode_unpadded(encoded) if len(text) <= TEXT_LIMIT and text.startswith(_PREFIX) else None
    tag = decode_unpadded(encoded_tag) if payload is not None else None
    if payload is None or tag is None or not hmac.compare_digest(_tag(pdk, payload), tag):
        raise VerificationFailed
    return _read(payload, account, derivation_artefacts)


def _read(payload: bytes, account: str, derivation_artefacts: str) -> Verification:
    try:
        fields = json.loads(payload)
        known = {name: fields[name] for name in "adfgit"}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise VerificationFailed from None
    features, generation, iterations, time = fields["f"], fields["g"], fields["i"], fields["t"]
    if fields["a"] != account or fields["d"] != _digest(derivation_artefacts) or _canonical(known) != payload:
        raise VerificationFailed
    if not isinstance(features, list) or not all(isinstance(feature, str) for feature in features):
        raise VerificationFailed
    if type(generation) is not int or type(iterations) is not int or generation < 1 or iterations < 1:
        raise VerificationFailed
    if not isinstance(time, str) or _TIME.fullmatch(time) is None or "ad" not in features:
        raise VerificationFailed
    return Verification(generation, iterations, time, tuple(features))


def _tag(pdk: PasswordDerivedKey, payload: bytes) -> bytes:
    return hmac.digest(expand(pdk.reveal(), _LABEL), _LABEL + b"\0" + payload, hashlib.sha256)


def _digest(derivation_artefacts: str) -> str:
    return encode_unpadded(hashlib.sha256(derivation_artefacts.encode("utf-8", "surrogatepass")).digest())


def _canonical(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")
