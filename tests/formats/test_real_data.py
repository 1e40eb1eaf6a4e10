"""Real lists and forests, where they lie beside the checkout.

The forests are 150 of a hierarchical decoder, with the n-best lists it printed, and two with known envelopes.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from hulltune import Forest, read
from hulltune.data.features import DenseFeatures
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats import open_packed, pack, read_weights
from hulltune.formats.forest_text import read_forest_text
from hulltune.lines import decode, envelope, kbest
from hulltune.lines.result import Envelope
from tests.formats.moses_oracle import parse
from tests.formats.plain_forests import EVERYTHING
from tests.lists import hypothesis

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the checkout")


@pytest.mark.parametrize(
    ("name", "sentences", "features"),
    [
        ("fr_en/nbest.moses.gz", 100, 22),
        ("de_en/nbest.txt.gz", 500, 12),
        ("asr_tts/nbest.txt.gz", 100, 5),
        ("alignments_en_fr/nbest.txt.gz", 447, 9),
    ],
)
def test_lists_agree_with_the_plain_parser(tmp_path: Path, name: str, sentences: int, features: int) -> None:
    lists = read(DATA / name)
    expected = parse(gzip.decompress((DATA / name).read_bytes()).decode("utf-8"), strict=True)
    assert not expected.faults
    assert len(lists) == sentences
    assert len(lists.feature_names) == features
    assert lists.corpus.edges + lists.duplicates == len(expected.rows)
    seen: dict[tuple[str, str, tuple[float, ...]], int] = {}
    for row in expected.rows:
        values = tuple(row.features.get((feature, 0), 0.0) for feature in lists.feature_names)
        seen[row.id, row.text, values] = seen.get((row.id, row.text, values), 0) + 1
    found = {}
    for sentence in range(len(lists)):
        for number in range(lists.corpus.sentence_edges[sentence], lists.corpus.sentence_edges[sentence + 1]):
            key = (str(sentence), lists.text(number), tuple(lists.corpus.features.matrix()[number].tolist()))
            found[key] = int(np.asarray(lists.copies)[number])
    assert found == seen
    pack(lists, tmp_path / "p")
    np.testing.assert_array_equal(open_packed(tmp_path / "p").corpus.features.matrix(), lists.corpus.features.matrix())


def test_weights_have_the_features_of_the_lists() -> None:
    weights = read_weights(DATA / "de_en" / "decoding.weights")
    lists = read(DATA / "de_en" / "nbest.txt.gz")
    assert set(weights) == set(lists.feature_names)
    assert lists.scores is not None
    products = lists.corpus.features.matrix() * np.array([weights[name] for name in lists.feature_names])
    rounding = 0.5e-5 * (np.abs(products).sum(axis=1) + np.abs(lists.scores))  # all were written with six digits
    assert np.all(np.abs(products.sum(axis=1) - lists.scores) <= rounding)


# Forests.


DE_EN, CDEC = DATA / "de_en", DATA / "cdec_two_forests"
ORIGIN = {
    "WordPenalty": 4.25, "LanguageModel": -1.1165, "PhraseModel_0": -0.96, "PhraseModel_1": -0.65,
    "PhraseModel_2": -0.77, "PassThrough": -10.0,
}  # fmt: skip
WORD = float(np.log10(np.e))
"""The penalty of one word, of which the files have some digits."""


def read_one(path: Path) -> Forest:
    (named,) = read_forest_text(path, EVERYTHING, Vocabulary())
    return named.forest


def test_decoding_gives_what_the_decoder_printed() -> None:
    """Rank 1 of the n-best list, but for ties."""
    lines = (DE_EN / "decoding.weights").read_text(encoding="utf-8").splitlines()
    weights = {name: float(value) for name, value in (line.split() for line in lines)}
    lists = read(DE_EN / "nbest.txt.gz")
    files = sorted((DE_EN / "forests").glob("*.hg.gz"))
    assert len(files) == 150
    same = 0
    for file in files:
        forest = read_one(file)
        chosen, printed = (
            {name: weights[name] for name in forest.feature_names},
            hypothesis(lists, int(file.name[:4]), 0),
        )
        if decode(forest, chosen, threads=1).outputs()[0][0] == printed:
            same += 1
        else:
            first, second = kbest(forest, chosen, 2, distinct=True)[0]
            assert " ".join(second.tokens) == printed
            assert second.score == pytest.approx(first.score, rel=1e-15)
    assert same >= 142


@cache
def along_the_word_penalty(number: int, exact: bool) -> Envelope:
    """The envelope of one of the two forests from ORIGIN along WordPenalty, as written or with exact word counts."""
    forest = read_one(CDEC / f"{number}.hg.gz")
    penalty = forest.feature_names.index("WordPenalty")
    scale = 1.0
    if exact:
        words = np.diff(np.concatenate([[0], np.cumsum(forest.labels >= 0)])[forest.label_offsets])
        values = forest.features.toarray()
        assert np.allclose(values[:, penalty], words * WORD, atol=1e-5)
        values[:, penalty] = words
        forest = replace(forest, features=DenseFeatures(np.asfortranarray(values)))
        scale = WORD
    origin = {name: ORIGIN.get(name, 0.0) for name in forest.feature_names}
    origin["WordPenalty"] *= scale
    return envelope(forest, origin, {"WordPenalty": scale})


def test_the_two_forests_of_cdec_have_their_known_envelopes() -> None:
    one, two = along_the_word_penalty(0, exact=True), along_the_word_penalty(1, exact=True)
    assert (one.forest.nodes, one.forest.edges, two.forest.nodes, two.forest.edges) == (351, 1027, 2198, 14142)
    assert (len(one), len(two)) == (7, 20)
    # Decimals that differ in their last digit split equal slopes.
    assert len(along_the_word_penalty(0, exact=False)) > 7
    assert len(along_the_word_penalty(1, exact=False)) > 20


def test_the_best_interval_is_there_and_decoding_in_it_gives_its_outputs() -> None:
    envelopes = [along_the_word_penalty(number, exact=True) for number in (0, 1)]
    breakpoints = np.unique(np.concatenate([each.breakpoints for each in envelopes]))
    right = int(np.searchsorted(breakpoints, -7.31069))
    assert breakpoints[right - 1 : right + 1] == pytest.approx([-8.186, -6.436], abs=5e-4)
    assert breakpoints[right - 1 : right + 1].mean() == pytest.approx(-7.31069, abs=2e-5)
    for number, exact in enumerate(envelopes):
        forest = read_one(CDEC / f"{number}.hg.gz")
        weights = {name: ORIGIN.get(name, 0.0) for name in forest.feature_names}
        weights["WordPenalty"] += -7.31069
        tokens = exact.tokens(exact.index_at(-7.31069))
        assert decode(forest, weights, threads=1).outputs()[0][0] == " ".join(tokens)
