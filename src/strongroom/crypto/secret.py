"""A wrapper that keeps a secret out of logs, tracebacks and pickles."""

import hmac
from typing import AnyStr, Generic, NoReturn, final


@final
class Secret(Generic[AnyStr]):
    """Text or bytes that print as stars; only `reveal()` gives them out. Comparison takes constant time."""

    __slots__ = ("_value",)

    def __init__(self, value: AnyStr) -> None:
        self._value: AnyStr = value

    def reveal(self) -> AnyStr:
        """The secret itself. Call it where it is used, not where it is kept."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(********)"

    def __str__(self) -> str:
        return "********"

    def __format__(self, format_spec: str) -> NoReturn:
        raise TypeError("a secret cannot be formatted")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_octets(self._value), _octets(other.reveal()))

    # A hash would be a fingerprint of the secret that outlives it in sets and dumps.
    __hash__ = None  # type: ignore[assignment]  # typeshed declares __hash__ a method; None is the documented opt-out


def _octets(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
