"""Packed files: what is packed is what is opened, and damage is noticed before a kernel can stumble over it."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Dataset, Forest, ForestBuilder, InputError, decode, read
from hulltune.data import Member
from hulltune.data.features import SparseFeatures
from hulltune.data.joining import Piece, joined
from hulltune.formats import open_packed, pack, sniff
from hulltune.formats.packed import VERSION
from tests.formats.refusals import refusal
from tests.soak.inputs import digest
from tests.strategies import forests

JSON = """\
{"id": "u", "refs": ["r", "é"], "source": "s", "candidates": [{"text": "é", "features": {"x": 1, "y": 2}, "score": 1}]}
{"id": "v", "candidates": []}
{"id": "w", "refs": [], "candidates": [{"text": "", "features": {"x": 0.1, "y": -3}, "score": 2}, {"text": "b"}]}
"""
Arrays = dict[str, NDArray[Any]]


def make(tmp_path: Path, **options: Any) -> Dataset:
    (tmp_path / "j").write_text(JSON, encoding="utf-8")
    return read(tmp_path / "j", on_error="skip", **options)


def some_forest() -> Forest:
    builder = ForestBuilder(feature_names=["lm", "é"])
    builder.add_edge("NP", features=[-1.5, 2.0], output=["the", "猫"])
    builder.add_edge("NP", features=[-1.0, 1.0], output=["it"])
    builder.add_edge("S", ["NP", "NP"], features=[-0.5, 1.0], output=[1, "sees", 0])
    builder.add_node("useless")
    return builder.build(root="S")


def sparse_lattices() -> Dataset:
    parts = []
    for number in range(2):
        builder = ForestBuilder(sparse=True)
        builder.add_edge(0, output=[])
        for k, word in enumerate(("a", "é", "c")):
            builder.add_edge(1 + k // 2, [k // 2], features={f"f{k}": k + number + 0.5}, output=[0, word])
        parts.append(builder.build(root=2))
    return read(parts).matched((("a c",), ("é",)))


def datasets(tmp_path: Path) -> dict[str, Dataset]:
    return {"lists": make(tmp_path), "forests": read([some_forest()]), "sparse lattices": sparse_lattices()}


def assert_same(one: Dataset, other: Dataset) -> None:
    assert digest(one) == digest(other)
    for name in ("node_offsets", "edge_offsets", "tail_offsets", "tails", "label_offsets", "labels", "edge_ids"):
        assert getattr(one.corpus, name).dtype == getattr(other.corpus, name).dtype
    mine, theirs = one.corpus.features, other.corpus.features
    assert type(mine) is type(theirs)
    assert mine.dtype == theirs.dtype
    if isinstance(mine, SparseFeatures) and isinstance(theirs, SparseFeatures):
        np.testing.assert_array_equal(mine.offsets, theirs.offsets)
        np.testing.assert_array_equal(mine.columns, theirs.columns)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_packed_file_gives_the_lists_back(tmp_path: Path, dtype: str) -> None:
    lists = make(tmp_path, dtype=dtype)
    assert len(lists.skipped) == 1
    pack(lists, tmp_path / "p")
    assert_same(open_packed(tmp_path / "p"), lists)
    assert sniff(tmp_path / "p") == "packed"
    assert read(tmp_path / "p", features=["words"]).feature_names == ("x", "y", "words")
    assert open_packed(tmp_path / "p").corpus.features.matrix().flags.f_contiguous
    before = (tmp_path / "p").read_bytes()
    open_packed(tmp_path / "p").corpus.features.matrix()[0, 0] = 7
    pack(lists, tmp_path / "q")
    assert (tmp_path / "p").read_bytes() == (tmp_path / "q").read_bytes() == before


@settings(max_examples=60, deadline=None)
@given(st.lists(forests(), min_size=1, max_size=3))
def test_a_packed_file_gives_the_forests_back(tmp_path_factory: pytest.TempPathFactory, parts: list[Forest]) -> None:
    path = tmp_path_factory.getbasetemp() / "p"
    given_set = read(parts)
    pack(given_set, path)
    assert sniff(path) == "packed"
    assert_same(open_packed(path), given_set)
    assert_same(read(path), given_set)


def test_names_references_and_unions_are_kept(tmp_path: Path) -> None:
    forest = some_forest()
    pieces = [
        Piece("utterance-1", forest, Member("one.slf", "u1")),
        Piece("utterance-1", forest, Member("two.slf")),
        Piece("utterance-2", Forest.from_nbest(["x", "y"], [[1.0, 2.0], [3.0, 4.0]], feature_names=["lm", "é"]),
              Member("n", "0", True), 1),
    ]  # fmt: skip
    given_set = joined(pieces, ids_by="name")
    pack(given_set, tmp_path / "p")
    found = open_packed(tmp_path / "p")
    assert_same(found, given_set)
    assert found.first_choices.tolist() == [-1, 1]
    assert decode(found.corpus, [1.0, 0.0]).outputs() == decode(given_set.corpus, [1.0, 0.0]).outputs()


def test_a_compressed_packed_file_and_one_from_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "p.hull"
    pack(read([some_forest()]), packed)
    (tmp_path / "p.hull.gz").write_bytes(gzip.compress(packed.read_bytes()))
    assert_same(read(tmp_path / "p.hull.gz"), read(packed))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.read_bytes())))
    assert_same(read("-"), read(packed))


def test_numpy_opens_a_packed_file(tmp_path: Path) -> None:
    pack(sparse_lattices(), tmp_path / "p.hull")
    with np.load(tmp_path / "p.hull") as found:
        np.testing.assert_array_equal(found["values"], sparse_lattices().corpus.features.values)


def test_packed_files_beside_other_files(tmp_path: Path) -> None:
    pack(read([some_forest()]), tmp_path / "p")
    pack(read([some_forest(), some_forest()]), tmp_path / "q")
    found = read([tmp_path / "p", tmp_path / "q"])
    assert (len(found), found.corpus.edges) == (3, 9)
    with pytest.raises(InputError, match="a packed file is read as it is"):
        read(tmp_path / "p", negate=True)
    pack(make(tmp_path), tmp_path / "lists")
    with pytest.raises(InputError, match="read alone"):
        read([tmp_path / "lists", tmp_path / "j"])
    with pytest.raises(InputError, match="original lists"):
        read(tmp_path / "lists", add=[(tmp_path / "j", "s")])
    with pytest.raises(InputError, match="pack it again as float32"):
        read(tmp_path / "lists", dtype="float32")
    assert (read(tmp_path / "lists").is_lists, read(tmp_path / "p").is_lists) == (True, False)
    with pytest.raises(InputError, match="ids: is for forests, and these are lists"):
        read(tmp_path / "lists", ids="name")
    with pytest.raises(InputError, match="add: is for lists"):
        read(tmp_path / "p", add=[("x", "y")])


# Damage.


def test_what_is_no_packed_file_or_cut_off(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    whole = (tmp_path / "p").read_bytes()

    def message(data: bytes) -> str:
        (tmp_path / "d").write_bytes(data)
        return str(refusal(lambda: open_packed(tmp_path / "d")))

    for other in (b"", b"something else, but long enough to hold a header", b"PK\x03\x04" + bytes(99)):
        assert "not a packed file; expected one written by" in message(other)
    for length in range(60, len(whole), 7):
        assert "cut off or damaged" in message(whole[:length])
    with pytest.raises(InputError, match="no such file"):
        open_packed(tmp_path / "none")


def _open(path: Path, found: list[str]) -> None:
    found.append(digest(open_packed(path)))


@pytest.mark.parametrize("kind", ["lists", "forests", "sparse lattices"])
def test_a_byte_that_has_changed_never_gives_another_dataset(tmp_path: Path, kind: str) -> None:
    """Every byte of the content; bytes of the archive around it (dates, attributes) may change nothing."""
    dataset = datasets(tmp_path)[kind]
    pack(dataset, tmp_path / "p")
    whole, expected = (tmp_path / "p").read_bytes(), digest(dataset)
    harmless = 0
    for place, byte in enumerate(whole):
        if kind != "lists" and place % 5:
            continue
        changed = whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :]
        (tmp_path / "d").write_bytes(changed)
        found: list[str] = []
        message = refusal(partial(_open, tmp_path / "d", found))
        harmless += message is None
        assert found == ([expected] if message is None else [])
        assert message is None or (str(tmp_path / "d") in message and "\n" not in message)
    assert harmless < len(whole) / 5


def crafted(path: Path, change: Callable[[dict[str, Any]], object], arrays: Arrays | None = None) -> None:
    """Replace a packed file by one with another description, or other arrays, whose checksums are right."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = next(iter(members))
    described = json.loads(members[name])
    text = change(described)
    members[name] = text if isinstance(text, bytes) else json.dumps(described).encode()
    for array, values in (arrays or {}).items():
        stream = io.BytesIO()
        np.save(stream, values)
        members[f"{array}.npy"] = stream.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)


def set_to(name: str, to: Any) -> Callable[[dict[str, Any]], None]:
    return lambda described: described.update({name: to})


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda described: described.pop(name)


CRAFTED: dict[str, Callable[[dict[str, Any]], object]] = {
    "other arrays": set_to("arrays", ["values"]),
    "no object": lambda _: b"[]",
    "no JSON": lambda _: b"{",
    "no UTF-8": lambda _: b'{"kind": "\xff"}',
    "deep JSON": lambda _: b'{"kind": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a number of thousands of digits": lambda _: b'{"version": 1' + b"0" * 5000 + b"}",
    "another version": set_to("version", VERSION + 1),
    **{f"no {name}": without(name) for name in (
        "version", "arrays", "feature_names", "ids", "ids_by", "model", "members", "references", "sources", "omitted",
        "unnamed", "qualities", "skipped", "provenance")},
    "names that are numbers": set_to("feature_names", [1, 2]),
    "one name": set_to("feature_names", ["x"]),
    "names that are a text": set_to("feature_names", "xy"),
    "ids that are true": set_to("ids", True),
    "too many ids": set_to("ids", 10**30),
    "other ids": set_to("ids", [1, None, 2]),
    "ids of two kinds": set_to("ids", [1, "x", 2]),
    "the same id twice": set_to("ids", ["u", "u", "v"]),
    "falling ids": set_to("ids", [3, 2, 1]),
    "ids by something": set_to("ids_by", "x"),
    "a model of texts": set_to("model", {"x": "y"}),
    "a model beyond all": set_to("model", {"x": math.inf}),
    "references of one": set_to("references", [["r"]]),
    "references that are numbers": set_to("references", [[1], [], []]),
    "sources that are numbers": set_to("sources", [1, None, None]),
    "skipped that is none": set_to("skipped", [["file", "line", "reason"]]),
    "provenance that is none": set_to("provenance", [["file"]]),
    "omitted that is none": set_to("omitted", {"x": None}),
    "unnamed that is none": set_to("unnamed", ["x"]),
    "qualities without numbers": set_to("qualities", ["x"]),
    "members of lists": set_to("members", [[], [], []]),
}  # fmt: skip


OTHER_ARRAYS: dict[str, Arrays] = {
    "3-D features": {"values": np.zeros((1, 2, 2))},
    "1-D features": {"values": np.zeros(4)},
    "whole features": {"values": np.zeros((2, 2), dtype=np.int64)},
    "features of objects": {"values": np.array([[1, "x"]], dtype=object)},
    "big-endian features": {"values": np.zeros((2, 2), dtype=">f8")},
    "too many features": {"values": np.zeros((2, 3))},
    "too few edges": {"values": np.zeros((1, 2))},
    "2-D offsets": {"edge_offsets": np.zeros((2, 2), dtype=np.int64)},
    "float offsets": {"edge_offsets": np.zeros(4)},
    "an unknown array": {"x": np.zeros(4)},
    "scores of one": {"scores": np.zeros(1)},
    "scores that are not finite": {"scores": np.array([1.0, math.nan])},
    "features that are not finite": {"values": np.array([[1.0, 2], [3, -math.inf]])},
    "choices of one": {"first_choices": np.zeros(1, dtype=np.int64)},
    "choices beyond the list": {"first_choices": np.array([0, 0, 1], dtype=np.int64)},
    "qualities without a name": {"qualities": np.zeros((2, 1))},
    "forests": {"node_offsets": np.array([0, 3], dtype=np.int64), "first_choices": np.zeros(1, dtype=np.int64)},
}


@pytest.mark.parametrize("name", [*CRAFTED, *OTHER_ARRAYS])
def test_a_crafted_file_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    pack(make(tmp_path), tmp_path / "d")
    crafted(tmp_path / "d", CRAFTED.get(name, lambda _: None), OTHER_ARRAYS.get(name))
    with pytest.raises(InputError, match=r"d: .*pack it again") as caught:
        open_packed(tmp_path / "d")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200 + len(str(tmp_path))


def test_archives_of_another_kind_are_refused(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    with zipfile.ZipFile(tmp_path / "p") as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    header = members["values.npy"]
    for changes in (
        {"labels.npy": None},
        {"values.npy": header[:6] + b"\x02" + header[7:]},
        {"values.npy": header.replace(b"(2, 2)", b"(2,2**9)")},
        {"values.npy": header.replace(b"(2, 2)", b"(2, 9)")},
        {"values.npy": header + b"more"},
        {"values.npy": header[:-1]},
        {"values.npy": b""},
    ):
        with zipfile.ZipFile(tmp_path / "d", "w") as archive:
            for name, content in (members | changes).items():
                if content is not None:
                    archive.writestr(name, content)
        with pytest.raises(InputError, match=r"d: .*pack it again"):
            open_packed(tmp_path / "d")
    with zipfile.ZipFile(tmp_path / "d", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match="an array that is compressed"):
        open_packed(tmp_path / "d")


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("tails", 0, 1), ("tails", 1, -1), ("tails", 0, 2**31 - 1), ("labels", 0, 99), ("labels", -1, -3),
        ("edge_offsets", 1, 0), ("edge_offsets", -1, 4), ("tail_offsets", 1, 2), ("label_offsets", 0, 1),
        ("node_offsets", 0, 1),
    ],
)  # fmt: skip
def test_numbers_that_lead_nowhere_are_refused(tmp_path: Path, name: str, place: int, value: int) -> None:
    given_set = read([some_forest()])
    values = getattr(given_set.corpus, name)
    values[place] = value
    pack(given_set, tmp_path / "p")
    with pytest.raises(InputError, match="cut off or damaged"):
        open_packed(tmp_path / "p")


# Files.


def test_a_packed_file_is_closed_once_it_is_read(tmp_path: Path) -> None:
    """A process may have only so many files open; what happens to the file then changes nothing."""
    pack(make(tmp_path), tmp_path / "p")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    found = [open_packed(tmp_path / "p") for _ in range(20)]
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before
    os.truncate(tmp_path / "p", 10)
    assert_same(found[0], make(tmp_path))


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
