"""Derivation artefacts, in every form found in the wild, and the password derived key they lead to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from strongroom.crypto.artefacts import DERIVATION, SIZE_LIMIT, Scalar, read_artefacts, write_artefacts
from strongroom.crypto.artefacts.flat_literals import read_json, read_ruby
from strongroom.crypto.encoding import decode_padded, encode_padded
from strongroom.crypto.errors import MalformedArtefacts, ParametersRefused
from strongroom.crypto.formats import Mode
from strongroom.crypto.key_stretching import DEFAULT_ITERATIONS, MAX_ITERATIONS, MIN_ITERATIONS, pbkdf2
from strongroom.crypto.keys import PasswordDerivedKey
from strongroom.crypto.randomness import random_bytes

TEXT_LIMIT: Final = 4 * 1024
_PREFIX: Final = "Pbkdf2Hmac."
_LONG_NAMES: Final = ("salt", "iter", "length")
_SHORT_NAMES: Final = ("iv", "i", "l")
_JSON: Final = re.compile(rb'\{\s*"[a-z]+"\s*:')


@dataclass(frozen=True, slots=True)
class DerivationArtefacts:
    """Salt and parameters of PBKDF2-HMAC-SHA256. Reading them checks their form; `check_strict` their worth."""

    salt: bytes = field(repr=False)
    iter: int
    length: int = 32
    hash: str = "SHA256"

    @classmethod
    def generate(cls, iterations: int = DEFAULT_ITERATIONS) -> "DerivationArtefacts":
        """A fresh salt of 32 bytes. ParametersRefused outside 600,000 to 10,000,000 iterations."""
        artefacts = cls(random_bytes(32), iterations)
        artefacts.check_strict()
        return artefacts

    def serialize(self) -> str:
        """The text for the service: Base64 of the YAML hash `salt`, `iter`, `length`, `hash`."""
        fields: dict[str, Scalar] = {"salt": self.salt, "iter": self.iter, "length": self.length, "hash": self.hash}
        return encode_padded(write_artefacts(fields, version=DERIVATION))

    def check_strict(self) -> None:
        """ParametersRefused unless: salt 16 to 64 bytes, 600,000 to 10,000,000 iterations, length 32, `SHA256`."""
        self._check(MIN_ITERATIONS, range(16, 65))

    def check_compat(self) -> None:
        """ParametersRefused unless: 1 to 10,000,000 iterations, length 32, `SHA256`. Only caps the work."""
        self._check(1, range(1, SIZE_LIMIT + 1))

    def _check(self, least: int, salt_sizes: range) -> None:
        # bool is an int to Python, and one iteration is what a hostile server would like best.
        if type(self.iter) is not int or not least <= self.iter <= MAX_ITERATIONS:
            raise ParametersRefused
        if len(self.salt) not in salt_sizes or type(self.length) is not int or self.length != 32:
            raise ParametersRefused
        if self.hash != "SHA256":
            raise ParametersRefused


def parse_derivation_artefacts(text: str, mode: Mode = Mode.STRICT) -> DerivationArtefacts:
    """Read the field `derivation_artefacts`, at most 4 KiB; MalformedArtefacts for anything that is not one of these.

    STRICT: Base64 of YAML, JSON or `K` BSON, all four fields present. COMPAT also: a `Pbkdf2Hmac.` prefix, a missing
    `hash`, a Ruby hash literal (parsed by a fixed grammar, never evaluated), and a literal or JSON without Base64.
    """
    if len(text) > TEXT_LIMIT:
        raise MalformedArtefacts
    if mode is Mode.COMPAT:
        text = text.removeprefix(_PREFIX)
    if mode is Mode.COMPAT and text.startswith("{"):
        decoded: bytes | None = text.encode("utf-8", "replace")
    else:
        decoded = decode_padded(text, mode)
    if not decoded:
        raise MalformedArtefacts
    if _JSON.match(decoded):
        fields = read_json(decoded, mode)
    elif mode is Mode.COMPAT and decoded.startswith(b"{"):
        fields = read_ruby(decoded)
    else:
        fields, _ = read_artefacts(decoded, mode, DERIVATION)
    return _from_fields(fields, mode)


def _from_fields(fields: Mapping[str, Scalar], mode: Mode) -> DerivationArtefacts:
    names = _LONG_NAMES if "salt" in fields else _SHORT_NAMES
    wanted = {*names, "hash"}
    if set(fields) != wanted and not (mode is Mode.COMPAT and set(fields) == set(names)):
        raise MalformedArtefacts
    salt, iterations, length = (fields[name] for name in names)
    # Ruby ports leave the hash out where it is the only one they know.
    hash_name = fields.get("hash", "SHA256")
    # The readers have checked each field's type; this tells the type checker so.
    if isinstance(salt, bytes) and isinstance(iterations, int) and isinstance(length, int):
        return DerivationArtefacts(salt, iterations, length, str(hash_name))
    raise MalformedArtefacts


def derive(passphrase: bytes, artefacts: DerivationArtefacts, mode: Mode = Mode.STRICT) -> PasswordDerivedKey:
    """The password derived key; a second or so. ParametersRefused before any work is done.

    `passphrase` is what `passphrase_for_pdk` gives, in COMPAT the exact bytes another port used.
    """
    if mode is Mode.STRICT:
        artefacts.check_strict()
    else:
        artefacts.check_compat()
    return PasswordDerivedKey(pbkdf2(passphrase, artefacts.salt, artefacts.iter))
