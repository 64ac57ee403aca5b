"""For the tests of programs that use Strongroom: a real service in process, and the pytest plug-in that offers it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strongroom.testing.service import Service

__all__ = ["Service"]


def __getattr__(name: str) -> Any:
    # pytest loads the plug-in, and with it this package, in every run: it must cost nothing there.
    if name != "Service":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from strongroom.testing.service import Service

    return Service
