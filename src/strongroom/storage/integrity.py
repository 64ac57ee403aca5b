"""What an area says of its own rows, in one shape, so that backup, restore and verify know no table of any area."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row

RESTORE_EPOCH = {
    "there is one restore epoch": """
SELECT CASE count(*) WHEN 1 THEN 0 ELSE 1 END FROM store_meta WHERE name = 'restore_epoch'""",
}
"""True of every area: each has a table `store_meta`."""

# Not below what it was, should the clock have been set back.
RAISE_RESTORE_EPOCH = """
INSERT INTO store_meta (name, value) VALUES ('restore_epoch', :now)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE store_meta.value < excluded.value
"""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A query, and whether what it says of one thing agrees."""

    query: str
    agrees: Callable[[list[Row]], bool]
    """Of the rows of one thing, which come one after the other. Must not raise for any rows."""
    key: int = 0
    """So many leading columns say which thing a row is of; 0: each row is one."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What rows name of another area."""

    to: str
    """One of the `sets` of the other area; not checked where no area here has it."""
    query: str
    """Columns as in that set, each row once, in the order of their bytes."""


Recompute: TypeAlias = Callable[[ServerSecret | None], Mapping[str, Recomputed]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrity:
    """Everything is named by the sentence that should be true. The text of a query serves both engines.

    Rows that need not be on one machine are compared as sets (EXCEPT, INTERSECT), which a database that is spread over
    several machines answers too.
    """

    invariants: Mapping[str, str]
    """What has to be true across rows, beyond what constraints can say: queries that count the breaches."""
    recomputed: Recompute = field(default=lambda _: {})
    """What can be made again from other columns. Without the server secret, what needs it is left out."""
    endings: tuple[str, ...] = ()
    """What a restore ends, as statements; `:now` is the time of the restore in milliseconds.

    What happened after the backup is not in it: a logout, the use of a token. So no session from before is believed,
    and nothing good for one use is used twice.
    """
    sets: Mapping[str, str] = field(default_factory=dict)
    """What other areas may name, by its name: queries as in `Reference`."""
    references: Mapping[str, Reference] = field(default_factory=dict)

    def __or__(self, other: "Integrity") -> "Integrity":
        """Of both, for areas that share a database."""
        return Integrity(
            invariants={**self.invariants, **other.invariants},
            recomputed=lambda secret: {**self.recomputed(secret), **other.recomputed(secret)},
            endings=(*self.endings, *other.endings),
            sets={**self.sets, **other.sets},
            references={**self.references, **other.references},
        )
