import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.grammar import login_secret_class, vault_session_body, vault_session_string

SECRET = "A" * 42 + "E"
TAG = "6TqhDUDV8sY"


@pytest.mark.parametrize(("prefix", "expected"), [("srl1_", 1), ("srl2_", 2), ("srl3_", None), ("SRL1_", None)])
def test_class_follows_the_prefix(prefix: str, expected: int | None) -> None:
    assert login_secret_class(with_checksum(prefix + SECRET)) == expected


@pytest.mark.parametrize(
    "field",
    [
        "",
        "correct horse battery staple",
        "srl1_" + SECRET + "000000",
        with_checksum("srl1_" + SECRET[:-1]),
        with_checksum("srl1_" + SECRET + "A"),
        with_checksum("srl1_" + "A" * 42 + "B"),
        with_checksum("srl1_" + SECRET) + "\n",
        " " + with_checksum("srl1_" + SECRET),
        with_checksum("srl1_" + "A" * 42 + "="),
    ],
)
def test_anything_else_is_a_raw_passphrase(field: str) -> None:
    assert login_secret_class(field) is None


@given(st.binary(min_size=12, max_size=384))
def test_a_session_string_gives_its_body_back_to_its_realm_only(body: bytes) -> None:
    text = vault_session_string(TAG, body)
    assert vault_session_body(text, TAG) == body
    assert vault_session_body(text, "00000000000") is None
    assert vault_session_body(text[:-1], TAG) is None
    assert vault_session_body(text + "\n", TAG) is None
    assert len(text) <= 470 or len(body) > 330


@pytest.mark.parametrize(
    ("tag", "body"), [("short", bytes(16)), (TAG, bytes(11)), (TAG, bytes(385)), (TAG + "\n", bytes(16))]
)
def test_a_session_string_outside_the_grammar_is_not_made(tag: str, body: bytes) -> None:
    with pytest.raises(ValueError, match="realm tag"):
        vault_session_string(tag, body)
