"""Scheme files: every fault is named with its place, and all of them at once."""

import os
from pathlib import Path

import pytest

from strongroom.vault import images
from strongroom.vault.importing import SHIPPED
from strongroom.vault.scheme_file import MAX_FILE_BYTES, ImportRefused, node_id, read

NODE = {"name": '"a"', "ordinal": "1", "label": '"A"', "image": '"a.png"'}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good picture, and one outside of it."""
    made = tmp_path / "import"
    made.mkdir()
    picture = (SHIPPED / "images" / "pets.png").read_bytes()
    (made / "a.png").write_bytes(picture)
    (tmp_path / "outside.png").write_bytes(picture)
    (made / "link.png").symlink_to(tmp_path / "outside.png")
    (made / "text.png").write_text("no picture")
    (made / "large.png").write_bytes(picture + b"\x00" * images.MAX_BYTES)
    return made


def write(folder: Path, *nodes: dict[str, str], head: str = 'scheme = "zoo"') -> Path:
    file = folder / "scheme.toml"
    tables = ["\n".join(["[[node]]", *(f"{key} = {value}" for key, value in node.items())]) for node in nodes]
    file.write_text("\n".join([head, *tables]), "utf-8")
    return file


def faults(file: Path) -> list[tuple[str, str]]:
    with pytest.raises(ImportRefused) as caught:
        read(file)
    assert all(f"{fault.place}: {fault.message}" in str(caught.value) for fault in caught.value.faults)
    return [(fault.place, fault.message) for fault in caught.value.faults]


def test_a_file_in_order(folder: Path) -> None:
    more = {"description": '"All of it."', "background_color": '"#a0B1c2"', "parent": '"a"'}
    scheme = read(write(folder, NODE, {**NODE, **more, "name": '"1%_b-é"', "ordinal": "0"}))
    first, second = scheme.nodes
    assert (scheme.scheme, first.name, first.parent_id, first.description) == ("zoo", "a", None, None)
    assert second.node_id == node_id("zoo", "1%_b-é")
    assert (second.parent_id, second.background_color) == (first.node_id, "#a0B1c2")
    assert list(scheme.images) == [first.image_id]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", '""', "name: "),
        ("name", '"two words"', "name: "),
        ("name", f'"{"a" * 65}"', "name: "),
        ("name", '"a\\u0000"', "name: "),
        ("name", "1", "at `$.name`"),
        ("ordinal", "-1", "at `$.ordinal`"),
        ("ordinal", "1000001", "at `$.ordinal`"),
        ("ordinal", '"1"', "at `$.ordinal`"),
        ("ordinal", "true", "at `$.ordinal`"),
        ("ordinal", "1.5", "at `$.ordinal`"),
        ("ordinal", "9" * 400, "at `$.ordinal`"),
        ("label", '""', "label: "),
        ("label", '"  "', "label: "),
        ("label", f'"{"a" * 201}"', "label: "),
        ("label", '"a\\nb"', "label: "),
        ("label", '"a\\u202Eb"', "label: "),
        ("label", '"a\\u2066b"', "label: "),
        ("label", '"a\\u200Fb"', "label: "),
        ("label", '"a\\u0085b"', "label: "),
        ("description", f'"{"a" * 2001}"', "description: "),
        ("description", '"a\\u2028b"', "description: "),
        ("description", '"a\\tb"', "description: "),
        ("background_color", '"red"', "background_color: "),
        ("background_color", '"#12345"', "background_color: "),
        ("background_color", '"#1234567"', "background_color: "),
        ("background_color", '"#12345G"', "background_color: "),
        ("background_color", '"#123456\\n"', "background_color: "),
        ("background_color", '"#١٢٣٤٥٦"', "background_color: "),
        ("image", '"missing.png"', "image: the picture cannot be read"),
        ("image", '"."', "image: the picture cannot be read"),
        ("image", '"../outside.png"', "image: the path leads out"),
        ("image", '"link.png"', "image: the path leads out"),
        ("image", '"/etc/hostname"', "image: the path leads out"),
        ("image", '"a.png\\u0000"', "image: "),
        ("image", '"text.png"', "image: the picture cannot be read as"),
        ("image", '"large.png"', "image: the picture is larger than 1 MiB"),
        ("parent", "[]", "at `$.parent`"),
        ("labell", '"A"', "unknown field `labell`"),
    ],
)
def test_a_fault_is_named_with_its_place(folder: Path, field: str, value: str, message: str) -> None:
    good = {**NODE, "name": '"first"', "ordinal": "7"}
    ((place, told),) = faults(write(folder, good, {**NODE, field: value}))
    assert place.startswith("node 2")
    assert message in told


@pytest.mark.parametrize("field", ["name", "ordinal", "label"])
def test_what_has_to_be_there(folder: Path, field: str) -> None:
    node = {key: value for key, value in NODE.items() if key != field}
    assert faults(write(folder, node)) == [("node 1", f"Object missing required field `{field}`")]


def test_a_node_without_a_picture_above_it(folder: Path) -> None:
    bare = {"name": '"b"', "ordinal": "2", "label": '"B"'}
    assert read(write(folder, NODE, {**bare, "parent": '"a"'})).nodes[1].image_id
    for node in (bare, {**bare, "parent": '"stored"'}, {**bare, "parent": '"b"'}):
        ((place, message),) = faults(write(folder, NODE, node))
        assert place == "node 2 (b)"
        assert message.startswith("image: neither")


def test_all_faults_are_told_at_once(folder: Path) -> None:
    second = {**NODE, "label": '""', "background_color": '"red"'}
    found = faults(write(folder, NODE, second, {**NODE, "name": '"c"', "ordinal": '"x"'}))
    assert [(place, message.split(":")[0].split(" - ")[0]) for place, message in found] == [
        ("node 2 (a)", "label"),
        ("node 2 (a)", "background_color"),
        ("node 2 (a)", "name"),
        ("node 2 (a)", "ordinal"),
        ("node 3", "Expected `int`, got `str`"),
    ]


@pytest.mark.parametrize(
    ("head", "place"),
    [
        ("", "scheme.toml"),
        ('scheme = "Zoo"', "scheme"),
        ('scheme = ""', "scheme"),
        (f'scheme = "{"a" * 65}"', "scheme"),
        ("scheme = 1", "scheme.toml"),
        ('scheme = "zoo"\nextra = 1', "scheme.toml"),
        ('scheme = "zoo', "scheme.toml"),
        ("x = " + "[" * 5000, "scheme.toml"),
        ("# " + "x" * MAX_FILE_BYTES, "scheme.toml"),
    ],
    ids=range(9),
)
def test_a_file_of_another_shape(folder: Path, head: str, place: str) -> None:
    ((told, _),) = faults(write(folder, NODE, head=head))
    assert told == place


def test_a_file_without_nodes(folder: Path) -> None:
    assert faults(write(folder, head='scheme = "zoo"\nnode = []'))[0][0] == "scheme.toml"


def test_a_file_that_is_no_text(folder: Path) -> None:
    file = folder / "scheme.toml"
    file.write_bytes(b"scheme = '\xff'")
    assert faults(file)[0][0] == "scheme.toml"


def test_a_file_that_is_not_there(folder: Path) -> None:
    assert faults(folder / "gone.toml") == [("gone.toml", f"cannot be read: {os.strerror(2)}")]


def test_too_many_nodes(folder: Path) -> None:
    many = ({"name": f'"{number}"', "ordinal": "1", "label": '"A"'} for number in range(5001))
    assert faults(write(folder, *many))[0][0] == "scheme.toml"
