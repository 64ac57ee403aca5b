"""Strongroom: a key store and data vault whose operator cannot read what it keeps."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from strongroom.client.account import AsyncAccount
    from strongroom.client.blocking.account import Account
    from strongroom.client.blocking.service import Strongroom
    from strongroom.client.errors import (
        AccountClosed,
        AdmissionTokenUsed,
        ClientError,
        ConfigurationRefused,
        CryptoError,
        InvalidCredentials,
        NoSuchKey,
        ProtocolViolation,
        ReadBackMismatch,
        RegistrationIncomplete,
        RollbackDetected,
        ServiceRefused,
        ServiceUnavailable,
        SessionExpired,
        SessionRefused,
        StateFileUnreadable,
        StrongroomError,
        UnlockRefused,
        UsernameTaken,
    )
    from strongroom.client.observing import Exchange, mask
    from strongroom.client.progress import Progress
    from strongroom.client.service import AsyncStrongroom
    from strongroom.crypto.formats import ArtefactFormat
    from strongroom.crypto.passphrases import AccountSecret

__version__ = "0.1.0"

__all__ = [
    "Account",
    "AccountClosed",
    "AccountSecret",
    "AdmissionTokenUsed",
    "ArtefactFormat",
    "AsyncAccount",
    "AsyncStrongroom",
    "ClientError",
    "ConfigurationRefused",
    "CryptoError",
    "Exchange",
    "InvalidCredentials",
    "NoSuchKey",
    "Progress",
    "ProtocolViolation",
    "ReadBackMismatch",
    "RegistrationIncomplete",
    "RollbackDetected",
    "ServiceRefused",
    "ServiceUnavailable",
    "SessionExpired",
    "SessionRefused",
    "StateFileUnreadable",
    "Strongroom",
    "StrongroomError",
    "UnlockRefused",
    "UsernameTaken",
    "__version__",
    "mask",
]

# Where each name lives; anything not named here is an error of the client.
_HOMES: Final = {
    "Account": "client.blocking.account",
    "AccountSecret": "crypto.passphrases",
    "ArtefactFormat": "crypto.formats",
    "AsyncAccount": "client.account",
    "AsyncStrongroom": "client.service",
    "Exchange": "client.observing",
    "Progress": "client.progress",
    "Strongroom": "client.blocking.service",
    "mask": "client.observing",
}


def __getattr__(name: str) -> Any:
    # The server and the command line import this package, too: they must not pay for the HTTP client.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'client.errors')}"), name)


def __dir__() -> list[str]:
    return __all__
