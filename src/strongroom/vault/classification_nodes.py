"""Classification nodes: tags organised into schemes, each scheme a tree."""

import hashlib
import re
from functools import lru_cache

import msgspec

from strongroom.runtime import ids
from strongroom.services.paging import page
from strongroom.storage import Row, Transaction, Value
from strongroom.vault import images
from strongroom.version import __version__
from strongroom.wire.paging import PagingMeta
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.vault import (
    ClassificationNode,
    ClassificationNodeQuery,
    ClassificationNodesResponse,
    PlacedClassificationNode,
)

_COLUMNS = "node_id, background_color, description, image_id, label, name, ordinal, scheme"
# A scheme is kept as its bytes, because text is put in another order by every database's locale.
LIST = f"SELECT {_COLUMNS} FROM classification_nodes{{where}} ORDER BY scheme, ordinal, node_id"  # noqa: S608  # constants
COUNT = "SELECT COUNT(*) FROM classification_nodes{where}"
COUNT_BY_SCHEME = "SELECT scheme, COUNT(*) FROM classification_nodes GROUP BY scheme ORDER BY scheme"
FIND = f"SELECT {_COLUMNS}, parent_id FROM classification_nodes WHERE node_id = :node_id"  # noqa: S608  # constants
VERSION = "SELECT value FROM store_meta WHERE name = 'classification_imported_at'"
OF_SCHEME = "scheme = :scheme"
# A name that holds the fragment is changed by taking it out. Unlike LIKE this has no wildcards to escape, and it
# tells upper from lower case on every engine.
HOLDS_FRAGMENT = "REPLACE(name, :fragment, '') <> name"

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


async def list_nodes(tx: Transaction, public_url: str, query: ClassificationNodeQuery) -> ClassificationNodesResponse:
    """Every node that matches, by scheme and ordinal; a page of them where one is asked for (spec: vault 12).

    `by_name` is a part of the name, taken literally and with its case; an empty one matches every name.
    """
    if query.by_name and _UNPRINTABLE.search(query.by_name):
        # No name holds such a character, and not every database takes it as a value.
        return ClassificationNodesResponse([], PagingMeta.of(query, 0))
    conditions: dict[str, str] = {}
    values: dict[str, Value] = {}
    if query.scheme_name:
        conditions["scheme"] = OF_SCHEME
        values["scheme"] = query.scheme_name.encode("utf-8", "replace")
    if query.by_name:
        conditions["fragment"] = HOLDS_FRAGMENT
        values["fragment"] = query.by_name
    where = f" WHERE {' AND '.join(conditions.values())}" if conditions else ""
    rows, meta = await page(tx, LIST.format(where=where), COUNT.format(where=where), query, **values)
    return ClassificationNodesResponse([_node(public_url, row) for row in rows], meta)


async def version(tx: Transaction, public_url: str, query: ClassificationNodeQuery) -> str:
    """The entity tag of this listing: another one after every import, and for everything else that its bytes show."""
    row = await tx.one(VERSION)
    said = (__version__, public_url, 0 if row is None else row[0], query)
    return f'"{hashlib.sha256(repr(said).encode()).hexdigest()[:32]}"'


async def read(tx: Transaction, public_url: str, node_id: str) -> PlacedClassificationNode:
    """One node with its parent, null at the root of its scheme; `not_found`."""
    key = ids.from_text(node_id)
    row = None if key is None else await tx.one(FIND, node_id=key)
    if row is None:
        raise Refused(Refusal.not_found)
    *columns, parent_id = row
    return PlacedClassificationNode(
        **msgspec.structs.asdict(_node(public_url, tuple(columns))),
        parent_id=None if parent_id is None else ids.to_text(parent_id),
    )


async def schemes(tx: Transaction) -> list[tuple[str, int]]:
    """Every scheme with its number of nodes, by name."""
    return [(scheme.decode(), nodes) for scheme, nodes in await tx.all(COUNT_BY_SCHEME)]


# The same rows come with every listing. The record follows from the row alone, so a kept one is never stale.
@lru_cache(maxsize=2048)
def _node(public_url: str, row: Row) -> ClassificationNode:
    node_id, background_color, description, image_id, label, name, ordinal, scheme = row
    return ClassificationNode(
        id=ids.to_text(node_id),
        background_color=background_color,
        description=description,
        image=images.url(public_url, image_id),
        label=label,
        name=name,
        ordinal=ordinal,
        scheme=scheme.decode(),
    )
