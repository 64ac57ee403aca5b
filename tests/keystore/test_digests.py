"""Digests of stored content: what they are over, and that a new field changes none of them."""

import hashlib
import json

import pytest

from strongroom.keystore import data_encryption_keys, digests, keypairs
from strongroom.wire.keystore import StoreKeypair

KEYPAIR = StoreKeypair(
    public_key="public", encrypted_serialized_key="sealed", metadata={"b": 1, "a": "é"}, external_identifiers=["vault"]
)
# Written down once: rows that were stored with them are known by them for ever.
FIRST_KEYPAIR = "01e734d6b1721cb2534223dfda379e0cfa814e3ed4baa51e992d756fe46dca31fe"
FIRST_DATA_ENCRYPTION_KEY = "01694c73a1aa9df3eaed21add7b4f104860a85bbab93d807e0f0e203178fe76b65"


class LaterKeypair(StoreKeypair, frozen=True):
    """A keypair as a later version may know it."""

    comment: str | None = None


def of(keypair: StoreKeypair) -> str:
    return keypairs.digest(keypair, keypair.external_identifiers).hex()


def test_a_digest_is_what_its_module_says() -> None:
    said = json.dumps(
        ["strongroom/digest", 1, "kind", {"a": ["x", "é"], "b": "y"}], separators=(",", ":"), ensure_ascii=False
    )
    assert digests.digest("kind", b="y", a=["x", "é"]) == b"\x01" + hashlib.sha256(said.encode()).digest()
    assert len(digests.digest("kind")) == digests.SIZE


def test_the_digests_of_the_first_version_stay_as_they_are() -> None:
    assert of(KEYPAIR) == FIRST_KEYPAIR
    assert data_encryption_keys.digest("sealed").hex() == FIRST_DATA_ENCRYPTION_KEY


def test_a_field_more_changes_no_digest_of_a_keypair_without_it() -> None:
    later = LaterKeypair(**{name: getattr(KEYPAIR, name) for name in KEYPAIR.__struct_fields__})
    assert of(later) == FIRST_KEYPAIR


def test_a_column_more_changes_no_digest_without_it_and_every_one_with_it() -> None:
    assert digests.digest("kind", a="x", later=None) == digests.digest("kind", a="x")
    assert digests.digest("kind", a="x", later="") != digests.digest("kind", a="x")


@pytest.mark.parametrize(
    "columns",
    [{"a": "xy"}, {"a": "x", "c": "y"}, {"ab": "x", "": "y"}, {"a": ["x"], "b": "y"}, {"a": 'x","b":"y'}],
)
def test_other_columns_have_another_digest(columns: dict[str, digests.Content]) -> None:
    assert digests.digest("kind", **columns) != digests.digest("kind", a="x", b="y")
    assert digests.digest("kind", **columns) != digests.digest("other kind", **columns)


@pytest.mark.parametrize(
    ("metadata", "same"), [({"a": "é", "b": 1}, True), ({"a": "é", "b": 2}, False), ({"a": "é"}, False)]
)
def test_the_order_of_metadata_does_not_count(metadata: dict[str, object], same: bool) -> None:
    other = StoreKeypair(
        public_key="public", encrypted_serialized_key="sealed", metadata=metadata, external_identifiers=["vault"]
    )
    assert (of(other) == of(KEYPAIR)) is same


def test_the_order_of_tags_counts() -> None:
    assert keypairs.digest(KEYPAIR, ["a", "b"]) != keypairs.digest(KEYPAIR, ["b", "a"])
