"""Every fault of a body is listed, each at its place and in words of JSON."""

import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from strongroom.http.faults import MAX_FAULTS, faults
from strongroom.http.json_body import decode
from strongroom.wire.keystore import StoreKeypair
from strongroom.wire.refusal import Fault, Refused
from strongroom.wire.vault import CreateVaultUser


class Inner(msgspec.Struct):
    number: Annotated[int, Meta(ge=1, le=9)]
    wanted: bool


class Outer(msgspec.Struct):
    name: Annotated[str, Meta(min_length=1, max_length=3)]
    inner: Inner
    many: Annotated[list[Inner], Meta(max_length=2)]
    note: str | None = None


def found(value: Any) -> dict[str | None, str]:
    return {fault.pointer: fault.message for fault in faults(value, Outer)}


def test_all_that_is_wrong_is_listed_at_its_place() -> None:
    value = {"name": "", "inner": {"number": 10}, "many": [{"number": "1", "wanted": 1}, 2, None], "note": []}
    assert found(value) == {
        "/name": "It has to be at least 1 characters.",
        "/inner/number": "It may be at most 9.",
        "/inner/wanted": "This field is required.",
        "/many": "It may be at most 2 members.",
        "/many/0/number": "It has to be a whole number, not a text.",
        "/many/0/wanted": "It has to be true or false, not a number.",
        "/many/1": "It has to be an object, not a number.",
        "/many/2": "It has to be an object, not null.",
        "/note": "It has to be a text, not an array.",
    }


def test_no_more_than_a_page_of_them() -> None:
    assert len(faults({"name": "abc", "inner": {}, "many": [{}] * 1000}, Outer)) == MAX_FAULTS


def test_true_is_no_number_and_a_fraction_no_whole_one() -> None:
    inner = {"number": True, "wanted": False}
    assert found({"name": "a", "inner": inner, "many": []}) == {
        "/inner/number": "It has to be a whole number, not true or false."
    }
    inner["number"] = 1.5  # type: ignore[assignment]  # that is the point
    assert found({"name": "a", "inner": inner, "many": []})["/inner/number"].endswith("not a number.")


def test_a_refused_body_lists_them_all_and_repeats_nothing_of_it() -> None:
    body = {"public_key": 1, "external_identifiers": ["vault", "", 7], "metadata": "secret text"}
    with pytest.raises(Refused) as caught:
        decode(json.dumps(body).encode(), StoreKeypair)
    assert [fault.pointer for fault in caught.value.faults] == [
        "/encrypted_serialized_key",
        "/public_key",
        "/metadata",
        "/external_identifiers/1",
        "/external_identifiers/2",
    ]
    assert "secret" not in repr(caught.value.faults)


def test_places_in_a_flat_body_are_those_in_what_was_sent() -> None:
    with pytest.raises(Refused) as caught:
        decode(b'{"public_key": 1}', CreateVaultUser, "user")
    assert [fault.pointer for fault in caught.value.faults] == ["/public_key", "/admission_token"]
    with pytest.raises(Refused) as caught:
        decode(b'{"user": {"public_key": 1}}', CreateVaultUser, "user")
    assert [fault.pointer for fault in caught.value.faults] == ["/user/public_key", "/user/admission_token"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["number", "wanted", "name", "inner", "many", "note", "x"]), inner)
    ),
    max_leaves=8,
)
likely = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=5) | anything,
        "inner": st.fixed_dictionaries(
            {}, optional={"number": st.integers(-1, 12) | anything, "wanted": st.booleans()}
        ),
        "many": st.lists(anything, max_size=3),
        "note": anything,
    },
)


@given(anything | likely)
def test_what_the_decoder_refuses_has_faults_of_its_own_and_nothing_else_has(value: Any) -> None:
    none_of_its_own = (Fault("field_refused", "A value is not acceptable."),)
    try:
        msgspec.convert(value, Outer)
    except msgspec.ValidationError:
        assert faults(value, Outer) != none_of_its_own
    else:
        assert faults(value, Outer) == none_of_its_own
