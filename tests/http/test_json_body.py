"""Request bodies: what is acceptable JSON, and how a wrong field is named."""

import json
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.http.incoming import query
from strongroom.http.json_body import MAX_DEPTH, _decode_anything, _plain, decode
from strongroom.wire.keystore import (
    CreateSession,
    CreateUser,
    StoreDataEncryptionKey,
    StoreKeyEncryptionKey,
    StoreKeypair,
)
from strongroom.wire.paging import Paging
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.vault import CreateVaultSession, CreateVaultUser

GOOD = {"admission_token": "t", "username": "u", "passphrase": "p"}


def refusal_of(body: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        decode(body, CreateUser)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        '{"username":"é"}'.encode("latin-1"),
        '{"username":"u"}'.encode("utf-16"),
        b'{"username":"a","username":"b"}',
        b'{"x":{"y":1,"y":2}}',
        b'{"x":NaN}',
        b'{"x":Infinity}',
        b'{"x":-Infinity}',
        b'{"x":1e999}',
        b'{"x":' + b"9" * 5000 + b"}",
        b'{"x":18446744073709551616}',
        b'{"x":-9223372036854775809}',
        b'{"username":"\\u0000"}',
        b'{"username":"\\ud800"}',
        b'{"\\ud800":1}',
        b'{"x":["\\udc00\\ud800"]}',
        b'{"x":"\x00"}',
        b"[" * 100_000,
        b'{"x":' * 100_000,
        b'{"username":"","passphrase":"","x":' + b"[" * 100_000 + b',"":1}',  # with as many quotes as three texts have
        b'{"x":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
        b"{} {}",
        b"{'x':1}",
        b'{"x":1,}',
        b'{"x":01}',
    ],
)
def test_what_is_not_acceptable_json_is_refused(body: bytes) -> None:
    assert refusal_of(body).refusal is Refusal.malformed_json


def test_the_deepest_body_that_is_taken() -> None:
    nested: Any = {}
    for _ in range(MAX_DEPTH - 2):
        nested = [nested]
    body = json.dumps(GOOD | {"unknown": nested}).encode()
    assert decode(body, CreateUser) == CreateUser("t", "u", "p")
    deeper = json.dumps(GOOD | {"unknown": [nested]}).encode()
    assert refusal_of(deeper).refusal is Refusal.malformed_json


def test_brackets_inside_strings_are_not_depth() -> None:
    body = json.dumps(GOOD | {"username": "[{" * 100 + '\\"['}).encode()
    assert decode(body, CreateUser) == CreateUser("t", "[{" * 100 + '\\"[', "p")


@pytest.mark.parametrize("tail", [b"", b"\n", b"\\"])
def test_looking_for_brackets_takes_time_in_proportion(tail: bytes) -> None:
    # Every escaped quote is a place where a string could start that never ends.
    body = b"[" * (MAX_DEPTH + 1) + b'"' + b'\\"' * 32_000 + tail
    started = time.perf_counter()
    with pytest.raises(Refused):
        decode(body, StoreKeypair)
    assert time.perf_counter() - started < 0.5


def test_a_string_that_never_ends_hides_no_depth() -> None:
    with pytest.raises(Refused):
        decode(b"[" * 100_000 + b'"', StoreKeypair)
    with pytest.raises(Refused):
        decode(b'{"metadata":"\n' + b"[" * 100_000, StoreKeypair)


def test_a_surrogate_pair_is_a_character() -> None:
    assert decode(b'{"admission_token":"t","username":"\\ud83d\\ude00","passphrase":"p"}', CreateUser) == CreateUser(
        "t", "😀", "p"
    )


_NAMES = ['"admission_token"', '"username"', '"passphrase"']
_VALUES = [
    '"t"',
    '"u"',
    '"\u00e9"',
    '"a\\\\"',
    '"a\\""',
    '"\\u0041"',
    '"\\u0000"',
    '"\\n"',
    '"\\x"',
    '"\n"',
    "1",
    "null",
    "{}",
    "[]",
]
_MARKS = ["{", "}", ":", ":", ",", ",", " ", "\t", "[", "]", '"', "\\", "\x00", "\x7f"]


def _judged(decoded: Callable[[], Any]) -> object:
    try:
        return decoded()
    except Refused as refused:
        return refused.refusal, [(fault.error, fault.pointer) for fault in refused.faults]


@given(
    st.one_of(
        st.lists(st.sampled_from(_NAMES + _VALUES + _MARKS), max_size=16).map("".join),
        st.permutations(list(GOOD)).flatmap(
            lambda names: st.lists(st.sampled_from(_VALUES + _MARKS), min_size=3, max_size=3).map(
                lambda values: (
                    "{" + ",".join(f'"{name}":{value}' for name, value in zip(names, values, strict=True)) + "}"
                )
            )
        ),
    ).flatmap(
        lambda text: st.tuples(
            st.just(text.encode()), st.integers(0, len(text)), st.sampled_from([b"", b'"', b"\xff", b",", b"}"])
        )
    )
)
def test_the_short_way_takes_nothing_that_the_long_one_does_not(changed: tuple[bytes, int, bytes]) -> None:
    body = changed[0][: changed[1]] + changed[2] + changed[0][changed[1] :]
    assert _judged(lambda: decode(body, CreateUser)) == _judged(lambda: _decode_anything(body, CreateUser, None))


def test_a_plain_body_goes_the_short_way() -> None:
    plain = _plain(CreateUser)
    assert plain is not None
    assert plain.take(json.dumps(GOOD).encode()) == CreateUser("t", "u", "p")
    assert plain.take(b'{"username":"a","username":"b","passphrase":"p","admission_token":"t"}') is None
    hot = (CreateSession, CreateVaultSession, StoreDataEncryptionKey, StoreKeyEncryptionKey)
    assert all(_plain(record) is not None for record in hot)
    assert _plain(StoreKeypair) is None


def test_records_of_more_than_required_texts_go_the_long_way() -> None:
    class WithNumber(msgspec.Struct):
        name: str
        number: int

    class WithDefault(msgspec.Struct):
        name: str
        note: str = ""

    assert _plain(WithNumber) is None
    assert _plain(WithDefault) is None


def test_what_is_not_utf_8_is_refused_the_short_way_too() -> None:
    body = b'{"admission_token":"\xff","username":"u","passphrase":"p"}'
    assert refusal_of(body).refusal is Refusal.malformed_json


def test_unknown_fields_are_ignored() -> None:
    assert decode(json.dumps(GOOD | {"role": "admin", "n": 2**63}).encode(), CreateUser) == CreateUser("t", "u", "p")


def test_a_missing_field_is_named() -> None:
    refused = refusal_of(b'{"admission_token":"t","username":"u"}')
    assert refused.refusal is Refusal.validation_failed
    assert [(fault.error, fault.pointer) for fault in refused.faults] == [("field_missing", "/passphrase")]


@pytest.mark.parametrize("value", [1, 1.5, True, None, [], {}])
def test_a_wrong_type_is_named_without_the_value(value: Any) -> None:
    refused = refusal_of(json.dumps(GOOD | {"username": value}).encode())
    assert refused.refusal is Refusal.validation_failed
    assert refused.faults[0].pointer == "/username"


def test_a_wrong_type_in_a_list_is_named_by_its_place() -> None:
    body = {"encrypted_serialized_key": "x", "public_key": "y", "external_identifiers": ["a", 2]}
    with pytest.raises(Refused) as caught:
        decode(json.dumps(body).encode(), StoreKeypair)
    assert caught.value.faults[0].pointer == "/external_identifiers/1"


def test_a_body_may_come_wrapped_or_flat() -> None:
    fields = {"public_key": "k", "admission_token": "t"}
    wrapped = decode(json.dumps({"user": fields}).encode(), CreateVaultUser, "user")
    assert decode(json.dumps(fields).encode(), CreateVaultUser, "user") == wrapped


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1.5", "1.0", "null", "01", "%2b1", "201", "9" * 5000])
def test_a_page_size_outside_its_bounds_is_refused(value: str) -> None:
    with pytest.raises(Refused) as caught:
        query(b"per=" + value.encode(), Paging)
    assert caught.value.refusal is Refusal.validation_failed
    assert caught.value.faults[0].pointer == "/per"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=5) | values | st.binary())
def test_any_body_is_decoded_or_refused(value: Any) -> None:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    try:
        decode(body, CreateUser)
    except Refused as refused:
        assert refused.refusal in (Refusal.malformed_json, Refusal.validation_failed)  # noqa: PT017
