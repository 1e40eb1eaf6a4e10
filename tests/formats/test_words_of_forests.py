"""The feature words of forests: a word penalty for lattices and hypergraphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from hulltune import Dataset, Forest, InputError, read, rerank, tune
from hulltune.formats import add_builtin_features, pack
from tests.oracles import derivations, output_of
from tests.strategies import forests

KALDI = "u1 \n0\t1\t5\t0.5,-2,3_4\n0\t2\t6\t1,-3,\n1\t2\t7\t0.25,-1,5\n2\n\n"
OPENFST = "0\t1\t5\t0.5\n0\t2\t6\t1\n1\t2\t7\t0.25\n1\t2\t0\t2\n2\n"
FOREST = "2 3\n1\nthe ||| lm=-1\n2\n[0] small house ||| lm=-3\n[0] house ||| lm=-2\n"


def assert_counts_words(dataset: Dataset) -> None:
    """Check that the feature of every derivation is the number of words of its output."""
    place = dataset.feature_names.index("words")
    for forest in dataset.corpus:
        table = forest.features.toarray()
        for edges in derivations(forest):
            words = output_of(forest, edges)
            assert sum(table[edge, place] for edge in edges) == sum(len(word.split()) for word in words)


@pytest.mark.parametrize(
    ("content", "features"),
    [(KALDI, ("graph", "acoustic")), (OPENFST, ("score",)), (FOREST, ("lm",))],
)
def test_words_of_lattices_and_hypergraphs(tmp_path: Path, content: str, features: tuple[str, ...]) -> None:
    file = tmp_path / "data"
    file.write_text(content)
    plain, found = read(file), read(file, features=["words"])
    assert found.feature_names == (*features, "words")
    assert np.array_equal(found.corpus.features.toarray()[:, :-1], plain.corpus.features.toarray())
    assert found.model == (None if plain.model is None else {**plain.model, "words": 0.0})
    assert_counts_words(found)
    pack(plain, tmp_path / "data.hull")
    packed = read(tmp_path / "data.hull", features=["words"])
    assert np.array_equal(packed.corpus.features.toarray(), found.corpus.features.toarray())
    small = read(file, features=["words"], dtype=np.float32)
    assert small.corpus.features.dtype == np.float32
    assert_counts_words(small)


@given(forests())
def test_words_of_any_forest(forest: Forest) -> None:
    spoken = [sorted(-1 - label for label in row if label < 0) for row in np.split(forest.labels, forest.label_offsets)]
    if spoken[1:-1] == [list(range(arity)) for arity in np.diff(forest.tail_offsets)]:
        assert_counts_words(read([forest], features=["words"]))
    else:
        with pytest.raises(InputError, match="does not put out each of its tails once"):
            read([forest], features=["words"])


def test_words_of_lists_among_forests(tmp_path: Path) -> None:
    (tmp_path / "0.hg").write_text(FOREST)
    (tmp_path / "lists").write_text("0 ||| a  b c ||| lm=1 ||| 0\n0 |||  ||| lm=2 ||| 0\n")
    assert_counts_words(read([tmp_path / "0.hg", tmp_path / "lists"], ids="name", features=["words"]))


def test_a_word_penalty_decides(tmp_path: Path) -> None:
    (tmp_path / "a.fst").write_text(OPENFST)
    found = read(tmp_path / "a.fst", features=["words"])
    assert rerank(found, {"score": 1.0, "words": 0.0}) == ["5 7"]
    assert rerank(found, {"score": 1.0, "words": -1.0}) == ["6"]
    result = tune(read(tmp_path / "a.fst", [["6"]], features=["words"]), metric="wer", seed=1)
    assert result.score == 0.0
    assert result.baseline == 2.0  # what the costs alone pick


def test_words_twice_and_other_features(tmp_path: Path) -> None:
    (tmp_path / "a.slf").write_text("VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a l=1\n")
    with pytest.raises(InputError, match="the forests have a feature 'words' already, as SLF does; leave it out"):
        read(tmp_path / "a.slf", features=["words"])
    with pytest.raises(InputError, match="features: 'rank' is no sum over the edges of forests; they take words"):
        add_builtin_features(read(tmp_path / "a.slf"), ["rank"])
