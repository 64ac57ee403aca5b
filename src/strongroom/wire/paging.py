"""Pagination as the specification has it: `page`, `per`, and a `meta` that is null unless a page was asked for."""

from typing import Annotated

from msgspec import Meta, Struct

DEFAULT_PER = 50
MAX_PER = 200


class Paging(Struct, frozen=True):
    """Without `page` and `per` a listing is whole; either one asks for pages."""

    page: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    per: Annotated[int, Meta(ge=1, le=MAX_PER, description=f"Default {DEFAULT_PER}.")] | None = None

    @property
    def wanted(self) -> bool:
        return self.page is not None or self.per is not None

    @property
    def limit(self) -> int:
        return self.per or DEFAULT_PER

    @property
    def offset(self) -> int:
        return ((self.page or 1) - 1) * self.limit


class PagingMeta(Struct, frozen=True):
    pages: int | None = None
    total_count: int | None = None

    @classmethod
    def of(cls, paging: Paging, total_count: int) -> "PagingMeta":
        """Both null unless a page was asked for."""
        if not paging.wanted:
            return cls()
        return cls(pages=-(-total_count // paging.limit), total_count=total_count)
