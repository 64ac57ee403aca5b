"""The file of a classification scheme: TOML with one table per node, read strictly and with every fault named."""

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from strongroom.runtime import toml
from strongroom.vault.images import MAX_BYTES, Image, ImageRefused, take_in

MAX_FILE_BYTES = 1024 * 1024
MAX_NODES = 5000
MAX_NAME = 64
MAX_LABEL = 200
MAX_DESCRIPTION = 2000

_SCHEME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}", re.ASCII)
# Controls, line separators, surrogates, and the marks that turn the reading direction: a label that shows as
# something else than it says could pass one node off as another.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_NODE_IDS = uuid.UUID("6f2f5c5e-6b7e-5d0c-9a59-0c1f8a3b7e11")


@dataclass(frozen=True, slots=True)
class SchemeFault:
    """Something that is wrong, and where: `node 3 (pets)`."""

    place: str
    message: str


class ImportRefused(Exception):
    """The file cannot be imported; every fault that was found, none of it done."""

    def __init__(self, faults: Iterable[SchemeFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{fault.place}: {fault.message}" for fault in self.faults))


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a file, in itself in order; whether its parent exists is for the whole scheme to say."""

    place: str
    node_id: bytes
    ordinal: int
    name: str
    label: str
    description: str | None
    background_color: str | None
    parent_id: bytes | None
    image_id: bytes


@dataclass(frozen=True, slots=True)
class SchemeFile:
    scheme: str
    nodes: list[Node]
    images: dict[bytes, Image]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    scheme: str
    node: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1, max_length=MAX_NODES)]


class _Node(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    ordinal: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    label: str
    description: str | None = None
    background_color: str | None = None
    parent: str | None = None
    image: str | None = None


def node_id(scheme: str, name: str) -> bytes:
    """A version 5 UUID (RFC 9562) of scheme and name, so that a node has the same id wherever it is imported."""
    return uuid.uuid5(_NODE_IDS, f"{scheme}/{name}").bytes


def read(file: Path, take_in: Callable[[bytes], Image] = take_in) -> SchemeFile:
    """The scheme in a file, with its pictures; `ImportRefused` with all that is wrong.

    At most 1 MiB and 5,000 nodes. Pictures are named by paths inside the file's own folder; a node without one shows
    its parent's.
    """
    record = _parse(file)
    if not _SCHEME.fullmatch(record.scheme):
        raise ImportRefused([SchemeFault("scheme", "has to be lower-case letters, digits and underscores, at most 64")])
    reader = _Reader(record.scheme, file.parent, take_in)
    for number, raw in enumerate(record.node, start=1):
        reader.add(number, raw)
    nodes = reader.nodes()
    if reader.faults:
        raise ImportRefused(reader.faults)
    return SchemeFile(record.scheme, nodes, {image.image_id: image for image in reader.images.values()})


def _parse(file: Path) -> _File:
    try:
        with file.open("rb") as opened:
            raw = opened.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise ImportRefused([SchemeFault(file.name, "is larger than 1 MiB")])
        return msgspec.convert(toml.loads(raw.decode("utf-8")), _File)
    except OSError as error:
        raise ImportRefused([SchemeFault(file.name, f"cannot be read: {error.strerror}")]) from error
    except msgspec.ValidationError as error:
        raise ImportRefused([SchemeFault(file.name, str(error))]) from error
    except ValueError as error:
        raise ImportRefused([SchemeFault(file.name, f"is no TOML: {error}")]) from error


class _Reader:
    """Goes through the nodes of one file and collects what is wrong with them."""

    def __init__(self, scheme: str, folder: Path, take_in: Callable[[bytes], Image]) -> None:
        self.faults: list[SchemeFault] = []
        self.images: dict[str, Image] = {}
        self._scheme = scheme
        self._folder = folder.resolve()
        self._take_in = take_in
        self._by_name: dict[str, tuple[str, _Node]] = {}
        self._by_ordinal: dict[int, str] = {}

    def add(self, number: int, raw: dict[str, Any]) -> None:
        place = f"node {number}"
        try:
            record = msgspec.convert(raw, _Node)
        except msgspec.ValidationError as error:
            self.faults.append(SchemeFault(place, str(error)))
            return
        if _is_name(record.name):
            place = f"node {number} ({record.name})"
        for message in _wrong_with(record):
            self.faults.append(SchemeFault(place, message))
        if record.name in self._by_name:
            self.faults.append(SchemeFault(place, f"name: {self._by_name[record.name][0]} has it already"))
        if record.ordinal in self._by_ordinal:
            self.faults.append(SchemeFault(place, f"ordinal: {self._by_ordinal[record.ordinal]} has it already"))
        if record.image is not None:
            self._read_picture(place, record.image)
        self._by_name.setdefault(record.name, (place, record))
        self._by_ordinal.setdefault(record.ordinal, place)

    def nodes(self) -> list[Node]:
        """What was added; a node that finds no picture on its way up is one more fault."""
        found = []
        for place, record in self._by_name.values():
            image = self._image_of(record)
            if image is None:
                self.faults.append(
                    SchemeFault(place, "image: neither this node nor one above it in this file has a picture")
                )
            elif image in self.images:  # otherwise its fault was reported
                found.append(
                    Node(
                        place=place,
                        node_id=node_id(self._scheme, record.name),
                        ordinal=record.ordinal,
                        name=record.name,
                        label=record.label,
                        description=record.description,
                        background_color=record.background_color,
                        parent_id=None if record.parent is None else node_id(self._scheme, record.parent),
                        image_id=self.images[image].image_id,
                    )
                )
        return found

    def _image_of(self, record: _Node) -> str | None:
        seen = set()
        while record.image is None:
            seen.add(record.name)
            if record.parent is None or record.parent in seen or record.parent not in self._by_name:
                return None
            record = self._by_name[record.parent][1]
        return record.image

    def _read_picture(self, place: str, name: str) -> None:
        if name in self.images:
            return
        try:
            path = (self._folder / name).resolve()
            # Resolved first: a link inside the folder must not lead out of it.
            if not path.is_relative_to(self._folder):
                raise ImageRefused("the path leads out of the folder of this file")
            with path.open("rb") as opened:
                source = opened.read(MAX_BYTES + 1)
            self.images[name] = self._take_in(source)
        except OSError as error:
            self.faults.append(SchemeFault(place, f"image: the picture cannot be read: {error.strerror}"))
        except (ImageRefused, ValueError) as error:
            self.faults.append(SchemeFault(place, f"image: {error}"))


def _wrong_with(record: _Node) -> Iterable[str]:
    if not _is_name(record.name):
        yield f"name: has to be 1 to {MAX_NAME} characters without spaces, controls and direction marks"
    if not _is_text(record.label, MAX_LABEL):
        yield f"label: has to be 1 to {MAX_LABEL} characters without controls and direction marks"
    if record.description is not None and not _is_text(record.description, MAX_DESCRIPTION):
        yield f"description: has to be 1 to {MAX_DESCRIPTION} characters without controls and direction marks"
    if record.background_color is not None and not _COLOR.fullmatch(record.background_color):
        yield "background_color: has to be # and six hexadecimal digits"


def _is_name(name: str) -> bool:
    return _is_text(name, MAX_NAME) and not any(character.isspace() for character in name)


def _is_text(text: str, limit: int) -> bool:
    return bool(text.strip()) and len(text) <= limit and not _UNSAFE.search(text)
