"""Lists of derivations and pruned forests: what is written is what was found, and first choices stay what they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Forest, kbest, read
from hulltune.data import Member
from hulltune.data.joining import Piece, joined
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.moses import MosesReader
from hulltune.formats.rows import to_dataset
from hulltune.formats.streams import Problems
from hulltune.tuning.extraction import candidate_lists, derivation_lines, prune_forests
from tests.lists import all_texts
from tests.strategies import counts, forests, vectors


@settings(max_examples=60, deadline=None)
@given(st.lists(forests(elements=st.floats(-4, 4)), min_size=1, max_size=3), vectors(3))
def test_derivations_as_lists_keep_texts_features_and_scores(parts: list[Forest], weights: list[float]) -> None:
    corpus = Corpus.pack(parts)
    found = kbest(corpus, weights, 6)
    lists = candidate_lists(range(len(corpus)), found)
    column = {name: k for k, name in enumerate(lists.feature_names)}
    for sentence in range(len(lists)):
        expected: dict[tuple[str, tuple[float, ...]], float] = {}
        for derivation in found[sentence]:
            values = tuple(derivation.features.get(name, 0.0) for name in corpus.feature_names)
            expected.setdefault((" ".join(derivation.tokens), values), derivation.score)
        rows = range(int(lists.corpus.sentence_edges[sentence]), int(lists.corpus.sentence_edges[sentence + 1]))
        names = corpus.feature_names
        assert lists.scores is not None
        assert [
            (
                (
                    lists.text(row),
                    tuple(lists.corpus.features.matrix()[row, column[n]] if n in column else 0.0 for n in names),
                ),
                float(lists.scores[row]),
            )
            for row in rows
        ] == list(expected.items())
    assert int(np.asarray(lists.copies).sum()) == len(found.scores)


@settings(max_examples=40, deadline=None)
@given(forests(elements=st.floats(-4, 4)), vectors(3, st.floats(-1, 1)))
def test_lines_read_back(tmp_path_factory: pytest.TempPathFactory, forest: Forest, weights: list[float]) -> None:
    path = tmp_path_factory.getbasetemp() / "lines"
    found = kbest(forest, weights, 5)
    path.write_text("".join(f"{line}\n" for line, _ in derivation_lines([0], found, "moses")), encoding="utf-8")
    if not len(found.scores):
        assert path.read_text() == ""
        return
    reader = MosesReader(problems=Problems("raise"), missing=0.0)
    reader.read(path)
    again, expected = to_dataset(reader.rows()), candidate_lists([0], found)
    assert all_texts(again) == all_texts(expected)
    assert set(again.feature_names) == set(expected.feature_names)
    order = [again.feature_names.index(name) for name in expected.feature_names]
    assert again.corpus.features.matrix()[:, order].tolist() == expected.corpus.features.matrix().tolist()
    assert again.scores is not None
    assert expected.scores is not None
    assert again.scores.tolist() == expected.scores.tolist()


def test_each_output_once_where_it_was_first_drawn() -> None:
    forest = Forest.from_nbest(["a", "b", "a", "c", "b"], [[5.0], [4.0], [3.0], [2.0], [1.0]])
    lines = list(derivation_lines(["u"], kbest(forest, [1.0], 9), "moses", unique=True))
    assert [line for line, _ in lines] == [
        "u ||| a ||| f0=5.0 ||| 5.0", "u ||| b ||| f0=4.0 ||| 4.0", "u ||| c ||| f0=2.0 ||| 2.0",
    ]  # fmt: skip


def test_first_choices_of_lists_move_with_their_edges_or_go() -> None:
    vocabulary = Vocabulary()
    pieces = [
        Piece(
            sentence,
            Forest.from_nbest(["x", "y", "z"], [[0.0], [9.0], [8.0]], vocabulary=vocabulary),
            Member("m", str(sentence), True),
            choice,
        )
        for sentence, choice in enumerate((2, 0))
    ]
    small, pruning = prune_forests(joined(pieces), [1.0], beam=2.0, share=False)
    assert small.first_choices.tolist() == [1, -1]
    assert small.corpus.sentence_edges.tolist() == [0, 2, 4]
    assert pruning.kept.tolist() == [False, True, True] * 2
    assert str(pruning) == "4 of 6 edges, 2 of 2 nodes"


@settings(max_examples=40, deadline=None)
@given(st.lists(forests(elements=counts), min_size=1, max_size=3), st.integers(1, 3))
def test_pruned_forests_keep_their_names(parts: list[Forest], density: int) -> None:
    whole = read(parts)
    small, _ = prune_forests(whole, np.ones(3), density=float(density), share=False)
    assert (small.ids, small.members, small.feature_names) == (whole.ids, whole.members, whole.feature_names)
    assert len(small.corpus) == len(whole.corpus)
