"""Products, from a file that the operator edits: what a developer can subscribe to, and on which terms."""

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import msgspec

from strongroom.server.settings import SettingsError

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
    """Calls in a month. Told, not enforced."""
    rate: int | None = None
    """Calls in a minute. Told, not enforced."""
    lifetime_days: int | None = None
    """A subscription ends so many days after it was made; None for no end."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    product: list[Product]


@dataclass(frozen=True, slots=True)
class Products:
    """In the order of the file."""

    all: tuple[Product, ...]

    def find(self, product_id: str | None) -> Product | None:
        return next((product for product in self.all if product.id == product_id), None)


def load(path: Path | None) -> Products:
    """The file of the operator, or the one that ships. `SettingsError` says what is wrong with it."""
    try:
        text = (path or files("strongroom.portal") / "products.toml").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise SettingsError("products has to be a file that can be read, in UTF-8") from None
    try:
        found = msgspec.convert(tomllib.loads(text), _File).product
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the file of the products is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise SettingsError(f"the file of the products: {error}") from None
    for product in found:
        if not _ID.fullmatch(product.id):
            raise SettingsError("the id of a product has up to 40 lower-case letters, digits and hyphens")
        if not product.name.strip() or any(n is not None and n < 1 for n in (product.quota, product.rate)):
            raise SettingsError(f"the product {product.id} needs a name; its quota and rate are at least 1")
        if product.lifetime_days is not None and not 1 <= product.lifetime_days <= 3650:
            raise SettingsError(f"the lifetime of the product {product.id} is 1 to 3650 days")
    if not found or len({product.id for product in found}) != len(found):
        raise SettingsError("the file of the products needs at least one, and each has an id of its own")
    return Products(tuple(found))
