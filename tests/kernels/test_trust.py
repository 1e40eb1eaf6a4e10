"""Files that others could have written are not loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hulltune.kernels.load import trust as _trust
from hulltune.kernels.load.trust import is_trusted

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o755)
    (folder / "file").write_bytes(b"")
    (folder / "file").chmod(0o644)
    _trust._is_trusted_folder.cache_clear()
    return folder / "file"


def test_own_files_are_trusted(file: Path) -> None:
    assert is_trusted(file)


def test_a_missing_file_is_not(file: Path) -> None:
    assert not is_trusted(file.with_name("other"))


def test_a_file_that_all_can_write_is_not(file: Path) -> None:
    file.chmod(0o646)
    assert not is_trusted(file)


def test_a_file_in_a_folder_that_all_can_write_is_not(file: Path) -> None:
    file.parent.chmod(0o757)
    assert not is_trusted(file)
    _trust._is_trusted_folder.cache_clear()
    file.parent.chmod(0o1777)  # others can put files there that are not there yet
    assert not is_trusted(file)


def test_a_folder_that_others_can_replace_is_not(file: Path) -> None:
    file.parents[1].chmod(0o777)
    assert not is_trusted(file)
    _trust._is_trusted_folder.cache_clear()
    file.parents[1].chmod(0o1777)  # a sticky folder, like that for temporary files: others cannot replace ours
    assert is_trusted(file)
    file.parents[1].chmod(0o700)


def test_a_file_of_another_user_is_not(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.stat(file).st_uid
    if owner == 0:
        if not hasattr(os, "chown"):
            pytest.skip("needs owners")
        os.chown(file, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
        monkeypatch.setattr(_trust, "PACKAGE", Path("/"))
    assert not is_trusted(file)


def test_a_group_of_others_is_not(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only the administrator can give a file to any group")
    os.chown(file, -1, 12345)
    file.chmod(0o664)
    assert not is_trusted(file)
