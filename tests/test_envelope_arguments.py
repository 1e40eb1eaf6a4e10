"""Error messages of envelopes: wrong arguments, and results that were not asked for."""

from __future__ import annotations

import math

import pytest

import hulltune
from hulltune import Corpus, Forest, InputError, decode, envelope, envelopes


def test_vectors_intervals_and_methods_at_fault() -> None:
    forest = Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names=["lm", "tm"])
    with pytest.raises(InputError, match=r"origin: expected 2 numbers \(lm, tm\), got an array of shape \(1,\)"):
        envelope(forest, [1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="direction: the weight of 'tm' is nan"):
        envelope(forest, [1.0, 1.0], [1.0, math.nan])
    with pytest.raises(InputError, match="unknown feature in origin: 'xm' "):
        envelope(forest, {"xm": 1.0}, [1.0, 2.0])
    with pytest.raises(InputError, match=r"interval: expected low < high, got \(1.0, 1.0\)"):
        envelope(forest, [1.0, 1.0], [1.0, 2.0], interval=(1, 1))
    with pytest.raises(InputError, match="unknown method 'hul'; did you mean 'hull'"):
        envelope(forest, [1.0, 1.0], [1.0, 2.0], method="hul")
    with pytest.raises(InputError, match="threads: expected a positive number, got 0"):
        envelopes(Corpus.pack([forest]), [1.0, 1.0], [[1.0, 2.0]], threads=0)
    with pytest.raises(InputError, match="overflow"):
        envelope(Forest.from_nbest(["a"], [[1e200]]), [1e200], [1.0])
    lattice = Forest.from_lattice([(0, 1, "a", [1.0])], start=0, finals=[1], feature_names=["x"])
    with pytest.raises(InputError, match='"scan" is for n-best lists, but sentence 0 has 3 nodes'):
        envelope(lattice, [1.0], [1.0], method="scan")


def test_corpora_scorers_and_threads_at_fault() -> None:
    forest = Forest.from_nbest(["a", "b"], [[1.0], [2.0]])
    corpus = Corpus.pack([forest])
    assert envelopes(forest, [1.0], [[1.0]]).outputs() == [["a", "b"]]  # a forest is a corpus of one
    assert decode(forest, [1.0]).outputs() == [["b"]]
    assert envelopes([forest, forest], [1.0], [[1.0]]).outputs() == [["a", "b"], ["a", "b"]]
    with pytest.raises(InputError, match=r"data: expected a Dataset, a Corpus or Forests, got 'dev.nbest'; read files"):
        envelopes("dev.nbest", [1.0], [[1.0]])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InputError, match="directions: expected a list of at least one direction"):
        envelopes(corpus, [1.0], [])
    with pytest.raises(InputError, match="scorer: made for another corpus"):
        envelopes(corpus, [1.0], [[1.0]], scorer=hulltune.EdgeScorer(Corpus.pack([forest])))
    with pytest.raises(InputError, match="threads: expected a positive number, got '2'"):
        envelopes(corpus, [1.0], [[1.0]], threads="2")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(IndexError):
        envelopes(corpus, [1.0], [[1.0]]).envelope(1)


def test_results_without_derivations_say_so() -> None:
    arcs = [(0, 1, "a", [1.0, 0.0]), (0, 1, "b", [0.0, 1.0])]
    corpus = Corpus.pack([Forest.from_lattice(arcs, start=0, finals=[1], feature_names=["p", "q"])])
    found = envelopes(corpus, [1, 1], [[1, 0]], derivations=False)
    assert len(found.envelope(0)) == 2
    for ask in (lambda: found.outputs(0), lambda: found.envelope(0)[0], lambda: found.envelope(0).edges(0)):
        with pytest.raises(InputError, match="computed without them; compute"):
            ask()
    a_list = Corpus.pack([Forest.from_nbest(["a"], [[1.0]])])
    assert envelopes(a_list, [1], [[1]], derivations=False).outputs() == [["a"]]  # lists name their winners anyway
