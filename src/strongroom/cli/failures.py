"""Which errors are shown as one line, and with which exit code. Imported only once something went wrong."""

import sys
from collections.abc import Iterator

from strongroom.cli.output import Failed, NotAvailable, SettingRefused
from strongroom.crypto.errors import StrongroomError

_BAD_SETTINGS = ("SettingsError", "ConfigurationRefused")
# Of the service; looked up where they live only if that module was loaded, because the base install has no server.
_SERVICE_ERRORS = {
    "strongroom.runtime.settings": ("SettingsError",),
    "strongroom.runtime.secret": ("Exposed",),
    "strongroom.storage": ("Unavailable",),
    "strongroom.storage.migrate": ("SchemaError",),
    "strongroom.storage.data_locks": ("InUse",),
    "strongroom.storage.copying": ("NotThere",),
    "strongroom.backup.manifest": ("ArchiveRefused",),
    "strongroom.backup.restoring": ("RestoreRefused",),
}
_EXTRA_MODULES = frozenset({"argon2", "httptools", "jinja2", "markupsafe", "PIL"})


def as_failed(error: Exception) -> Failed | None:
    """The failure to end with, or None for an unforeseen error, which keeps its traceback."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _EXTRA_MODULES:
        return Failed("this needs the service, which is not installed: pip install 'strongroom[server]'")
    if not isinstance(error, (StrongroomError, *_service_errors())):
        return None
    name = type(error).__name__
    if name in _BAD_SETTINGS:
        return SettingRefused(str(error))
    if name == "Unavailable":
        # The operator sits at the terminal and, unlike a caller, sees the cause.
        cause = f": {error.__cause__}" if error.__cause__ is not None else ""
        return NotAvailable(f"the database cannot be used{cause}")
    return NotAvailable(str(error)) if name == "ServiceUnavailable" else Failed(str(error))


def _service_errors() -> Iterator[type[Exception]]:
    for module, names in _SERVICE_ERRORS.items():
        if module in sys.modules:
            for name in names:
                yield getattr(sys.modules[module], name)
