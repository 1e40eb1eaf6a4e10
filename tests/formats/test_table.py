"""Tables: CSV, TSV, data frames and Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hulltune import InputError, read
from hulltune.formats import sniff
from tests.formats.list_files import fault, rows, write


def test_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text,lm,tm,score,ref,source", '0,"a, ""b""",1,2,3,r,s', "1,,-1e-2,0,3,r2,s2")
    lists = read(path)
    assert rows(lists) == [(0, 'a, "b"', [1.0, 2.0]), (1, "", [-0.01, 0.0])]
    assert lists.feature_names == ("lm", "tm")
    assert lists.references == (("r",), ("r2",))
    assert lists.sources == ("s", "s2")


def test_tsv_has_no_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "text\tid\tlm\tref_0\tref_1", '"a\tu1\t1\tr\tq')
    lists = read(path)
    assert rows(lists) == [("u1", '"a', [1.0])]
    assert lists.references == (("r", "q"),)


def test_a_first_row_that_lacks_a_feature_does_not_make_it_disappear(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text,lm,tm", "0,a,1,", "0,b,1,2")
    assert "lacks feature 'tm'" in fault(path)
    assert rows(read(path, missing=0)) == [(0, "a", [1.0, 0.0]), (0, "b", [1.0, 2.0])]


def test_headers(tmp_path: Path) -> None:
    assert "no column 'id'" in fault(write(tmp_path / "a.csv", "text,lm"), format="csv")
    assert "two columns are called 'lm'" in fault(write(tmp_path / "a.csv", "id,text,lm,lm"))
    assert "no candidate lists" in fault(write(tmp_path / "a.csv", "id,text,lm"))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_and_parquet(tmp_path: Path, library: str) -> None:
    module = pytest.importorskip(library)
    columns: dict[str, list[Any]] = {
        "id": [0, 0, 2],
        "text": ["a", "b", "é"],
        "lm": [1.5, 2.5, -1.0],
        "n": [1, 2, 3],
    }
    expected = [(0, "a", [1.5, 1.0]), (0, "b", [2.5, 2.0]), (2, "é", [-1.0, 3.0])]
    if library == "pyarrow":
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(module.table(columns), tmp_path / "a.parquet")
        assert sniff(tmp_path / "a.parquet") == "parquet"
        assert rows(read(tmp_path / "a.parquet")) == expected
        return
    assert rows(read(module.DataFrame(columns))) == expected
    columns["lm"][1] = float("nan")
    with pytest.raises(InputError, match=r"data frame:3: (feature 'lm' is nan|lacks feature 'lm')"):
        read(module.DataFrame(columns))
    columns["lm"][1], columns["text"][2] = 0.0, None
    with pytest.raises(InputError, match="data frame:4: text is"):
        read(module.DataFrame(columns))


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    assert "no readable Parquet file" in fault(tmp_path / "a.parquet")
