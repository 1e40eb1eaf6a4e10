"""Real lists, where they lie beside the checkout."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from hulltune import read
from hulltune.formats import open_packed, pack, read_weights
from tests.formats.moses_oracle import parse

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
