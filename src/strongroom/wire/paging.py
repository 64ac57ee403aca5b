"""Pagination as the specification has it: `page`, `per`, and a `meta` that is null unless a page was asked for."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

DEFAULT_PER = 50
MAX_PER = 200


class Paging(Struct, frozen=True):
    """Without `page` and `per` a listing is complete; either of them asks for pages."""

    page: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="The page, counted from 1; the first by default."),
    ] = None
    per: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_PER)] | None,
        Meta(description=f"How many on a page; {DEFAULT_PER} by default."),
    ] = None

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
    pages: Annotated[int | None, Meta(description="How many pages there are; null unless a page was asked for.")] = None
    total_count: Annotated[
        int | None, Meta(description="How many there are in all; null unless a page was asked for.")
    ] = None

    @classmethod
    def of(cls, paging: Paging, total_count: int) -> "PagingMeta":
        """Both null unless a page was asked for."""
        if not paging.wanted:
            return cls()
        return cls(pages=-(-total_count // paging.limit), total_count=total_count)


ListingMeta: TypeAlias = Annotated[PagingMeta, Meta(description="The size of the whole listing.")]
