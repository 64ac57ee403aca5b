"""What may be shown of users to the developers of their provider: that they are there, and never who they are."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class UserMetadata:
    id: bytes
    created_at: int
    last_session_at: int | None
    """When the newest session began, as far as is known; None for a user who was never seen."""
    suspended_at: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Users of one provider, and admission tokens of the last weeks: old ones are forgotten."""

    users: int
    suspended: int
    issued: int
    used: int
    expired: int
    """Never used, and too old by now."""


class UserDirectory(Protocol):
    """The users of one area, as the developers of their provider may see them."""

    async def totals(self, provider_id: bytes) -> Totals: ...

    async def some(self, provider_id: bytes, after: bytes, limit: int) -> list[UserMetadata]:
        """In the order of their ids, those after `after`."""
        ...

    async def find(self, provider_id: bytes, username: str) -> UserMetadata | None:
        """The user of this name, to be suspended; None where there is none, and in an area without names."""
        ...

    async def read(self, provider_id: bytes, user_id: bytes) -> UserMetadata | None:
        """None where the provider has no such user."""
        ...

    async def suspend(self, provider_id: bytes, user_id: bytes) -> bool:
        """Refuse the user from now on and end every session; false where there is no such user to suspend."""
        ...

    async def resume(self, provider_id: bytes, user_id: bytes) -> bool:
        """Let the user log in again; false where there is no such suspended user."""
        ...
