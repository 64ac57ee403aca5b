"""What a handler is given: who calls, and what the endpoint declared, each as its own type."""

from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from strongroom.wire.endpoint import Body, NoBody, NoPath, NoQuery, Path, Query

Principal = TypeVar("Principal")


class Call(Struct, Generic[Principal, Path, Query, Body], frozen=True, gc=False):
    """One request, once the door has let it in."""

    who: Principal
    path: Path = NoPath()  # type: ignore[assignment]  # the default of the type variable
    query: Query = NoQuery()  # type: ignore[assignment]  # likewise
    body: Body = NoBody()  # type: ignore[assignment]  # likewise
    if_match: str | None = None
    """The entity tag of `If-Match` without its quotes, where the endpoint declares that condition."""


# Most endpoints take one thing besides the caller.
Bare: TypeAlias = Call[Principal, NoPath, NoQuery, NoBody]
WithPath: TypeAlias = Call[Principal, Path, NoQuery, NoBody]
WithQuery: TypeAlias = Call[Principal, NoPath, Query, NoBody]
WithBody: TypeAlias = Call[Principal, NoPath, NoQuery, Body]
