"""The listing of classification nodes: filters, pages, order, and one node with its parent."""

import asyncio
from collections import Counter
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strongroom.http.call import Call
from strongroom.runtime import ids
from strongroom.runtime.principals import VaultSession
from strongroom.storage import Transaction
from strongroom.storage.sqlite.store import SqliteStore
from strongroom.vault import classification_nodes
from strongroom.vault.api import VaultApi
from strongroom.vault.importing import SHIPPED, ensure_shipped, import_classification
from strongroom.wire.refusal import Refusal
from strongroom.wire.vault import ClassificationNode, ClassificationNodePath, ClassificationNodeQuery

if TYPE_CHECKING:
    from tests.vault.conftest import World

pytestmark = pytest.mark.anyio

SOMEBODY = VaultSession(b"\x01" * 16, b"\x02" * 16, b"\x03" * 16)


async def listed(world: "World", **query: object) -> list[ClassificationNode]:
    await ensure_shipped(world.vault.store, 1)
    answer = await world.list_nodes(msgspec.convert(query, ClassificationNodeQuery))
    return answer.classification_nodes


async def test_a_node_has_the_fields_of_the_specification(world: "World") -> None:
    node = (await listed(world, scheme_name="esafe_tags"))[0]
    fields = msgspec.to_builtins(node)
    image_id = fields.pop("image").removeprefix("https://vault.example/vault/global/images/")
    assert ids.from_text(image_id) is not None
    assert ids.from_text(fields.pop("id")) is not None
    assert fields == {
        "background_color": "#D9694F",
        "description": "What belongs to the family.",
        "label": "Family",
        "name": "family",
        "ordinal": 1,
        "scheme": "esafe_tags",
    }


async def test_the_whole_listing_is_ordered_and_has_null_meta(world: "World") -> None:
    nodes = await listed(world)
    assert [(node.scheme, node.ordinal) for node in nodes] == sorted((node.scheme, node.ordinal) for node in nodes)
    answer = await world.list_nodes(ClassificationNodeQuery())
    assert msgspec.to_builtins(answer.meta) == {"pages": None, "total_count": None}


async def test_a_scheme_name_is_matched_as_a_whole(world: "World") -> None:
    assert {node.scheme for node in await listed(world, scheme_name="program")} == {"program"}
    for unknown in ("progra", "program%", "Program", "pro\x00gram", "\u202e", "x" * 64):
        assert await listed(world, scheme_name=unknown) == []


async def test_a_fragment_matches_in_several_schemes(world: "World") -> None:
    found = {(node.scheme, node.name) for node in await listed(world, by_name="pet")}
    assert {scheme for scheme, _ in found} >= {"esafe", "esafe_tags", "platformng", "story_category", "tag"}
    assert {name for _, name in found} == {"pets"}
    assert [node.scheme for node in await listed(world, by_name="pet", scheme_name="tag")] == ["tag"]


async def test_wildcards_are_letters_like_any_other(world: "World") -> None:
    for fragment in ("%", "p%s", "\\", "'", '"', "pet%", "PETS", "\u202estep", "\x00", "pets\x00", "\ud800", "x" * 64):
        assert await listed(world, by_name=fragment) == []
    assert {"_" in node.name for node in await listed(world, by_name="_")} == {True}


async def test_empty_filters_are_none(world: "World") -> None:
    assert await listed(world, by_name="", scheme_name="") == await listed(world)


async def test_pages_add_up_to_the_listing(world: "World") -> None:
    whole = await listed(world)
    seen: list[ClassificationNode] = []
    for page in range(1, -(-len(whole) // 7) + 1):
        query = ClassificationNodeQuery(page=page, per=7)
        answer = await world.list_nodes(query)
        assert (answer.meta.pages, answer.meta.total_count) == (-(-len(whole) // 7), len(whole))
        seen += answer.classification_nodes
    assert seen == whole
    beyond = await world.list_nodes(ClassificationNodeQuery(page=1_000_000, per=200))
    assert beyond.classification_nodes == []
    assert beyond.meta.total_count == len(whole)


async def test_pages_count_what_the_filters_leave(world: "World") -> None:
    await listed(world)
    query = ClassificationNodeQuery(per=5, scheme_name="esafe_tags")
    answer = await world.list_nodes(query)
    assert [node.ordinal for node in answer.classification_nodes] == [1, 2, 3, 4, 5]
    assert (answer.meta.pages, answer.meta.total_count) == (3, 13)
    nothing = await world.list_nodes(ClassificationNodeQuery(page=1, by_name="\x01"))
    assert (nothing.meta.pages, nothing.meta.total_count) == (0, 0)


async def test_one_node_shows_its_parent(world: "World") -> None:
    by_name = {node.name: node for node in await listed(world, scheme_name="esafe")}
    parents = {}
    for name in ("internet", "utilities", "home"):
        placed = (
            await world.api.read_classification_node(Call(SOMEBODY, path=ClassificationNodePath(by_name[name].id)))
        ).classification_node
        fields = msgspec.to_builtins(placed)
        parents[name] = fields.pop("parent_id")
        assert fields == msgspec.to_builtins(by_name[name])
    assert parents == {"internet": by_name["utilities"].id, "utilities": by_name["home"].id, "home": None}


async def test_an_id_that_names_nothing_is_not_found(world: "World") -> None:
    node = (await listed(world))[0]
    for unknown in ("", "x", node.id.upper() + "A", ids.to_text(b"\x00" * 16), node.id.replace("-", "")):
        assert (
            await world.refused(
                world.api.read_classification_node(Call(SOMEBODY, path=ClassificationNodePath(unknown)))
            )
            is Refusal.not_found
        )


async def test_image_addresses_come_from_the_setting(world: "World") -> None:
    world.api = VaultApi(replace(world.vault, public_url="https://vault.example/base/"))
    nodes = await listed(world)
    assert all(node.image.startswith("https://vault.example/base/vault/global/images/") for node in nodes)


async def test_schemes_are_counted(world: "World") -> None:
    nodes = await listed(world)
    counted = await world.vault.store.read(classification_nodes.schemes)
    assert counted == sorted(Counter(node.scheme for node in nodes).items())


async def test_a_change_shows_at_once(world: "World") -> None:
    await listed(world)
    await world.run("UPDATE classification_nodes SET label = 'Beasts' WHERE name = 'pets'")
    assert {node.label for node in await listed(world, by_name="pets")} == {"Beasts"}


# Names and fragments out of few characters, so that they often meet.
_ALPHABET = "aAbß%_\\'\"é\u0301\U0001f43e"


@settings(max_examples=60, deadline=None)
@given(
    names=st.sets(st.text(_ALPHABET, min_size=1, max_size=6), max_size=20),
    fragments=st.lists(st.text(_ALPHABET, max_size=3), min_size=1, max_size=10),
)
def test_by_name_is_the_substring_test_of_python(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], fragments: list[str]
) -> None:
    async def compare(path: Path) -> None:
        store = SqliteStore(path, files("strongroom.vault") / "migrations")

        async def fill(tx: Transaction) -> None:
            for ordinal, name in enumerate(sorted(names)):
                await tx.run(
                    "INSERT INTO classification_nodes (node_id, scheme, ordinal, name, label, image_id) "
                    "VALUES (:node_id, x'61', :ordinal, :name, 'x', x'00000000000000000000000000000000')",
                    node_id=ordinal.to_bytes(16, "big"),
                    ordinal=ordinal,
                    name=name,
                )

        await store.write(fill)
        for fragment in fragments:
            query = ClassificationNodeQuery(by_name=fragment)
            answer = await store.read(partial(classification_nodes.list_nodes, public_url="", query=query))
            found = [node.name for node in answer.classification_nodes]
            assert found == [name for name in sorted(names) if fragment in name]
        await store.close()

    asyncio.run(compare(tmp_path_factory.mktemp("nodes") / "vault.sqlite"))


async def test_each_listing_has_a_version_of_its_own(world: "World") -> None:
    await listed(world)
    queries = [{}, {"scheme_name": "tag"}, {"by_name": "tag"}, {"page": 1}, {"per": 1}, {"by_name": "\ud800"}]
    records = [msgspec.convert(query, ClassificationNodeQuery) for query in queries]
    versions = [await world.version(record) for record in records]
    assert len(set(versions)) == len(versions)
    assert versions == [await world.version(record) for record in records]
    world.api = VaultApi(replace(world.vault, public_url="https://elsewhere.example"))
    assert await world.version(records[0]) not in versions


async def test_every_import_makes_a_new_version(world: "World") -> None:
    query = ClassificationNodeQuery()
    versions = [await world.version(query)]
    await ensure_shipped(world.vault.store, 1_000)
    versions.append(await world.version(query))
    for now in (1_000, 1_000, 500, 2_000):  # within a millisecond, and after the clock was set back
        await import_classification(world.vault.store, SHIPPED / "tag.toml", now)
        versions.append(await world.version(query))
    assert len(set(versions)) == len(versions)
