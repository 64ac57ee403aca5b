"""From a setting to an engine."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from strongroom.runtime.settings import SettingsError, load
from strongroom.storage.open import open_destination, open_snapshot, open_store, read_status
from strongroom.storage.postgres.store import PostgresStore
from strongroom.storage.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio


async def test_without_a_setting_it_is_a_file_in_the_data_folder(tmp_path: Path, items: Path) -> None:
    store = open_store(load({}, {"data": str(tmp_path)}).database("vault"), "vault", items)
    assert isinstance(store, SqliteStore)
    await store.close()
    assert (tmp_path / "vault.sqlite").exists()


async def test_a_path_is_another_file(tmp_path: Path, items: Path) -> None:
    given = {"data": str(tmp_path), "vault_database": f"sqlite:{tmp_path / 'other'}"}
    store = open_store(load({}, given).database("vault"), "vault", items)
    await store.close()
    assert (tmp_path / "other").exists()
    assert not (tmp_path / "vault.sqlite").exists()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_url_is_postgresql_with_a_schema_for_the_area(scheme: str, tmp_path: Path, items: Path) -> None:
    store = open_store(f"{scheme}://localhost/db", "vault", items)
    assert isinstance(store, PostgresStore)
    assert store._target.schema == "vault"


def test_the_url_may_name_another_schema(tmp_path: Path, items: Path) -> None:
    url = "postgresql://localhost/db?options=-csearch_path%3Dstrongroom_vault"
    store = open_store(url, "vault", items)
    assert isinstance(store, PostgresStore)
    assert store._target.schema == "strongroom_vault"


@pytest.mark.parametrize("database", ["mysql://localhost/db", "sqlite:", "vault.sqlite", "POSTGRESQL://localhost/db"])
async def test_anything_else_is_refused(database: str, tmp_path: Path, items: Path) -> None:
    with pytest.raises(SettingsError, match="a database is given as"):
        open_store(database, "vault", items)
    with pytest.raises(SettingsError, match="a database is given as"):
        await read_status(database, "vault", items)


def test_without_the_driver_the_extra_is_named(tmp_path: Path, items: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "psycopg":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError, match=r"strongroom\[server,postgres\]"):
        open_store("postgresql://localhost/db", "vault", items)


@pytest.mark.parametrize(("version", "taken"), [(130_023, False), (140_000, True)])
async def test_a_client_library_without_pipelines_is_refused_at_once(
    version: int, taken: bool, items: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psycopg.pq.version", lambda: version)
    url = "postgresql:///strongroom"
    if taken:
        assert isinstance(open_store(url, "vault", items), PostgresStore)
        return
    with pytest.raises(SettingsError, match="libpq, has to be of version 14 or newer"):
        open_store(url, "vault", items)
    with pytest.raises(SettingsError, match="libpq"):
        open_destination(url, "vault")
    with pytest.raises(SettingsError, match="libpq"):
        await open_snapshot(url, "vault")
    with pytest.raises(SettingsError, match="libpq"):
        await read_status(url, "vault", items)


def test_settings_do_not_show_a_url() -> None:
    settings = load({"STRONGROOM_VAULT_DATABASE": "postgresql://user:hunter2-hunter2@host/db"})
    assert settings.vault_database is not None
    assert "hunter2" not in repr(settings)
