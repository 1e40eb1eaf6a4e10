"""The working directory of the command tests: a folder with a small list, references and weights."""

from __future__ import annotations

from pathlib import Path

import pytest

GOOD = ["0 ||| a b ||| x= 1 2 y= 3 ||| 1", "0 ||| a c ||| x= 1 1 y= 0 ||| 2", "1 ||| d ||| x= 0 1 y= 1 ||| 0"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good").write_text("\n".join(GOOD) + "\n", encoding="utf-8")
    (tmp_path / "refs").write_text("a b\nd\n", encoding="utf-8")
    (tmp_path / "empty").write_text("", encoding="utf-8")
    (tmp_path / "w.txt").write_text("x_0 1\nx_1 1\ny 1\n", encoding="utf-8")
    return tmp_path
