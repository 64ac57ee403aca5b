"""`strongroom admin product`: the file of products, before the service reads it."""

import os
from importlib.resources import files
from pathlib import Path

import click
from msgspec.structs import asdict

from strongroom.cli.output import Columns, Failed, json_option, note, print_json, print_records
from strongroom.runtime.settings import SettingsError, load


@click.group()
def product() -> None:
    """What developers can subscribe to, from the file in STRONGROOM_PRODUCTS."""


@product.command()
@json_option
def example(as_json: bool) -> None:
    """Print the file that ships, with a comment for each field: a start for one of your own."""
    text = (files("strongroom.portal") / "products.toml").read_text("utf-8")
    if as_json:
        print_json({"toml": text})
    else:
        click.echo(text, nl=False)


@product.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@json_option
def check(file: Path | None, as_json: bool) -> None:
    """Check FILE, or the file in STRONGROOM_PRODUCTS, as the service does; show the products in it."""
    from strongroom.portal.subscriptions import products

    path = file or load(os.environ).products
    try:
        found = products.load(path)
    except SettingsError as error:
        raise Failed(str(error)) from None
    columns: Columns = {
        "ID": "id",
        "NAME": "name",
        "APPROVAL": lambda product: "yes" if product["approval"] else "no",
        "CALLS A MONTH": "quota",
        "A MINUTE": "rate",
        "DAYS": "lifetime_days",
    }
    print_records([asdict(one) for one in found], columns, as_json)
    note("The file is good. Quota and rate are shown to developers and not enforced.")
