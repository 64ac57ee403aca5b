"""`strongroom backup`, `restore` and `verify`: one archive for every area and both engines."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from strongroom.cli.output import Failed, data_option, json_option, note, print_json, print_record
from strongroom.cli.server_secret import server_secret
from strongroom.runtime.settings import load

if TYPE_CHECKING:
    from strongroom.backup.making import Progress
    from strongroom.runtime.secret import ServerSecret

_KEEP_APART = (
    "The server secret is not in the archive, and without it the archive cannot be restored: "
    "keep a copy of it somewhere else."
)
_ENDED = (
    "Every session and admission token has ended; users log in again. Keys that were revoked or regenerated, and "
    "passphrases that were changed, after the backup are as they were before: revoke and change them again."
)
_areas = click.option("--areas", metavar="LIST", help="The areas, as for serve. [default: STRONGROOM_AREAS, or all]")
_quiet = click.option("--quiet", is_flag=True, help="Do not tell what is being done.")


@click.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@data_option
@_areas
@_quiet
@json_option
def backup(target: Path, data: str | None, areas: str | None, quiet: bool, as_json: bool) -> None:
    """Write everything the service keeps to the new file TARGET, while it runs.

    The databases are those of the settings, as for `serve`. Whatever was acknowledged before the command was started
    is in the archive. It is readable by its owner only and is not encrypted: its holder has the databases.
    """
    from strongroom.backup.making import back_up

    settings = load(os.environ, {"data": data, "areas": areas})
    secret = server_secret(settings)
    if secret is None:
        raise Failed("there is no server secret: give the data folder of the service, or STRONGROOM_SECRET")
    try:
        manifest = asyncio.run(back_up(settings, secret, target, _progress(quiet)))
    except FileExistsError:
        raise Failed("the target exists, and no archive is ever overwritten: give another name") from None
    except OSError as error:
        raise Failed(f"the target cannot be written: {error.strerror}") from None
    record = {"file": str(target), "created_at": manifest.created_at, "rows": manifest.rows}
    print_record(record | {"bytes": target.stat().st_size}, as_json)
    note(_KEEP_APART)


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@data_option
@_areas
@_quiet
@json_option
def restore(source: Path, data: str | None, areas: str | None, quiet: bool, as_json: bool) -> None:
    """Put the archive SOURCE into empty databases and end every session and admission token in it.

    The data folder has to hold the file `secret` of the deployment, or STRONGROOM_SECRET its value. The databases are
    those of the settings and may be of another engine than the one the archive was made from. Interrupted, it is
    given again: until it has finished the service refuses to start on these databases.
    """
    from strongroom.backup.restoring import restore as run

    settings = load(os.environ, {"data": data, "areas": areas})
    secret = server_secret(settings)
    if secret is None:
        raise Failed("there is no server secret: put the deployment's file `secret` into the data folder first")
    manifest = asyncio.run(run(settings, secret, source, _progress(quiet)))
    print_record({"file": str(source), "created_at": manifest.created_at, "rows": manifest.rows}, as_json)
    note(_ENDED)


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@data_option
@_areas
@_quiet
@json_option
def verify(source: Path | None, data: str | None, areas: str | None, quiet: bool, as_json: bool) -> None:
    """Check the archive SOURCE without restoring it or, without SOURCE, the databases of the settings.

    Of an archive: is every row there and as it was written. Of databases, also while the service runs: are the files
    sound, and is the schema what the migrations made. Of both: do the rows of all tables belong together, and is what
    follows from other columns so. For that the rows of an archive are loaded into the folder for temporary files
    (TMPDIR), which needs room for them. Exit code 1 where something is wrong.
    """
    settings = load(os.environ, {"data": data, "areas": areas})
    if source is not None:
        _verify_archive(source, server_secret(settings), quiet, as_json)
        return
    from strongroom.backup.verifying import verify_databases

    secret = server_secret(settings)
    found = asyncio.run(verify_databases(settings, _progress(quiet), secret))
    if as_json:
        print_json({"sound": not found, "findings": found})
    _tell(found, "the databases are not sound")
    note("the databases are sound")


def _verify_archive(source: Path, secret: "ServerSecret | None", quiet: bool, as_json: bool) -> None:
    from strongroom.backup.verifying import verify_archive

    verified = asyncio.run(verify_archive(source, secret, _progress(quiet)))
    manifest, found = verified.manifest, verified.findings
    held = ", ".join(area.name for area in manifest.areas)
    record: dict[str, Any] = {"created_at": manifest.created_at, "areas": held, "rows": manifest.rows}
    record |= {"authentic": verified.authentic, "sound": not found}
    print_record(record | ({"findings": found} if as_json else {}), as_json)
    if not verified.authentic:
        note(
            "The rows agree with the manifest, but the manifest could not be checked: that needs the server secret it "
            "was made with, in the data folder or in STRONGROOM_SECRET."
        )
    _tell(found, "the archive is as it was written, and what it holds is not sound")


def _tell(findings: list[str], conclusion: str) -> None:
    for sentence in findings:
        note(sentence)
    if findings:
        raise Failed(conclusion)


def _progress(quiet: bool) -> "Progress":
    def tell(area: str, table: str, rows: int) -> None:
        if not quiet:
            note(f"{area}.{table}: {rows}" if table else f"{area}: done")

    return tell
