"""The search that proves something: it finds a secret however it is wrapped, and only then."""

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.cli.demo.evidence import forms, occurs

SECRET = "pä ss/phrase+ä"


@pytest.mark.parametrize(
    "text",
    [
        SECRET.encode(),
        SECRET.encode("utf-16-le"),
        SECRET.encode("utf-16-be"),
        SECRET.encode().hex().encode(),
        SECRET.encode().hex().upper().encode(),
        quote(SECRET, safe="").encode(),
        SECRET.encode()[::-1],
        b'{"a": "p\\u00e4 ss/phrase+\\u00e4"}',
    ],
)
def test_finds_every_form(text: bytes) -> None:
    assert occurs(SECRET, [b"nothing", b"x" + text + b"y"]) is not None


@given(st.binary(max_size=7), st.binary(max_size=7), st.text(min_size=4, max_size=20), st.booleans())
def test_finds_it_inside_longer_base64(before: bytes, after: bytes, secret: str, url_safe: bool) -> None:
    try:
        whole = before + secret.encode() + after
    except UnicodeEncodeError:
        return
    encoded = base64.urlsafe_b64encode(whole) if url_safe else base64.b64encode(whole)
    assert occurs(secret, [encoded]) is not None


def test_finds_nothing_where_there_is_nothing() -> None:
    assert occurs(SECRET, [b"", b"passphrase", base64.b64encode(b"something else entirely")]) is None


def test_no_form_is_trivial() -> None:
    assert all(len(form) >= 8 for form in forms("a passphrase").values())
