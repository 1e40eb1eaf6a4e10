"""Tuning on real lists, kept short: known baselines, sensible gains, and one command from file to weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hulltune import Climb, Constraints, read, score, tune

DATA = Path(__file__).parents[2] / "../shared/data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="real data (../shared/data) is not there")

QUICK: dict[str, Any] = {"search": Climb(restarts=3), "also": (), "oracle": False}


def test_hansard() -> None:
    lists = read(DATA / "fr_en/nbest.moses.gz")
    result = tune(lists, DATA / "fr_en/refs.txt", metric="bleu:tokenize=none", **QUICK)
    assert result.baseline == pytest.approx(18.66, abs=0.005)  # the decoder's own order
    assert result.score > 19.80  # the weights that came with the lists


def test_speech() -> None:
    lists = read(DATA / "asr_tts/nbest.txt.gz")
    references = DATA / "asr_tts/refs.txt"
    constraints = Constraints(fix={"am": 1.0}, sign={"lm3": "+"})
    result = tune(lists, references, metric="wer", search=Climb(restarts=2), constraints=constraints, also=())
    assert result.baseline == pytest.approx(0.165, abs=0.0005)
    assert result.score < 0.157  # better than a coarse grid
    assert result.oracle == pytest.approx(0.069, abs=0.0005)
    assert result.weights["am"] == 1.0
    assert result.weights["lm3"] >= 0.0
    assert score(lists, result, references, metric="wer") == result.score


def test_alignments() -> None:
    lists = DATA / "alignments_en_fr/nbest.txt.gz"
    result = tune(lists, DATA / "alignments_en_fr/gold.txt", metric="aer:reference_offset=1", **QUICK)
    assert result.score < result.baseline
    assert result.score < 0.06
