"""Public keys as both sides accept them: one PEM block, one shape, compared by what they say and not by their text."""

import binascii
import hashlib
import math
import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast, final

from strongroom.crypto.encoding import decode_standard, encode_unpadded
from strongroom.crypto.errors import ContextRefused, MalformedKey, PlaintextRefused
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.serialized_values import SerializedValue, join

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.padding import OAEP
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

PEM_LIMIT: Final = 1024
PLAINTEXT_LIMIT: Final = 470

_BEGIN: Final = "-----BEGIN PUBLIC KEY-----"
_END: Final = "-----END PUBLIC KEY-----"
_SPACE: Final = " \t\n\r\f\v"
# RFC 3279 2.3.1 with exactly these lengths is the only DER of a 4096-bit key with exponent 65537, so comparing the
# bytes around the modulus is the whole check that the encoding is canonical.
_SPKI_HEAD: Final = bytes.fromhex("30820222300d06092a864886f70d01010105000382020f003082020a0282020100")
_SPKI_TAIL: Final = bytes.fromhex("0203010001")
_SPKI_SIZE: Final = len(_SPKI_HEAD) + 512 + len(_SPKI_TAIL)


class Fingerprints(NamedTuple):
    """Two ways to compare a public key out of band."""

    sha256: str
    safety_number: str


@final
class PublicKey:
    """An RSA key of exactly 4096 bits with exponent 65537; equal to another if their SPKI is."""

    __slots__ = ("_loaded", "fingerprint_bytes", "pem", "spki")

    def __init__(self, pem: str, spki: bytes) -> None:
        """Use `parse` or `from_spki`."""
        self.pem: Final = pem
        self.spki: Final = spki
        self.fingerprint_bytes: Final = hashlib.sha256(spki).digest()
        self._loaded: RSAPublicKey | None = None

    @classmethod
    def parse(cls, pem: str) -> "PublicKey":
        """One PEM block `PUBLIC KEY` of at most 1,024 characters, LF or CRLF, only white space around it.

        MalformedKey unless the content is the canonical SPKI of an RSA key of exactly 4096 bits, odd, exponent 65537.
        """
        spki = _decode_pem(pem) if len(pem) <= PEM_LIMIT else None
        if spki is None:
            raise MalformedKey
        _check_spki(spki)
        return cls(pem, spki)

    @classmethod
    def from_spki(cls, spki: bytes) -> "PublicKey":
        """From DER; the PEM is then written with lines of 64 characters and LF. MalformedKey as for `parse`."""
        _check_spki(spki)
        body = binascii.b2a_base64(spki, newline=False).decode("ascii")
        lines = "\n".join(body[start : start + 64] for start in range(0, len(body), 64))
        return cls(f"{_BEGIN}\n{lines}\n{_END}\n", spki)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the SPKI in 43 Base64url characters: the `fp` of bindings."""
        return encode_unpadded(self.fingerprint_bytes)

    @property
    def modulus(self) -> int:
        """The RSA modulus."""
        return int.from_bytes(self.spki[len(_SPKI_HEAD) : -len(_SPKI_TAIL)], "big")

    def check_strength(self) -> None:
        """MalformedKey if the modulus has a prime factor below 2^16 or two factors so close that Fermat finds them.

        About 3 ms, for the moment a key is stored. Catches broken generators and keys made to be factored.
        """
        modulus = self.modulus
        if math.gcd(modulus, _small_primes()) != 1:
            raise MalformedKey
        root = math.isqrt(modulus - 1) + 1
        for candidate in range(root, root + 100):
            rest = candidate * candidate - modulus
            if math.isqrt(rest) ** 2 == rest:
                raise MalformedKey

    def encrypt(self, plaintext: bytes, artefacts: ArtefactFormat = ArtefactFormat.YAML) -> str:
        """`Rsa4096.<data>.<empty hash>`; PlaintextRefused unless 1 to 470 bytes."""
        if not 1 <= len(plaintext) <= PLAINTEXT_LIMIT:
            raise PlaintextRefused
        return join(SerializedValue("Rsa4096", self.load().encrypt(plaintext, oaep()), None, artefacts))

    def load(self) -> "RSAPublicKey":
        """The key as an object of the cryptography library, loaded once."""
        if self._loaded is None:
            self._loaded = _loader()(self.spki)
        return self._loaded

    def display(self, account: str) -> Fingerprints:
        """`SHA256:` with standard Base64, and 12 groups of 5 digits that also depend on the account tag.

        A group is 5 bytes of SHA-512("strongroom/1/fingerprint" 00 account 00 SPKI), big-endian, modulo 100,000.
        """
        if re.fullmatch(r"[A-Za-z0-9_-]{22}", account) is None:
            raise ContextRefused
        digest = hashlib.sha512(b"strongroom/1/fingerprint\0" + account.encode() + b"\0" + self.spki).digest()
        groups = (int.from_bytes(digest[start : start + 5], "big") % 100_000 for start in range(0, 60, 5))
        standard = binascii.b2a_base64(self.fingerprint_bytes, newline=False).decode("ascii").rstrip("=")
        return Fingerprints(f"SHA256:{standard}", " ".join(f"{group:05d}" for group in groups))

    def __eq__(self, other: object) -> bool:
        return self.spki == other.spki if isinstance(other, PublicKey) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.spki)

    def __repr__(self) -> str:
        return f"PublicKey({self.fingerprint})"


@cache
def oaep() -> "OAEP":
    """RSA-OAEP with SHA-1, MGF1 with SHA-1, empty label: what every port reads. OAEP needs no collision resistance."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP

    sha1 = hashes.SHA1()  # noqa: S303  # RFC 8017 7.1: the hash here need not resist collisions
    return OAEP(mgf=MGF1(sha1), algorithm=sha1, label=None)


@cache
def _loader() -> "Callable[[bytes], RSAPublicKey]":
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    # The SPKI was checked byte by byte: nothing else can come out.
    return cast("Callable[[bytes], RSAPublicKey]", load_der_public_key)


def _decode_pem(pem: str) -> bytes | None:
    block = pem.strip(_SPACE)
    if not block.startswith(_BEGIN) or not block.endswith(_END):
        return None
    lines = block[len(_BEGIN) : -len(_END)].replace("\r\n", "\n")
    if lines[:1] != "\n" or lines[-1:] != "\n" or lines.find("\n\n") >= 0 or lines.find("\n=") >= 0:
        return None
    return decode_standard(lines.replace("\n", ""))


def _check_spki(spki: bytes) -> None:
    if len(spki) != _SPKI_SIZE or not spki.startswith(_SPKI_HEAD) or not spki.endswith(_SPKI_TAIL):
        raise MalformedKey
    first, last = spki[len(_SPKI_HEAD)], spki[-len(_SPKI_TAIL) - 1]
    if first < 0x80 or last % 2 == 0:
        raise MalformedKey


@cache
def _small_primes() -> int:
    sieve = bytearray([1]) * 65536
    for number in range(2, 256):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, 65536, number)))
    return math.prod(number for number in range(2, 65536) if sieve[number])
