"""Products, from a file that the operator edits: what a developer can subscribe to, and on which terms."""

import logging
import re
from importlib.resources import files
from pathlib import Path

import msgspec

from strongroom.runtime import toml
from strongroom.runtime.logging import LOGGER
from strongroom.runtime.settings import SettingsError

_logger = logging.getLogger(LOGGER)
MAX_SIZE = 1024 * 1024
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Product(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One product. An id stays with its subscriptions, so it is never given to another product."""

    id: str
    name: str
    description: str
    approval: bool
    """Whether the operator has to approve a subscription before it can be activated."""
    terms: str = ""
    quota: int | None = None
    """Calls in a month. Shown, not enforced."""
    rate: int | None = None
    """Calls in a minute. Shown, not enforced."""
    lifetime_days: int | None = None
    """A subscription ends so many days after it was made; None for no end."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    product: list[Product]


class Products:
    """The products in the order of the file, which is read again when the operator has changed it.

    A file that is wrong, or gone, stops the start. Later it changes nothing: the last valid file stays in use, and
    `problem` and one line of the log say what is wrong.
    """

    def __init__(self, path: Path | None) -> None:
        """The file of the operator, or the one that ships; `SettingsError` says what is wrong with it."""
        self._path = path
        self._seen = self._state()
        self._all = load(path)
        self._problem: str | None = None

    @property
    def all(self) -> tuple[Product, ...]:
        self._look()
        return self._all

    @property
    def problem(self) -> str | None:
        """What is wrong with the file as it is now; None while the products are those of the file."""
        self._look()
        return self._problem

    def find(self, product_id: str | None) -> Product | None:
        return next((product for product in self.all if product.id == product_id), None)

    def _look(self) -> None:
        state = self._state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._all = load(self._path)
        except SettingsError as error:
            self._problem = str(error)
            _logger.error("products not changed", extra={"cause": str(error)})
        else:
            self._problem = None
            _logger.info("products changed", extra={"products": len(self._all)})

    def _state(self) -> tuple[int, ...] | None:
        """Changes with the file: written in place, replaced by another one, led elsewhere by a link, or removed."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev)


def load(path: Path | None) -> tuple[Product, ...]:
    """What stands in the file. `SettingsError` says what is wrong with it."""
    try:
        if path is not None and not path.is_file():  # a pipe, say, would keep the whole service waiting
            raise FileNotFoundError
        with (path or files("strongroom.portal") / "products.toml").open("rb") as file:
            raw = file.read(MAX_SIZE + 1)
        text = raw.decode()
    except (OSError, UnicodeDecodeError):
        raise SettingsError("products has to be a file that can be read, in UTF-8") from None
    if len(raw) > MAX_SIZE:
        raise SettingsError("the file of the products is larger than 1 MiB")
    try:
        found = msgspec.convert(toml.loads(text), _File).product
    except msgspec.ValidationError as error:
        raise SettingsError(f"the file of the products: {error}") from None
    except ValueError as error:
        raise SettingsError(f"the file of the products is not TOML: {error}") from None
    for product in found:
        if not _ID.fullmatch(product.id):
            raise SettingsError("the id of a product has up to 40 lower-case letters, digits and hyphens")
        if not product.name.strip() or any(n is not None and n < 1 for n in (product.quota, product.rate)):
            raise SettingsError(f"the product {product.id} needs a name; its quota and rate are at least 1")
        if product.lifetime_days is not None and not 1 <= product.lifetime_days <= 3650:
            raise SettingsError(f"the lifetime of the product {product.id} is 1 to 3650 days")
    if not found or len({product.id for product in found}) != len(found):
        raise SettingsError("the file of the products needs at least one, and each has an id of its own")
    return tuple(found)
