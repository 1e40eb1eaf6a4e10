"""Packed forests: what is packed is what is opened, and damage is noticed before a kernel can stumble over it."""

from __future__ import annotations

import gzip
import io
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Dataset, Forest, ForestBuilder, InputError, decode, read
from hulltune.data import Member
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.data.forest import Pruned
from hulltune.data.joining import Piece, joined
from hulltune.formats import open_packed, pack, sniff
from hulltune.formats.packed import VERSION
from tests.formats.refusals import refusal
from tests.strategies import forests

_CORPUS = ("node_offsets", "edge_offsets", "tail_offsets", "tails", "label_offsets", "labels", "edge_ids")


def some_forest() -> Forest:
    builder = ForestBuilder(feature_names=["lm", "é"])
    builder.add_edge("NP", features=[-1.5, 2.0], output=["the", "猫"])
    builder.add_edge("NP", features=[-1.0, 1.0], output=["it"])
    builder.add_edge("S", ["NP", "NP"], features=[-0.5, 1.0], output=[1, "sees", 0])
    builder.add_node("useless")
    return builder.build(root="S")


def assert_same(one: Dataset, other: Dataset) -> None:
    for name in _CORPUS:
        a, b = getattr(one.corpus, name), getattr(other.corpus, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, err_msg=name)
    mine, theirs = one.corpus.features, other.corpus.features
    assert isinstance(mine, SparseFeatures) == isinstance(theirs, SparseFeatures)
    assert mine.values.dtype == theirs.values.dtype
    np.testing.assert_array_equal(mine.values, theirs.values)
    if isinstance(mine, SparseFeatures) and isinstance(theirs, SparseFeatures):
        np.testing.assert_array_equal(mine.offsets, theirs.offsets)
        np.testing.assert_array_equal(mine.columns, theirs.columns)
    for name in ("feature_names", "pruned"):
        assert getattr(one.corpus, name) == getattr(other.corpus, name)
    assert one.corpus.vocabulary.tokens == other.corpus.vocabulary.tokens
    for name in ("ids", "members", "references", "sources", "ids_by", "provenance"):
        assert getattr(one, name) == getattr(other, name), name
    np.testing.assert_array_equal(one.first_choices, other.first_choices)


def test_a_compressed_packed_file_and_one_from_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "p.hull"
    pack(read([some_forest()]), packed)
    (tmp_path / "p.hull.gz").write_bytes(gzip.compress(packed.read_bytes()))
    assert_same(read(tmp_path / "p.hull.gz"), read(packed))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.read_bytes())))
    assert_same(read("-"), read(packed))


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


def test_packed_forests_beside_other_files(tmp_path: Path) -> None:
    pack(read([some_forest()]), tmp_path / "p")
    pack(read([some_forest(), some_forest()]), tmp_path / "q")
    found = read([tmp_path / "p", tmp_path / "q"])
    assert (len(found), found.corpus.edges) == (3, 9)
    with pytest.raises(InputError, match="a packed file is read as it is"):
        read(tmp_path / "p", negate=True)


def test_lists_and_forests_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0 ||| a ||| x=1\n")
    pack(read(tmp_path / "n"), tmp_path / "lists")
    pack(read([some_forest()]), tmp_path / "forests")
    assert (sniff(tmp_path / "lists"), sniff(tmp_path / "forests")) == ("packed", "packed")
    assert (read(tmp_path / "lists").is_lists, read(tmp_path / "forests").is_lists) == (True, False)
    with pytest.raises(InputError, match="ids: is for forests, and these are lists"):
        read(tmp_path / "lists", ids="name")
    with pytest.raises(InputError, match="add: is for lists"):
        read(tmp_path / "forests", add=[("x", "y")])


def test_damage_is_noticed(tmp_path: Path) -> None:
    pack(read([some_forest()]), tmp_path / "p")
    whole = (tmp_path / "p").read_bytes()

    def message(data: bytes) -> str:
        (tmp_path / "d").write_bytes(data)
        return str(refusal(lambda: open_packed(tmp_path / "d")))

    assert "not a packed file" in message(b"")
    assert "cut off" in message(whole[:40])
    assert "cut off" in message(whole[:-1])
    assert f"version {VERSION + 1}" in message(whole[:9] + bytes([VERSION + 1]) + whole[10:])
    for old in (1, 2):
        assert f"packed file of version {old}; this release reads 3" in message(whole[:9] + bytes([old]) + whole[10:])
    assert "damaged" in message(whole[:90] + bytes([whole[90] ^ 1]) + whole[91:])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_flipped_byte_is_noticed_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp()
    if not (folder / "whole").exists():
        pack(read([some_forest(), some_forest()]), folder / "whole")
    whole = bytearray((folder / "whole").read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    (folder / "d").write_bytes(whole)

    def use() -> object:
        corpus = open_packed(folder / "d").corpus
        values = np.nan_to_num(corpus.features.toarray(), posinf=1.0, neginf=1.0).clip(-1e9, 1e9)
        from dataclasses import replace

        return decode(replace(corpus, features=DenseFeatures(np.asfortranarray(values))), [1.0, 1.0]).outputs()

    message = refusal(use)
    assert message is None or str(folder / "d") in message


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
    with pytest.raises(InputError, match="a damaged packed file"):
        open_packed(tmp_path / "p")


def test_a_million_edges_open_in_no_time(tmp_path: Path) -> None:
    sentences, size = 500, 2000  # a chain of nodes with one edge each
    edges = sentences * size
    tails = np.tile(np.arange(-1, size - 1, dtype=np.int32), sentences)
    arities = (tails >= 0).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(arities)]).astype(np.int64)
    labels = np.zeros((edges, 2), dtype=np.int32)
    labels[:, 0], labels[:, 1] = -1, np.arange(edges) % 50_000
    from hulltune import Vocabulary

    corpus = Corpus(
        node_offsets=np.arange(0, edges + 1, size, dtype=np.int64),
        edge_offsets=np.arange(edges + 1, dtype=np.int64),
        tail_offsets=offsets,
        tails=tails[tails >= 0],
        features=DenseFeatures(np.zeros((edges, 12), order="F")),
        feature_names=tuple(f"f{k}" for k in range(12)),
        label_offsets=np.concatenate([[0], np.cumsum(arities + 1)]).astype(np.int64),
        labels=labels[np.stack([arities > 0, np.ones(edges, dtype=np.bool_)], axis=1)],
        vocabulary=Vocabulary(f"word{k}" for k in range(50_000)),
        edge_ids=np.arange(edges, dtype=np.int64),
        pruned=(Pruned(),) * sentences,
    )
    forest_set = Dataset(
        range(sentences), corpus, np.full(sentences, -1), members=tuple((Member("m"),) for _ in range(sentences))
    )
    pack(forest_set, tmp_path / "p")
    times = []
    for _ in range(5):
        start = time.thread_time()  # whatever else the machine is doing
        assert open_packed(tmp_path / "p").corpus.edges == edges
        times.append(time.thread_time() - start)
    assert min(times) < 0.1, times
