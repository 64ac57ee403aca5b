"""One process for each area of a data folder."""

from pathlib import Path

import pytest

from strongroom.runtime.secret import Exposed
from strongroom.storage.data_locks import DataLocks, InUse


def test_an_area_is_held_by_one_until_it_is_released(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    first = DataLocks(folder, ["keystore", "vault"])
    assert folder.stat().st_mode & 0o777 == 0o700
    other = DataLocks(folder, ["portal"])
    with pytest.raises(InUse, match="SQLite has one writer"):
        DataLocks(folder, ["access", "vault"])
    # What the refused one had taken before it met the lock is free again.
    DataLocks(folder, ["access"]).release()
    first.release()
    DataLocks(folder, ["keystore", "vault"]).release()
    other.release()


@pytest.mark.parametrize("mode", [0o750, 0o701, 0o777])
def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(Exposed, match=f"chmod 700 {folder}"):
        DataLocks(folder, ["keystore"])
    assert list(folder.iterdir()) == []
    DataLocks(folder, []).release()  # nothing in it is ours
    folder.chmod(0o700)
    DataLocks(folder, ["keystore"]).release()
