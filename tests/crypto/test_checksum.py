import json
import zlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.checksum import BASE62, base62, crc, has_checksum, with_checksum

ZERO_KNOWLEDGE = json.loads((Path(__file__).resolve().parents[2] / "vectors/zero-knowledge.json").read_text("utf-8"))


def test_the_published_token() -> None:
    assert with_checksum(ZERO_KNOWLEDGE["checksum"]["body"]) == ZERO_KNOWLEDGE["checksum"]["token"]


@given(st.integers(0, 62**11 - 1))
def test_base62_is_positional(number: int) -> None:
    assert sum(BASE62.index(digit) * 62**place for place, digit in enumerate(reversed(base62(number, 11)))) == number


@given(st.text(alphabet=BASE62 + "_-", min_size=1, max_size=60), st.data())
def test_any_single_change_is_noticed(text: str, data: st.DataObject) -> None:
    token = with_checksum(text)
    assert has_checksum(token)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from(BASE62).filter(lambda digit: digit != token[place]))
    assert not has_checksum(token[:place] + other + token[place + 1 :])


def test_other_strings_have_none() -> None:
    assert crc("") == base62(zlib.crc32(b""), 6)
    assert not any(has_checksum(text) for text in ("", "000000", "é" * 20, "sra_000000", "x" * 1000))
