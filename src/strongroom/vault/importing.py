"""Bringing classification data in: one file holds one scheme, checked as a whole before anything is changed."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from strongroom.storage import Row, Store, Transaction
from strongroom.vault import images, scheme_file
from strongroom.vault.scheme_file import ImportRefused, Node, SchemeFault, SchemeFile

SHIPPED = Path(__file__).with_name("classification")
# Writing this row first makes imports wait for each other: two at once could give one place to two nodes. The value
# always grows, also within a millisecond and after a clock was set back: listings are distinguished by it.
TAKE_TURN = """
INSERT INTO store_meta (name, value) VALUES ('classification_imported_at', :now)
ON CONFLICT (name) DO UPDATE SET value =
    CASE WHEN excluded.value > store_meta.value THEN excluded.value ELSE store_meta.value + 1 END
"""
FIND_SHIPPED = "SELECT value FROM store_meta WHERE name = 'classification_shipped_at'"
MARK_SHIPPED = """
INSERT INTO store_meta (name, value) VALUES ('classification_shipped_at', :now) ON CONFLICT (name) DO NOTHING
"""
COLUMNS = ("node_id", "ordinal", "name", "label", "description", "background_color", "parent_id", "image_id")
FIND_SCHEME = f"SELECT {', '.join(COLUMNS)} FROM classification_nodes WHERE scheme = :scheme"  # noqa: S608  # constants
PUT = """
INSERT INTO classification_nodes
    (node_id, scheme, ordinal, name, label, description, background_color, parent_id, image_id)
VALUES (:node_id, :scheme, :ordinal, :name, :label, :description, :background_color, :parent_id, :image_id)
ON CONFLICT (node_id) DO UPDATE SET
    ordinal = excluded.ordinal, label = excluded.label, description = excluded.description,
    background_color = excluded.background_color, parent_id = excluded.parent_id, image_id = excluded.image_id
"""
REMOVE = "DELETE FROM classification_nodes WHERE node_id = :node_id"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did to the nodes of its scheme. `kept` nodes are not in the file and were left alone."""

    scheme: str
    added: int
    changed: int
    unchanged: int
    removed: int
    kept: int


async def import_classification(store: Store, file: Path, now: int, *, replace: bool = False) -> ImportReport:
    """Bring the nodes of one TOML file into its scheme; `ImportRefused` names every fault and changes nothing.

    A node is known by scheme and name: it keeps its id when its fields change, and importing a file twice changes
    nothing. Nodes of the scheme that the file does not name are kept, or with `replace` removed.
    """
    scheme = scheme_file.read(file)

    async def bring_in(tx: Transaction) -> ImportReport:
        await tx.run(TAKE_TURN, now=now)
        report = await _bring_in(tx, scheme, replace=replace)
        await tx.run(images.DROP_UNUSED)
        return report

    return await store.write(bring_in)


async def ensure_shipped(store: Store, now: int) -> list[ImportReport]:
    """At the first start of a store, bring in the schemes that ship with Strongroom; later this is one query.

    A scheme that has nodes already is left as it is, and what an operator changes or removes stays so.
    """

    async def is_done(tx: Transaction) -> bool:
        return await tx.one(FIND_SHIPPED) is not None

    if await store.read(is_done):
        return []
    schemes = [scheme_file.read(file, images.as_shipped) for file in sorted(SHIPPED.glob("*.toml"))]

    async def bring_in(tx: Transaction) -> list[ImportReport]:
        if not await tx.run(MARK_SHIPPED, now=now):
            return []
        await tx.run(TAKE_TURN, now=now)
        return [
            await _bring_in(tx, scheme, replace=False)
            for scheme in schemes
            if await tx.one(FIND_SCHEME, scheme=scheme.scheme.encode()) is None
        ]

    return await store.write(bring_in)


async def _bring_in(tx: Transaction, scheme: SchemeFile, *, replace: bool) -> ImportReport:
    key = scheme.scheme.encode()
    stored = {row[0]: row for row in await tx.all(FIND_SCHEME, scheme=key)}
    wanted = {node.node_id for node in scheme.nodes}
    others = [row for node_id, row in stored.items() if node_id not in wanted]
    kept = [] if replace else others
    faults = list(_misplaced(scheme.nodes, kept))
    if faults:
        raise ImportRefused(faults)
    for image in scheme.images.values():
        await image.store(tx)
    added = changed = 0
    for node in scheme.nodes:
        before = stored.get(node.node_id)
        if before == _row(node):
            continue
        added += before is None
        changed += before is not None
        await tx.run(PUT, scheme=key, **dict(zip(COLUMNS, _row(node), strict=True)))
    if replace:
        for row in others:
            await tx.run(REMOVE, node_id=row[0])
    return ImportReport(
        scheme=scheme.scheme,
        added=added,
        changed=changed,
        unchanged=len(scheme.nodes) - added - changed,
        removed=len(others) - len(kept),
        kept=len(kept),
    )


def _row(node: Node) -> Row:
    """The node as `FIND_SCHEME` gives it."""
    return tuple(getattr(node, column) for column in COLUMNS)


def _misplaced(nodes: list[Node], kept: list[Row]) -> Iterable[SchemeFault]:
    """What is wrong with the tree that the nodes of the file and those kept make together."""
    ordinals = {row[1]: row[2] for row in kept}
    parents = {row[0]: row[6] for row in kept} | {node.node_id: node.parent_id for node in nodes}
    in_order: set[bytes] = set()
    for node in nodes:
        if node.ordinal in ordinals:
            yield SchemeFault(node.place, f"ordinal: the stored node {ordinals[node.ordinal]} has it already")
        if node.parent_id is not None and node.parent_id not in parents:
            yield SchemeFault(node.place, "parent: there is no such node in the scheme")
        walked: set[bytes] = set()
        above: bytes | None = node.node_id
        while above is not None and above not in in_order and above not in walked:
            walked.add(above)
            above = parents.get(above)
        if above in walked:
            yield SchemeFault(node.place, "parent: the node is below itself")
        in_order.update(walked)
