"""Real lattices: PocketSphinx's SLF and ucam-smt's sparse tuples."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hulltune.data import Corpus, Forest, Vocabulary
from hulltune.formats.forest_files import ForestOptions, NamedForest
from hulltune.formats.openfst import looks_like, read_openfst
from hulltune.formats.slf import looks_like as looks_like_slf
from hulltune.formats.slf import read_slf
from hulltune.formats.word_rules import SPEECH
from hulltune.lines.compute import decode
from hulltune.metrics import Wer
from tests.formats.lattice_oracles import slow_slf

DATA = Path(__file__).parents[2] / "../shared/data"
SLF, LATTICES = DATA / "asr_tts/slf", DATA / "ru_en_lattices"
needs_slf = pytest.mark.skipif(not SLF.exists(), reason=f"the SLF lattices are not there ({SLF})")
needs_lattices = pytest.mark.skipif(not LATTICES.exists(), reason=f"the lattices are not there ({LATTICES})")


@pytest.fixture(scope="module")
def utterances() -> list[NamedForest]:
    vocabulary = Vocabulary()
    ids = (DATA / "asr_tts/ids.txt").read_text().split()
    return [next(iter(read_slf(SLF / f"{name}.slf.gz", ForestOptions(), vocabulary))) for name in ids]


@needs_slf
def test_pocketsphinx_lattices(utterances: list[NamedForest]) -> None:
    ids = (DATA / "asr_tts/ids.txt").read_text().split()
    assert [named.name for named in utterances] == ids
    assert {named.forest.feature_names for named in utterances} == {("acoustic", "language", "words")}
    links = sum(named.forest.edges + named.forest.pruned.edges - 1 for named in utterances)
    declared = 0
    for name in ids:
        text = gzip.decompress((SLF / f"{name}.slf.gz").read_bytes())
        assert looks_like_slf(text[:65536])
        declared += int(text.split(b"L=")[1].split()[0])
    assert links == declared == 164_186
    words = set(utterances[0].forest.vocabulary.tokens)
    assert not any(SPEECH.drops(word) or "(" in word for word in words)
    assert "'em" in words


@needs_slf
def test_decoding_them_gives_the_error_rate_of_the_decoder(utterances: list[NamedForest]) -> None:
    references = (DATA / "asr_tts/refs.txt").read_text().splitlines()
    corpus = Corpus.pack([named.forest for named in utterances])
    weights = {"acoustic": 1.0, "language": 9.0, "words": -10.0}
    outputs = [texts[0] for texts in decode(corpus, weights).outputs()]
    metric = Wer()
    statistics = metric.prepare([[reference] for reference in references]).statistics(np.arange(len(outputs)), outputs)
    assert 0.15 < float(metric.score(statistics.sum(axis=0))) < 0.20


@needs_slf
def test_the_links_are_those_of_a_slow_reader() -> None:
    for file in sorted(SLF.iterdir())[:10]:
        lattice, names = slow_slf(gzip.decompress(file.read_bytes()).decode(), SPEECH.drops)
        forest = next(iter(read_slf(file, ForestOptions(), Vocabulary()))).forest
        assert forest.feature_names == names
        assert not forest.pruned.edges
        rows = forest.features.toarray().tolist()
        found = [
            (forest.vocabulary.words(forest.labels[first + 1 : last].tolist()), tuple(row))
            for (first, last), row in zip(pairwise(forest.label_offsets[1:].tolist()), rows[1:], strict=True)
        ]
        expected = [((word,) if word is not None else (), row) for _, _, word, row in lattice.arcs]
        order = (forest.edge_ids[1:] - 1).tolist()
        assert found == [expected[link] for link in order]


@pytest.fixture(scope="module")
def translations() -> list[Forest]:
    vocabulary = Vocabulary()
    files = [LATTICES / f"{number}.fst.gz" for number in range(1, 51)]
    return [next(iter(read_openfst(file, ForestOptions(), vocabulary))).forest for file in files]


@needs_lattices
def test_the_lattices_with_sparse_tuples(translations: list[Forest]) -> None:
    assert len(translations) == 50
    assert {forest.feature_names for forest in translations} == {tuple(f"f{key}" for key in range(1, 13))}
    arcs = [forest.edges + forest.pruned.edges - 1 for forest in translations]
    assert 2500 < np.mean(arcs) < 3500
    assert all(forest.features.values.dtype == np.float32 for forest in translations)
    tokens = set(translations[0].vocabulary.tokens)
    assert tokens.isdisjoint({"0", "1", "2"})
    assert looks_like(gzip.decompress((LATTICES / "1.fst.gz").read_bytes())[:100])


@needs_lattices
def test_their_best_paths_are_translations(translations: list[Forest]) -> None:
    """With the weights that came with them, hypotheses share many tokens with the references; line i is lattice i."""
    weights = [float(value) for value in (LATTICES / "params.0").read_text().replace(",", " ").split()]
    references = (LATTICES / "refs").read_text().splitlines()
    outputs = [texts[0] for texts in decode(Corpus.pack(translations), weights).outputs()]
    assert len(references) == len(outputs)

    def overlap(order: list[int]) -> float:
        shared = [
            len(set(outputs[i].split()) & set(references[j].split())) / max(len(set(references[j].split())), 1)
            for i, j in enumerate(order)
        ]
        return float(np.mean(shared))

    own, shifted = list(range(50)), [(i + 1) % 50 for i in range(50)]
    assert overlap(own) > 0.5 > 2 * overlap(shifted)
