"""SRILM: a file of hypotheses an utterance, with further scores beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hulltune import read
from tests.formats.list_files import fault, rows, write


def test_directory_with_extra_scores(tmp_path: Path) -> None:
    write(tmp_path / "u1.nbest", "-10.5 -3 2 a b", "-11 -2 0")
    write(tmp_path / "u2.nbest", "-5 -1 1 c")
    write(tmp_path / "rnn/u1.score", "-1 x", "-2")
    write(tmp_path / "rnn/u2", "-3")
    lists = read(tmp_path)
    assert lists.feature_names == ("acoustic", "lm", "nwords", "rnn")
    assert rows(lists) == [
        ("u1", "a b", [-10.5, -3, 2, -1]),
        ("u1", "", [-11, -2, 0, -2]),
        ("u2", "c", [-5, -1, 1, -3]),
    ]
    write(tmp_path / "rnn/u2", "-3", "-4")
    assert "2 lines, but" in fault(tmp_path)
    (tmp_path / "rnn/u2").unlink()
    assert "no scores for u2.nbest" in fault(tmp_path)


def test_files_with_headers(tmp_path: Path) -> None:
    path = write(tmp_path / "7", "NBestList1.0", "(-123) a b", "(-124) a")
    assert rows(read(path))[1] == (7, "a", [-124.0])
    write(path, "NBestList2.0", "(-123) a ( st: 1 )")
    assert "nbest2-to-nbest1" in fault(path)


@pytest.mark.parametrize("line", ["", "-1 -2", "-1 x 2 a", "-1 nan 2 a"])
def test_a_line_at_fault(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "u", "-1 -2 1 a", line)
    assert fault(path).startswith(f"{path}:2: ")
    assert rows(read(path, on_error="skip")) == [("u", "a", [-1.0, -2.0, 1.0])]
