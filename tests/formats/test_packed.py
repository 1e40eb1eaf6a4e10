"""Packed files: what is packed is what is opened, and damage is noticed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Dataset, InputError, read
from hulltune.data.lists import lists_of_texts
from hulltune.formats import open_packed, pack, sniff
from hulltune.formats.packed import VERSION
from tests.formats.refusals import refusal

JSON = """\
{"id": "u", "refs": ["r", "é"], "source": "s", "candidates": [{"text": "é", "features": {"x": 1, "y": 2}, "score": 1}]}
{"id": "v", "candidates": []}
{"id": "w", "refs": [], "candidates": [{"text": "", "features": {"x": 0.1, "y": -3}, "score": 2}, {"text": "b"}]}
"""


def make(tmp_path: Path, **options: Any) -> Dataset:
    (tmp_path / "j").write_text(JSON, encoding="utf-8")
    return read(tmp_path / "j", on_error="skip", **options)


def assert_same(one: Dataset, other: Dataset) -> None:
    for name in ("node_offsets", "edge_offsets", "tail_offsets", "tails", "label_offsets", "labels", "edge_ids"):
        np.testing.assert_array_equal(getattr(one.corpus, name), getattr(other.corpus, name), err_msg=name)
    assert one.corpus.vocabulary.tokens == other.corpus.vocabulary.tokens
    np.testing.assert_array_equal(one.first_choices, other.first_choices)
    assert one.is_lists
    assert other.is_lists
    for a, b in (
        (one.corpus.features.matrix(), other.corpus.features.matrix()),
        (one.scores, other.scores),
        (one.copies, other.copies),
    ):
        assert (a is None) == (b is None)
        if a is not None:
            assert b is not None
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    for name in ("ids", "feature_names", "references", "sources", "omitted", "skipped", "provenance"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_packed_file_gives_the_lists_back(tmp_path: Path, dtype: str) -> None:
    lists = make(tmp_path, dtype=dtype)
    assert len(lists.skipped) == 1
    pack(lists, tmp_path / "p")
    assert_same(open_packed(tmp_path / "p"), lists)
    assert sniff(tmp_path / "p") == "packed"
    again = read(tmp_path / "p", features=["words"])
    assert again.feature_names == ("x", "y", "words")
    assert open_packed(tmp_path / "p").corpus.features.matrix().flags.f_contiguous
    assert open_packed(tmp_path / "p").corpus.edges == 2


def test_numbers_as_ids_and_no_scores(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("5 ||| a ||| x=1\n")
    lists = read(tmp_path / "n")
    pack(lists, tmp_path / "p")
    assert open_packed(tmp_path / "p").ids == range(6)
    assert_same(open_packed(tmp_path / "p"), lists)


def test_writing_to_the_arrays_leaves_the_file_alone(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    before = (tmp_path / "p").read_bytes()
    open_packed(tmp_path / "p").corpus.features.matrix()[0, 0] = 7
    assert (tmp_path / "p").read_bytes() == before


def test_damage_is_noticed(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    whole = (tmp_path / "p").read_bytes()

    def message(data: bytes) -> str:
        (tmp_path / "d").write_bytes(data)
        return str(refusal(lambda: open_packed(tmp_path / "d")))

    assert "not a packed file" in message(b"")
    assert "not a packed file" in message(b"something else, but long enough to hold a header")
    assert "cut off" in message(whole[:40])
    assert "cut off" in message(whole[:-1])
    assert "cut off" in message(whole + b"\0")
    assert f"version {VERSION + 1}" in message(whole[:9] + bytes([VERSION + 1]) + whole[10:])
    assert "damaged" in message(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
    with pytest.raises(InputError, match="no such file"):
        open_packed(tmp_path / "none")


@settings(max_examples=200)
@given(st.data())
def test_a_flipped_byte_is_noticed_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp()
    pack(make(folder), folder / "p")
    whole = bytearray((folder / "p").read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    (folder / "d").write_bytes(whole)
    message = refusal(lambda: open_packed(folder / "d").corpus)
    assert message is None or str(folder / "d") in message


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = make(tmp_path)
    pack(lists, tmp_path / "p")
    before = (tmp_path / "p").read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        pack(lists, tmp_path / "p")
    assert (tmp_path / "p").read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["j", "p"]
    with pytest.raises(InputError, match="cannot be written"):
        pack(lists, tmp_path / "no such folder" / "p")


def test_packed_files_are_read_alone(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    with pytest.raises(InputError, match="read alone"):
        read([tmp_path / "p", tmp_path / "j"])
    with pytest.raises(InputError, match="original lists"):
        read(tmp_path / "p", add=[(tmp_path / "j", "s")])
    with pytest.raises(InputError, match="pack it again as float32"):
        read(tmp_path / "p", dtype="float32")


def test_a_million_hypotheses_open_in_no_time(tmp_path: Path) -> None:
    rows, size = 1_000_000, 100
    lists = lists_of_texts(
        range(rows // size),
        np.arange(0, rows + 1, size, dtype=np.int64),
        [f"{number:06d}" for number in range(rows)],
        np.zeros((rows, 14), order="F"),
        tuple(f"f{k}" for k in range(14)),
        scores=np.zeros(rows),
        references=(("a reference of some length",),) * (rows // size),
    )
    pack(lists, tmp_path / "p")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert open_packed(tmp_path / "p").corpus.edges == rows
        times.append(time.perf_counter() - start)
    assert min(times) < 0.1
