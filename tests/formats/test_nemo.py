"""NeMo: manifests with beams, and tables of predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hulltune import read
from tests.formats.list_files import fault, rows, write


def test_manifest_with_beams(tmp_path: Path) -> None:
    path = write(
        tmp_path / "m.json",
        '{"audio_filepath": "a.wav", "text": "r", "pred_text": "a", "beams": [["a", -1.5], ["b", -2]]}',
        '{"audio_filepath": "b.wav", "pred_text": "", "beams": [["", -1]]}',
    )
    lists = read(path)
    assert lists.provenance[0].format == "nemo"
    assert rows(lists) == [(0, "a", [-1.5]), (0, "b", [-2.0]), (1, "", [-1.0])]
    assert lists.references == (("r",), ())


def test_table_with_the_width_in_its_name(tmp_path: Path) -> None:
    path = write(tmp_path / "preds_out_width2_alpha1.0_beta0.5.tsv", "a\t1", "b\t2", "c\t3", "\t4")
    lists = read(path)
    assert rows(lists) == [(0, "a", [1.0]), (0, "b", [2.0]), (1, "c", [3.0]), (1, "", [4.0])]
    write(path, "a\t1", "b\t2", "c\t3")
    assert "3 lines are no whole number of beams of width 2" in fault(path)


def test_table_with_its_manifest(tmp_path: Path) -> None:
    table = write(tmp_path / "out.tsv", "a\t1", "b\t2", "c\t3", "d\t4")
    manifest = write(tmp_path / "m.json", *('{"audio_filepath": "x", "text": "r"}',) * 2)
    lists = read([table, manifest])
    assert lists.corpus.sentence_edges.tolist() == [0, 2, 4]
    assert lists.references == (("r",), ("r",))
    assert "cannot tell where an utterance ends" in fault(table)


def test_a_skipped_line_shifts_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "width2.tsv", "a\t1", "b\tnan", "c", "d\t4")
    assert fault(path).startswith(f"{path}:2: ")
    assert rows(read(path, on_error="skip")) == [(0, "a", [1.0]), (1, "d", [4.0])]


@pytest.mark.parametrize("beams", [None, "a", [["a"]], [[1, 2]], [["a", "b"]]])
def test_beams_at_fault(tmp_path: Path, beams: Any) -> None:
    path = write(tmp_path / "m", json.dumps({"audio_filepath": "x", "beams": beams}))
    assert fault(path).startswith(f"{path}:1: ")
