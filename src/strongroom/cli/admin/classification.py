"""`strongroom admin classification`: the schemes that the vault lists."""

from dataclasses import asdict
from pathlib import Path

import click

from strongroom.cli.admin.stores import in_store
from strongroom.cli.output import Failed, data_option, json_option, note, print_json, print_records
from strongroom.vault import classification_nodes
from strongroom.vault.importing import import_classification
from strongroom.vault.scheme_file import ImportRefused


@click.group()
def classification() -> None:
    """Classification schemes: import a file, list what is there."""


@classification.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Remove nodes of the scheme that the file does not name.")
@data_option
@json_option
def import_file(file: Path, replace: bool, data: str | None, as_json: bool) -> None:
    """Bring the scheme in FILE (TOML) into the vault; nodes keep their ids.

    The file is checked as a whole first: every fault is named, and then nothing is changed. Importing it twice
    changes nothing.
    """
    try:
        report = in_store(data, "vault", lambda store, now: import_classification(store, file, now, replace=replace))
    except ImportRefused as refused:
        for fault in refused.faults:
            note(f"{fault.place}: {fault.message}")
        raise Failed("nothing was imported: the file has the faults above") from None
    if as_json:
        print_json(asdict(report))
    else:
        counts = ", ".join(f"{value} {name}" for name, value in asdict(report).items() if name != "scheme")
        click.echo(f"{report.scheme}: {counts}")


@classification.command("list")
@data_option
@json_option
def list_schemes(data: str | None, as_json: bool) -> None:
    """List the schemes with their numbers of nodes."""
    schemes = in_store(data, "vault", lambda store, now: store.read(classification_nodes.schemes))
    records = [{"scheme": scheme, "nodes": nodes} for scheme, nodes in schemes]
    print_records(records, {"SCHEME": "scheme", "NODES": "nodes"}, as_json)
