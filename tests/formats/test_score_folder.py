"""Folders of scores: ESPnet, RETURNN, and a plain file a feature."""

from __future__ import annotations

from pathlib import Path

from hulltune import read
from tests.formats.list_files import fault, rows, write


def test_espnet(tmp_path: Path) -> None:
    for rank, (text, score) in enumerate([("u1 a b", "u1 tensor(-1.5)"), ("u1", "u1 tensor(-2., device='cuda:0')")]):
        write(tmp_path / f"{rank + 1}best_recog/text", text, f"u2 c{rank}")
        write(tmp_path / f"{rank + 1}best_recog/score", score, "u2 -3")
        write(tmp_path / f"{rank + 1}best_recog/token", "u1 a b", "u2 c")
    write(tmp_path / "10best_recog/text", "u2 late")
    write(tmp_path / "10best_recog/score", "u2 -9")
    lists = read(tmp_path)
    assert lists.feature_names == ("score",)
    assert rows(lists)[:3] == [("u1", "a b", [-1.5]), ("u1", "", [-2.0]), ("u2", "c0", [-3.0])]
    assert rows(lists)[3:] == [("u2", "c1", [-3.0]), ("u2", "late", [-9.0])]
    write(tmp_path / "2best_recog/score", "u1 -1")
    assert "the score of utterance 'u2' is missing" in fault(tmp_path)
    assert len(rows(read(tmp_path, on_error="skip"))) == 4


def test_plain(tmp_path: Path) -> None:
    write(tmp_path / "text", "0\ta b", "0\t", "1\tc")
    write(tmp_path / "am.txt", "1", "2", "3")
    write(tmp_path / "lm", "-1", "-2", "-3")
    lists = read(tmp_path)
    assert lists.feature_names == ("am", "lm")
    assert rows(lists) == [(0, "a b", [1.0, -1.0]), (0, "", [2.0, -2.0]), (1, "c", [3.0, -3.0])]
    write(tmp_path / "lm", "-1", "-2")
    assert f"{tmp_path / 'text'}: 3 lines, but 'lm' has 2" in fault(tmp_path)
    write(tmp_path / "lm", "-1", "x", "3")
    assert fault(tmp_path).startswith(f"{tmp_path / 'text'}:2: lm is 'x'")


def test_plain_with_ids(tmp_path: Path) -> None:
    write(tmp_path / "text", "a\tb", "c")
    write(tmp_path / "ids", "u1", "u2")
    write(tmp_path / "am", "1", "2")
    assert rows(read(tmp_path)) == [("u1", "a\tb", [1.0]), ("u2", "c", [2.0])]


def test_returnn(tmp_path: Path) -> None:
    write(tmp_path / "am.py", "{", "'s1': [(-1.5, 'a b'), (-2, '')],", "'s2': [],", "}")
    write(tmp_path / "lm.py", "{'s1': [(-3, 'a b'), (-4, '')], 's2': []}")
    lists = read(tmp_path)
    assert rows(lists) == [("s1", "a b", [-1.5, -3.0]), ("s1", "", [-2.0, -4.0])]
    assert lists.empty_ids == ("s2",)
    write(tmp_path / "lm.py", "{'s1': [(-3, 'other'), (-4, '')], 's2': []}")
    assert "other hypotheses" in fault(tmp_path)
    write(tmp_path / "lm.py", "{'s1': [(nan, 'a b'), (-4, '')], 's2': []}")
    assert "feature 'lm' is inf" in fault(tmp_path)
    write(tmp_path / "lm.py", "{'s1': print(1)}")
    assert "no Python literal" in fault(tmp_path)


def test_other_directories(tmp_path: Path) -> None:
    assert "no files in it" in fault(tmp_path)
    assert "expected folders 1best_recog" in fault(tmp_path, format="score-folder")
