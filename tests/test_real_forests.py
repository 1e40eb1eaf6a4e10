"""Tools on real forests and lattices, where they lie beside the checkout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hulltune import Dataset, best_reachable, decode, envelopes, kbest, prune, read, read_weights
from hulltune.formats import open_packed, pack
from tests.lists import as_forests

DATA = Path(__file__).parents[1] / "../shared/data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="real data (../shared/data) is not there")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def translations() -> tuple[Dataset, dict[str, float]]:
    forests = read(DATA / "de_en/forests", ids="name")
    weights = read_weights(DATA / "de_en/decoding.weights")
    return forests, {name: weight for name, weight in weights.items() if name in forests.feature_names}


@pytest.fixture(scope="module")
def utterances() -> tuple[Dataset, list[list[str]]]:
    files = [DATA / f"asr_tts/slf/{name}.slf.gz" for name in lines(DATA / "asr_tts/ids.txt")]
    return read(files), [[text] for text in lines(DATA / "asr_tts/refs.txt")]


def test_the_oracle_of_lattices_is_below_that_of_their_lists(utterances: tuple[Dataset, list[list[str]]]) -> None:
    forests, references = utterances
    found = best_reachable(forests.corpus, references, "wer")
    lists = best_reachable(as_forests(read(DATA / "asr_tts/nbest.txt.gz")).corpus, references, "wer")
    assert (found.exact, lists.exact) == (True, True)
    assert lists.score == pytest.approx(0.07, abs=0.005)
    assert found.score == pytest.approx(0.0384, abs=0.0001)
    weights = np.array([1.0 if name in ("acoustic", "language") else 0.0 for name in forests.feature_names])
    smaller = prune(forests.corpus, weights, density=50, share=False).corpus
    assert found.score <= best_reachable(smaller, references, "wer").score < lists.score


def test_the_hundred_best_of_real_hypergraphs(translations: tuple[Dataset, dict[str, float]]) -> None:
    forests, weights = translations
    found = kbest(forests.corpus, weights, 100, distinct=True)
    assert found.complete.all()
    texts = np.array(found.texts, dtype=object)
    vector = np.array([weights.get(name, 0.0) for name in forests.feature_names])
    np.testing.assert_allclose(found.features.toarray() @ vector, found.scores, rtol=1e-9)
    for sentence in range(len(forests)):
        own = slice(int(found.offsets[sentence]), int(found.offsets[sentence + 1]))
        assert len(set(texts[own])) == len(texts[own]) <= 100
        assert np.all(np.diff(found.scores[own]) <= 0)
    best = decode(forests.corpus, weights)
    assert [texts[first] for first in found.offsets[:-1]] == [each[0] for each in best.outputs()]
    assert found.scores[found.offsets[:-1]].tobytes() == best.intercepts.tobytes()


def test_a_list_from_a_forest_is_never_above_the_forest(translations: tuple[Dataset, dict[str, float]]) -> None:
    """The list's envelope is nowhere above the forest's, and meets it at the weights that the list was made with."""
    forests, weights = translations
    found = kbest(forests.corpus, weights, 20)
    lists = read(
        [
            {"candidates": [{"text": " ".join(each.tokens), "features": each.features} for each in found[sentence]]}
            for sentence in range(len(forests))
        ]
    ).with_features(forests.feature_names, may_lack=forests.feature_names)
    vector = np.array([weights.get(name, 0.0) for name in forests.feature_names])
    direction = np.random.default_rng(5).normal(size=len(vector)) * np.abs(vector)
    whole = envelopes(forests.corpus, vector, [direction])
    part = envelopes(lists.corpus, vector, [direction])
    for sentence in range(0, len(forests), 10):
        upper, lower = whole.envelope(sentence), part.envelope(sentence)
        assert len(lower) <= 20
        for eta in np.linspace(-3.0, 3.0, 31):
            assert lower.at(float(eta)) <= upper.at(float(eta)) + 1e-9
        assert lower.at(0.0) == pytest.approx(upper.at(0.0), abs=1e-9)


def test_real_forests_are_packed_and_opened(tmp_path: Path, translations: tuple[Dataset, dict[str, float]]) -> None:
    forests, weights = translations
    pack(forests, tmp_path / "p.hull")
    again = open_packed(tmp_path / "p.hull")
    assert again.ids == forests.ids
    assert decode(again.corpus, weights).outputs() == decode(forests.corpus, weights).outputs()
    small = prune(forests.corpus, weights, beam=0.5)  # the decoder itself has pruned to about 2
    assert small.envelope is not None
    assert small.corpus.edges < forests.corpus.edges / 2
    assert 0.0 < small.envelope.segments < 1.0
    whole = prune(forests.corpus, weights, beam=1e6)
    assert whole.envelope is not None
    assert (whole.corpus.edges, whole.envelope.segments) == (forests.corpus.edges, 1.0)
