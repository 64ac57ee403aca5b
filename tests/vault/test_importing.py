"""Importing classification data: what it does to a store, and that a faulty file does nothing."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strongroom.http.call import Call
from strongroom.runtime.principals import VaultSession
from strongroom.vault.importing import SHIPPED, ImportReport, ensure_shipped, import_classification
from strongroom.vault.scheme_file import ImportRefused
from strongroom.wire.vault import ClassificationNode, ClassificationNodePath, ClassificationNodeQuery, ImagePath

if TYPE_CHECKING:
    from tests.vault.conftest import World

pytestmark = pytest.mark.anyio

SOMEBODY = VaultSession(b"\x01" * 16, b"\x02" * 16, b"\x03" * 16)
PICTURES = ("pets", "people", "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three pictures."""
    made = tmp_path / "import"
    made.mkdir()
    for name in PICTURES:
        (made / f"{name}.png").write_bytes((SHIPPED / "images" / f"{name}.png").read_bytes())
    return made


def write(folder: Path, *nodes: str, scheme: str = "zoo") -> Path:
    """A file with nodes written as `name ordinal parent picture label`, `-` for none."""
    lines = [f'scheme = "{scheme}"']
    for node in nodes:
        name, ordinal, parent, image, label = node.split(" ", 4)
        lines += ["[[node]]", f'name = "{name}"', f"ordinal = {ordinal}", f'label = "{label}"']
        lines += [f'parent = "{parent}"'] if parent != "-" else []
        lines += [f'image = "{image}.png"'] if image != "-" else []
    file = folder / "scheme.toml"
    file.write_text("\n".join(lines), "utf-8")
    return file


async def nodes_of(world: "World", scheme: str | None = "zoo") -> dict[str, ClassificationNode]:
    query = ClassificationNodeQuery(scheme_name=scheme)
    answer = await world.list_nodes(query)
    return {node.name: node for node in answer.classification_nodes}


async def test_what_is_imported_is_listed(world: "World", folder: Path) -> None:
    file = write(folder, "animals 1 - pets Animals", "cats 2 animals - Cats")
    report = await import_classification(world.vault.store, file, 1)
    assert report == ImportReport("zoo", added=2, changed=0, unchanged=0, removed=0, kept=0)
    nodes = await nodes_of(world)
    assert [(node.name, node.ordinal, node.label) for node in nodes.values()] == [
        ("animals", 1, "Animals"),
        ("cats", 2, "Cats"),
    ]
    assert nodes["cats"].image == nodes["animals"].image
    placed = await world.api.read_classification_node(Call(SOMEBODY, path=ClassificationNodePath(nodes["cats"].id)))
    assert placed.classification_node.parent_id == nodes["animals"].id


async def test_importing_again_changes_nothing(world: "World", folder: Path) -> None:
    file = write(folder, "animals 1 - pets Animals", "cats 2 animals people Cats")
    await import_classification(world.vault.store, file, 1)
    before = await nodes_of(world)
    report = await import_classification(world.vault.store, file, 2)
    assert (report.added, report.changed, report.unchanged) == (0, 0, 2)
    assert await nodes_of(world) == before


async def test_a_node_keeps_its_id_whatever_changes(world: "World", folder: Path) -> None:
    await import_classification(world.vault.store, write(folder, "a 1 - pets A", "b 2 a pets B"), 1)
    before = await nodes_of(world)
    report = await import_classification(world.vault.store, write(folder, "b 1 - people Bee", "a 2 b people Ay"), 2)
    assert (report.added, report.changed) == (0, 2)
    after = await nodes_of(world)
    assert {name: node.id for name, node in after.items()} == {name: node.id for name, node in before.items()}
    assert [(node.name, node.label) for node in after.values()] == [("b", "Bee"), ("a", "Ay")]
    assert after["a"].image != before["a"].image


async def test_ids_are_the_same_in_every_store_and_differ_between_schemes(world: "World", folder: Path) -> None:
    await import_classification(world.vault.store, write(folder, "a 1 - pets A"), 1)
    first = (await nodes_of(world))["a"].id
    await world.run("DELETE FROM classification_nodes")
    await import_classification(world.vault.store, write(folder, "a 9 - home Another"), 1)
    assert (await nodes_of(world))["a"].id == first
    await import_classification(world.vault.store, write(folder, "a 1 - pets A", scheme="farm"), 1)
    assert (await nodes_of(world, "farm"))["a"].id != first


async def test_nodes_the_file_does_not_name_are_kept_or_replaced(world: "World", folder: Path) -> None:
    store = world.vault.store
    await import_classification(store, write(folder, "a 1 - pets A", "b 2 a people B"), 1)
    await import_classification(store, write(folder, "x 1 - home X", scheme="other"), 1)
    report = await import_classification(store, write(folder, "c 3 b home C"), 2)
    assert (report.added, report.kept, report.removed) == (1, 2, 0)
    assert list(await nodes_of(world)) == ["a", "b", "c"]
    report = await import_classification(store, write(folder, "c 1 - home C"), 3, replace=True)
    assert (report.changed, report.kept, report.removed) == (1, 0, 2)
    assert list(await nodes_of(world)) == ["c"]
    assert list(await nodes_of(world, "other")) == ["x"]


async def test_pictures_that_no_node_shows_are_forgotten(world: "World", folder: Path) -> None:
    await import_classification(world.vault.store, write(folder, "a 1 - pets A", "b 2 - people B"), 1)
    await import_classification(world.vault.store, write(folder, "a 1 - people A"), 2)
    nodes = await nodes_of(world)
    assert await world.rows("SELECT COUNT(*) FROM images") == [(1,)]
    served = await world.api.read_image(Call(None, path=ImagePath(nodes["a"].image.rsplit("/", 1)[1])))
    assert (await world.octets(served)).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("nodes", "replace", "place", "message"),
    [
        (["c 1 - pets C"], False, "node 1 (c)", "ordinal"),
        (["c 3 gone pets C"], False, "node 1 (c)", "parent"),
        (["c 3 c pets C"], False, "node 1 (c)", "below itself"),
        (["a 1 b pets A"], False, "node 1 (a)", "below itself"),
        (["c 3 d pets C", "d 4 c pets D"], False, "node 1 (c)", "below itself"),
        (["b 2 a pets B"], True, "node 1 (b)", "parent"),
        (["c 3 - pets C", "d 4 gone pets D"], False, "node 2 (d)", "parent"),
    ],
)
async def test_a_tree_that_does_not_hold_together_changes_nothing(
    world: "World", folder: Path, nodes: list[str], replace: bool, place: str, message: str
) -> None:
    await import_classification(world.vault.store, write(folder, "a 1 - pets A", "b 2 a people B"), 1)
    everything = "SELECT * FROM classification_nodes", "SELECT * FROM images", "SELECT * FROM store_meta"
    before = [await world.rows(sql) for sql in everything]
    with pytest.raises(ImportRefused) as caught:
        await import_classification(world.vault.store, write(folder, *nodes), 2, replace=replace)
    assert [fault.place for fault in caught.value.faults if message in fault.message] == [place]
    assert [await world.rows(sql) for sql in everything] == before


async def test_replacing_may_use_the_ordinals_it_frees(world: "World", folder: Path) -> None:
    await import_classification(world.vault.store, write(folder, "a 1 - pets A", "b 2 a people B"), 1)
    await import_classification(world.vault.store, write(folder, "c 1 - pets C", "d 2 - pets D"), 2, replace=True)
    assert list(await nodes_of(world)) == ["c", "d"]


async def test_parallel_imports_do_not_give_one_place_to_two_nodes(world: "World", folder: Path) -> None:
    files = []
    for number in range(8):
        of_its_own = folder / str(number)
        of_its_own.mkdir()
        (of_its_own / "pets.png").write_bytes((folder / "pets.png").read_bytes())
        files.append(write(of_its_own, f"node{number} 1 - pets Node"))
    imports = (import_classification(world.vault.store, file, 1) for file in files)
    results = await asyncio.gather(*imports, return_exceptions=True)
    assert sum(isinstance(result, ImportReport) for result in results) == 1
    assert sum(isinstance(result, ImportRefused) for result in results) == 7
    assert len(await nodes_of(world)) == 1


async def test_the_shipped_schemes_come_with_the_first_start_only(world: "World") -> None:
    reports = await ensure_shipped(world.vault.store, 1)
    assert sum(report.added for report in reports) == len(await world.rows("SELECT 1 FROM classification_nodes"))
    await world.run("DELETE FROM classification_nodes WHERE name = 'pets'")
    assert await ensure_shipped(world.vault.store, 2) == []
    assert await world.rows("SELECT 1 FROM classification_nodes WHERE name = 'pets'") == []


async def test_a_scheme_the_operator_brought_first_is_left_alone(world: "World", folder: Path) -> None:
    await import_classification(world.vault.store, write(folder, "own 1 - pets Own", scheme="tag"), 1)
    reports = await ensure_shipped(world.vault.store, 2)
    assert "tag" not in {report.scheme for report in reports}
    assert list(await nodes_of(world, "tag")) == ["own"]


async def test_parallel_first_starts_ship_once(world: "World") -> None:
    results = await world.outcomes(ensure_shipped(world.vault.store, 1) for _ in range(4))
    assert sum(bool(result) for result in results) == 1


async def test_a_shipped_file_can_be_imported_over_itself(world: "World") -> None:
    await ensure_shipped(world.vault.store, 1)
    report = await import_classification(world.vault.store, SHIPPED / "esafe_tags.toml", 2)
    assert (report.added, report.changed, report.unchanged) == (0, 0, 13)
