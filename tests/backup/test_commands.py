"""`strongroom backup`, `restore` and `verify` as people and scripts use them."""

import asyncio
import base64
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from strongroom.cli.root import root

pytestmark = pytest.mark.anyio


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a command as another process would, beside this event loop."""
    for name in (
        "SECRET",
        "PREVIOUS_SECRET",
        "DATA",
        "ACCESS_DATABASE",
        "KEYSTORE_DATABASE",
        "VAULT_DATABASE",
        "AREAS",
    ):
        monkeypatch.delenv(f"STRONGROOM_{name}", raising=False)

    async def run(*arguments: object) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, root, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def engine() -> str:
    return "sqlite"


async def test_backup_beside_a_running_service_then_verify_and_restore(
    populated: Any, deployment: Callable[..., Any], run: Callable[..., Any], tmp_path: Path
) -> None:
    source, archive = populated.deployment, tmp_path / "made.zip"
    async with source.running():
        made = await run("backup", archive, "--data", source.folder, "--json")
        assert made.exit_code == 0, made.output
        sound = await run("verify", "--data", source.folder, "--json", "--quiet")
        assert json.loads(sound.stdout) == {"sound": True, "findings": []}
    record = json.loads(made.stdout)
    assert record["file"] == str(archive)
    assert record["bytes"] == archive.stat().st_size
    assert "keystore.users: 2\n" in made.stderr
    assert "server secret is not in the archive" in made.stderr
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    verified = await run("verify", archive, "--data", source.folder, "--json")
    assert json.loads(verified.stdout) == {
        "created_at": record["created_at"],
        "areas": "vault, keystore, access",
        "rows": record["rows"],
        "authentic": True,
        "sound": True,
        "findings": [],
    }
    target = deployment("sqlite")
    target.take_secret_of(source)
    restored = await run("restore", archive, "--data", target.folder)
    assert restored.exit_code == 0, restored.output
    assert "Every session and admission token has ended" in restored.stderr
    async with target.running() as service:
        await service.log_in("ada", populated.passphrase)


async def test_the_server_secret_is_neither_in_the_archive_nor_said(
    populated: Any, run: Callable[..., Any], tmp_path: Path
) -> None:
    import zipfile

    made = await run("backup", tmp_path / "made", "--data", populated.deployment.folder)
    assert made.exit_code == 0
    with zipfile.ZipFile(tmp_path / "made") as archive:
        members = b"".join(archive.read(name) for name in archive.namelist())
    secret = bytes.fromhex((populated.deployment.folder / "secret").read_text())
    spellings = [secret, secret.hex().encode(), base64.b64encode(secret), base64.urlsafe_b64encode(secret)]
    for held in (members, (tmp_path / "made").read_bytes(), made.output.encode()):
        assert not [spelling for spelling in spellings if spelling.rstrip(b"=") in held]
    # Nor anything that opens a session: what was stored are hashes.
    for credential in (populated.keystore_session, populated.vault_session, populated.spent_token):
        assert credential.encode() not in members


async def test_no_archive_is_overwritten(populated: Any, run: Callable[..., Any]) -> None:
    before = populated.archive.read_bytes()
    again = await run("backup", populated.archive, "--data", populated.deployment.folder)
    assert again.exit_code == 1
    assert "no archive is ever overwritten" in again.stderr
    assert populated.archive.read_bytes() == before


async def test_a_folder_that_cannot_be_written_is_told(populated: Any, run: Callable[..., Any], tmp_path: Path) -> None:
    made = await run("backup", tmp_path / "missing" / "made", "--data", populated.deployment.folder)
    assert (made.exit_code, made.stdout) == (1, "")
    assert "cannot be written: No such file or directory" in made.stderr


async def test_a_data_folder_that_cannot_be_made_is_told(
    populated: Any, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRONGROOM_SECRET", (populated.deployment.folder / "secret").read_text().strip())
    (tmp_path / "file").touch()
    refused = await run("restore", populated.archive, "--data", tmp_path / "file" / "data")
    assert (refused.exit_code, refused.stderr.count("\n")) == (3, 1)
    assert "Not a directory" in refused.stderr


@pytest.mark.parametrize("given", [False, True], ids=["secret in the folder", "secret given"])
@pytest.mark.parametrize("command", ["backup", "restore", "verify"])
async def test_a_data_folder_that_cannot_be_looked_into_is_one_line(
    populated: Any,
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    given: bool,
) -> None:
    """A name too long stands for a folder of another user, which root would look into all the same."""
    if given:
        monkeypatch.setenv("STRONGROOM_SECRET", (populated.deployment.folder / "secret").read_text().strip())
    files = {"backup": [tmp_path / "made"], "restore": [populated.archive], "verify": []}[command]
    refused = await run(command, *files, "--data", tmp_path / ("n" * 300))
    assert isinstance(refused.exception, SystemExit)
    assert (refused.exit_code in (1, 3), refused.stderr.count("\n")) == (True, 1)


async def test_a_lock_that_cannot_be_opened_is_told(
    populated: Any, deployment: Callable[..., Any], run: Callable[..., Any]
) -> None:
    target = deployment("sqlite")
    target.take_secret_of(populated.deployment)
    (target.folder / "vault.lock").mkdir()
    refused = await run("restore", populated.archive, "--data", target.folder, "--quiet")
    assert (refused.exit_code, refused.stderr.count("\n")) == (3, 1)
    assert not list(target.folder.glob("*.sqlite*"))


@pytest.mark.parametrize("command", ["backup", "restore"])
async def test_without_a_secret_nothing_is_done(
    populated: Any, run: Callable[..., Any], tmp_path: Path, command: str
) -> None:
    file = tmp_path / "made" if command == "backup" else populated.archive
    refused = await run(command, file, "--data", tmp_path / "nothing")
    assert refused.exit_code == 1
    assert "there is no server secret" in refused.stderr
    assert not (tmp_path / "nothing").exists()


async def test_a_malformed_secret_is_not_repeated(
    populated: Any, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRONGROOM_SECRET", "hunter2")
    refused = await run("restore", populated.archive)
    assert refused.exit_code == 2
    assert "hunter2" not in refused.output


@pytest.mark.parametrize("command", ["backup", "restore", "verify"])
async def test_a_secret_that_others_can_read_is_one_line_that_says_what_to_do(
    populated: Any, run: Callable[..., Any], command: str
) -> None:
    folder = populated.deployment.folder
    (folder / "secret").chmod(0o644)
    file = folder / "made" if command == "backup" else populated.archive
    refused = await run(command, file, "--data", folder)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == f"strongroom: others can reach the server secret: chmod 600 {folder / 'secret'}\n"


async def test_what_is_wrong_is_one_line_and_exit_code_1(
    populated: Any, deployment: Callable[..., Any], run: Callable[..., Any]
) -> None:
    target = deployment("sqlite", secret="ab" * 32)
    target.folder.mkdir(mode=0o700)
    (target.folder / "secret").write_text("ab" * 32)
    (target.folder / "secret").chmod(0o600)
    other = await run("restore", populated.archive, "--data", target.folder)
    assert (other.exit_code, other.stderr.count("\n")) == (1, 1)
    assert "another server secret" in other.stderr
    used = await run("restore", populated.archive, "--data", populated.deployment.folder, "--quiet")
    assert (used.exit_code, used.stderr.count("\n")) == (1, 1)
    assert "is not empty" in used.stderr
    content = populated.archive.read_bytes()
    populated.archive.write_bytes(content[:-100])
    torn = await run("verify", populated.archive, "--data", populated.deployment.folder)
    assert (torn.exit_code, torn.stdout) == (1, "")
    assert "cut off" in torn.stderr
    nothing = await run("verify", "--data", target.folder)
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "there is no vault database" in nothing.stderr


async def test_an_archive_whose_secret_is_not_here_is_said_to_be_unchecked(
    populated: Any, run: Callable[..., Any], tmp_path: Path
) -> None:
    verified = await run("verify", populated.archive, "--data", tmp_path / "nothing", "--json")
    assert verified.exit_code == 0
    assert json.loads(verified.stdout)["authentic"] is False
    assert "could not be checked" in verified.stderr


async def test_unsound_databases_end_with_exit_code_1(populated: Any, run: Callable[..., Any]) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(populated.deployment.folder / "keystore.sqlite")) as connection, connection:
        connection.execute("DELETE FROM usernames")
    found = await run("verify", "--data", populated.deployment.folder, "--json", "--quiet")
    assert found.exit_code == 1
    assert json.loads(found.stdout) == {
        "sound": False,
        "findings": ["keystore: not true of 2: every user has the look-up of its username"],
    }
    archive = populated.archive.with_name("unsound")
    assert (await run("backup", archive, "--data", populated.deployment.folder, "--quiet")).exit_code == 0
    held = await run("verify", archive, "--data", populated.deployment.folder, "--quiet")
    assert held.exit_code == 1
    assert "keystore: not true of 2: every user has the look-up of its username" in held.stderr
    assert "what it holds is not sound" in held.stderr
