"""Tuning over forests: the same answers as over lists, more where there is more to choose from."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import (
    Constraints,
    Corpus,
    Forest,
    InputError,
    Reranker,
    TuneResult,
    read,
    rerank,
    score,
    tune,
)
from hulltune.errors import Note
from hulltune.formats import pack
from hulltune.lines.derivations import kbest
from hulltune.tuning.strategies import STRATEGIES
from tests.formats.test_slf_variants import SCALED
from tests.lists import as_forests
from tests.tuning.corpora import (
    FOREST_FEATURES,
    QUICK,
    quick_search,
    random_forests,
    random_lists,
)


def outcome(result: TuneResult) -> dict[str, Any]:
    """A result without its times."""
    if result.certificate is not None:
        result = dataclasses.replace(result, certificate=dataclasses.replace(result.certificate, seconds=0.0))
    return {**dataclasses.asdict(result), "seconds": 0.0, "timings": {}}


@pytest.mark.parametrize("search", STRATEGIES)
@pytest.mark.parametrize("metric", ["wer", "bleu"])
def test_lists_as_forests_give_the_same_result_to_the_bit(search: str, metric: str) -> None:
    lists = random_lists(1, empty=True)
    options = {**QUICK, "metric": metric, "search": quick_search(search), "also": ["cer"], "folds": 3}
    assert outcome(tune(as_forests(lists), **options)) == outcome(tune(lists, **options))


@pytest.mark.parametrize("metric", ["wer", "bleu", "chrf"])
def test_decoding_with_the_weights_gives_the_score(metric: str) -> None:
    forests, references = random_forests(4)
    result = tune(forests, references, **{**QUICK, "metric": metric})
    assert score(forests, result, references, metric=metric) == result.score
    texts = rerank(forests, result)
    records = [
        {"refs": [reference], "candidates": [{"text": text, "features": {"x": 1.0}}]}
        for text, reference in zip(texts, references, strict=True)
    ]
    assert score(records, {"x": 1.0}, metric=metric) == result.score


def test_all_kinds_of_the_same_data() -> None:
    forests, references = random_forests(5, sentences=6)
    expected = outcome(tune(forests, references, **QUICK))
    for given in (Corpus.pack(forests), read(forests), [[forest] for forest in forests]):
        assert outcome(tune(given, references, **QUICK)) == expected
    model = Reranker(**QUICK).fit(forests, references)
    assert model.predict(forests) == rerank(forests, expected["weights"])
    assert model.score(forests, references) == -expected["score"]


def test_a_union_is_as_good_as_either(tmp_path: Path) -> None:
    """What one of the forests of a sentence can put out, their union can."""
    first, references = random_forests(6)
    second = random_forests(60)[0]
    both = list(zip(first, second, strict=True))
    weights = {"lm": 1.0, "tm": 0.5, "length": 0.2}
    for mine, other, together in zip(first, second, rerank(both, weights), strict=True):
        assert together in rerank([mine, other], weights)
    result = tune(both, references, **QUICK)
    assert result.candidates == sum(forest.edges for pair in both for forest in pair) + 2 * len(first)
    doubled = tune([(forest, forest) for forest in first], references, **QUICK)
    assert doubled.score == tune(first, references, **QUICK).score


def test_lists_and_forests_together(tmp_path: Path) -> None:
    forests, references = random_forests(9)
    pieces = list(read(forests).corpus)
    extracted = kbest(Corpus.pack(forests), [1.0, 1.0, 0.0], 6, distinct=True)
    mixed: list[Forest] = []
    for i, forest in enumerate(pieces):
        few = extracted[i]
        rows = [[d.features[name] for name in FOREST_FEATURES] for d in few]
        as_list = Forest.from_nbest([list(d.tokens) for d in few], rows, feature_names=FOREST_FEATURES)
        mixed.append(as_list if i % 3 == 0 else forest)
    result = tune(mixed, references, **QUICK)
    assert score(mixed, result, references, metric="wer") == result.score
    assert result.oracle is not None
    assert result.oracle <= result.score


def test_options_of_tuning_hold_for_forests() -> None:
    forests, references = random_forests(10)
    more, unseen = random_forests(11)
    result = tune(
        forests, references, heldout=read(more, unseen), replicates=2,
        constraints=Constraints(fix={"length": 0.1}, sign={"lm": "+"}), **{**QUICK, "also": ["bleu", "cer"]},
    )  # fmt: skip
    assert result.weights["length"] == 0.1
    assert result.weights["lm"] >= 0
    assert result.heldout is not None
    assert result.heldout.sentences == len(more)
    assert result.heldout.score == score(more, result, unseen, metric="wer")
    assert result.heldout.baseline == score(more, result.start, unseen, metric="wer")
    assert result.replicates is not None
    assert set(result.without) == set(FOREST_FEATURES)
    for signature, (_, after) in result.others.items():
        assert after == score(forests, result, references, metric=signature.split("|")[0])


def test_a_sentence_without_derivations_is_an_empty_output() -> None:
    forests, references = random_forests(13, sentences=4)
    empty = Forest.from_nbest([], np.zeros((0, 3)), feature_names=FOREST_FEATURES)
    result = tune([*forests, empty], [*references, "a b"], **QUICK)
    assert rerank([*forests, empty], result)[-1] == ""
    assert result.sentences == 5
    with pytest.raises(InputError, match="no sentence has a derivation"):
        tune([empty], ["a"], **QUICK)


def test_faults_are_named(tmp_path: Path) -> None:
    forests, references = random_forests(14, sentences=3)
    with pytest.raises(InputError, match="3 sentences, but 2 reference lines"):
        tune(forests, references[:2])
    with pytest.raises(InputError, match="expected a Forest"):
        tune([*forests, "x"], [*references, "a"])
    with pytest.raises(InputError, match="no references"):
        tune(forests)
    other = read([Forest.from_nbest(["a"], [[1.0]], feature_names=["other"])], ["a"])
    with pytest.raises(InputError, match="have none of the features"):
        tune(forests, references, heldout=other, **QUICK)
    with pytest.raises(InputError, match="no references"):
        tune(forests, references, heldout=forests, **QUICK)


def test_held_out_lists_beside_forests_have_their_own_references() -> None:
    """Reference line i is for list i; a line without a list is one of an empty output, as it is for lists alone."""
    forests, references = random_forests(14, sentences=3)
    features = [dict.fromkeys(FOREST_FEATURES, 0.5), dict.fromkeys(FOREST_FEATURES, 1.5)]
    lists = [{"candidates": [{"text": text, "features": f} for text, f in zip("ab", features, strict=True)]}] * 2
    with pytest.raises(InputError, match="go up to sentence id 1, but there are only 1 reference lines"):
        tune(forests, references, heldout=read(lists, ["a"]), **QUICK)
    for lines in (2, 3, 4):
        result = tune(forests, references, heldout=read(lists).matched((("a",),) * lines), **QUICK)
        assert result.heldout is not None
        assert result.heldout.sentences == lines
        assert result.heldout.baseline == (lines - 2) / lines


def test_the_baseline_of_lattices_is_what_their_header_picks(tmp_path: Path) -> None:
    best = "a c"
    for number in range(3):
        (tmp_path / f"{number}.slf").write_text(SCALED.format(scales="lmscale=0.25", number=number))
    found = read(tmp_path)
    assert found.model == {"acoustic": 1.0, "language": 0.25, "words": 0.0}
    unseen = read([[found.corpus[0]]], [best])
    result = tune(found, [best] * 3, heldout=unseen, **QUICK)
    assert (result.baseline, result.baseline_kind) == (0.0, "the choice of the files' own scales")
    assert result.heldout is not None
    assert result.heldout.baseline == 0.0
    assert tune(found, [best] * 3, folds=2, **QUICK).folds.baseline == 0.0  # type: ignore[union-attr]
    pack(found, tmp_path / "packed.hull")
    assert read(tmp_path / "packed.hull").model == found.model
    # Weights that are given stand for the decoder's.
    worst = tune(found, [best] * 3, start={"acoustic": -1.0, "language": -1.0, "words": 0.0}, **QUICK)
    assert (worst.baseline > 0.0, worst.baseline_kind) == (True, "the start weights' choice")


def test_files_that_do_not_agree_have_no_weights_in_common(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"{number}.slf").write_text(SCALED.format(scales=f"lmscale={number + 1}", number=0))
    with pytest.warns(Note, match=r"the files have different scales \(1\.0 and 2\.0 for language\)"):
        assert read(tmp_path).model is None
    assert read(tmp_path / "1.slf").model == {"acoustic": 1.0, "language": 2.0, "words": 0.0}
    assert read(tmp_path / "1.slf", negate=True).model is None
    (tmp_path / "1.slf").write_text(SCALED.format(scales="lmscale=loud", number=0))
    assert read(tmp_path / "1.slf").model is None
    (tmp_path / "1.slf").write_text(SCALED.format(scales="lmscale=2 base=10 wdpenalty=-1", number=0))
    assert read(tmp_path / "1.slf").model == {"acoustic": 1.0, "language": 2.0, "words": -math.log(10)}
