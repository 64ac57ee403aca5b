"""The readers in JavaScript and in Python agree on damaged artefacts: both refuse, or both read the same."""

import base64
import json
import random
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from strongroom.crypto.artefacts import read_artefacts
from strongroom.crypto.derivation import parse_derivation_artefacts
from strongroom.crypto.encoding import encode_padded
from strongroom.crypto.errors import CryptoError
from strongroom.crypto.formats import Mode

CASES = 4000
PIECES = (
    *(b"\n", b" ", b'"', b"'", b"\\", b"|", b">", b"-", b"+", b":", b"#", b"{", b"}", b"[", b",", b"=>", b"=", b"\0"),
    *(b"!binary ", b"!!binary ", b"---\n", b"...\n", b"\r\n", b"\r", b"\n\n", b"\n  x", b"\\x41", b"\\u0041", b"\xe9"),
    *(b"\x7f", b"0", b"1", b"null", b"true", b"1e5", b"0x10", b"iter: 1", b"ad: none\n", b'"length":32,'),
)
Reading = dict[str, Any] | None


def damaged(generator: random.Random, text: bytes) -> bytes:
    """The text with up to three faults: a piece put in, bytes taken out, a bit flipped, a part repeated."""
    found = bytearray(text)
    for _ in range(generator.randrange(4)):
        at, other = generator.randrange(len(found) + 1), generator.randrange(len(found) + 1)
        match generator.randrange(4):
            case 0:
                found[at:at] = generator.choice(PIECES)
            case 1:
                del found[at : at + generator.choice((1, 1, 2, 5))]
            case 2 if at < len(found):
                found[at] ^= 1 << generator.randrange(8)
            case _:
                found[at:at] = found[min(at, other) : max(at, other)][:40]
    return bytes(found)


def reading(kind: str, text: bytes, mode: Mode) -> Reading:
    """What Python makes of it, as sdk/js/test/vectors.js shows its own."""
    try:
        if kind == "encryption":
            fields, _ = read_artefacts(text, mode)
            return {name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()}
        read = parse_derivation_artefacts(encode_padded(text), mode)
        return {"salt": read.salt.hex(), "iter": read.iter, "length": read.length, "hash": read.hash}
    except CryptoError:
        return None


def test_damaged_artefacts_are_read_alike(runner: Page, root: Path) -> None:
    vectors = json.loads((root / "vectors/artefacts.json").read_text("utf-8"))["vectors"]
    seeds = [
        (vector["kind"], base64.b64decode(vector["artefacts"], altchars=b"-_"))
        for vector in vectors
        if vector["artefacts"].isascii() and not vector["artefacts"].startswith(("{", "Pbkdf2Hmac."))
    ]
    generator = random.Random(14)
    cases = []
    for _ in range(CASES):
        kind, text = generator.choice(seeds)
        cases.append((kind, damaged(generator, text), generator.choice((Mode.COMPAT, Mode.COMPAT, Mode.STRICT))))
    given = [[k, t.hex() if k == "encryption" else encode_padded(t), m is Mode.COMPAT] for k, t, m in cases]
    shown = runner.evaluate("async (cases) => (await import('/test/vectors.js')).readings(cases)", given)
    expected = [reading(*case) for case in cases]
    assert CASES / 10 < sum(read is not None for read in expected) < CASES * 9 / 10
    assert [(c, s, e) for c, s, e in zip(cases, shown, expected, strict=True) if s != e] == []
