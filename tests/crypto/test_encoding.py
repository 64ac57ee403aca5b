import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.encoding import decode_padded, decode_unpadded, encode_padded, encode_unpadded
from strongroom.crypto.formats import Mode


@given(st.binary(max_size=100))
def test_there_and_back(data: bytes) -> None:
    assert encode_padded(data) == base64.urlsafe_b64encode(data).decode()
    assert decode_padded(encode_padded(data)) == data
    assert decode_unpadded(encode_unpadded(data)) == data
    assert decode_padded(base64.b64encode(data).decode(), Mode.COMPAT) == data


@given(st.text(alphabet="AQgwz09-_+/= \n.é", max_size=12))
def test_what_is_accepted_is_the_one_text_of_its_value(text: str) -> None:
    strict, compat, unpadded = decode_padded(text), decode_padded(text, Mode.COMPAT), decode_unpadded(text)
    assert strict is None or encode_padded(strict) == text
    assert compat is None or encode_padded(compat) == text.replace("+", "-").replace("/", "_")
    assert unpadded is None or encode_unpadded(unpadded) == text


@pytest.mark.parametrize(
    "text", ["AB==", "AAB=", "A", "AA", "AA=", "AA===", "====", "AA==AA==", "A A=", "AA==\n", "é==="]
)
@pytest.mark.parametrize("mode", Mode)
def test_spare_bits_missing_padding_and_white_space_are_refused(text: str, mode: Mode) -> None:
    assert decode_padded(text, mode) is None


def test_the_standard_alphabet_is_for_compat_only() -> None:
    assert decode_padded("+/+/") is None
    assert decode_padded("+/+/", Mode.COMPAT) == decode_padded("-_-_")
