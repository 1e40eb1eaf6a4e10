from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import tune
from hulltune.errors import InputError
from hulltune.metrics.given import Given, ScoreTable

scores = st.floats(-100, 100)


@given(st.lists(st.tuples(st.lists(st.just("w"), max_size=5), scores), min_size=1, max_size=6))
def test_means_weighted_by_sentence_and_by_tokens(corpus: list[tuple[list[str], float]]) -> None:
    outputs = [" ".join(words) for words, _ in corpus]
    values = [value for _, value in corpus]
    table = ScoreTable(range(len(corpus)), outputs, values)
    lengths = [len(words) for words, _ in corpus]
    references = [["r " * (k + 1)] for k in range(len(corpus))]
    for weight, weights in [
        ("sentence", [1] * len(corpus)),
        ("tokens", lengths),
        ("reference_tokens", list(range(1, len(corpus) + 1))),
    ]:
        metric = Given(scores=table, weight=weight)
        rows = metric.prepare(references).statistics(np.arange(len(corpus)), outputs)
        total = sum(weights)
        expected = sum(w * v for w, v in zip(weights, values, strict=True)) / total if total else 0.0
        assert float(metric.score(rows.sum(axis=0))) == pytest.approx(expected, abs=1e-9)


def test_direction_is_an_option() -> None:
    table = ScoreTable([0], ["a"], [3.0])
    assert Given(scores=table).loss(np.array([3.0, 1.0])) == -3.0
    assert Given(scores=table, higher_is_better=False).loss(np.array([3.0, 1.0])) == 3.0


def test_no_references_are_needed() -> None:
    metric = Given(scores=ScoreTable([1], ["a"], [0.5]))
    assert metric.prepare([[], []]).statistics(np.array([1]), ["a"]).tolist() == [[0.5, 1.0]]
    with pytest.raises(InputError, match="given: sentence 0 has no reference"):
        Given(scores=ScoreTable([], [], []), weight="reference_tokens").prepare([[]])


def test_an_output_without_a_score_is_named() -> None:
    prepared = Given(scores=ScoreTable([0], ["a"], [1.0])).prepare([["r"], ["r"]])
    with pytest.raises(InputError, match="no score for the output 'a' of sentence 1"):
        prepared.statistics(np.array([1]), ["a"])


def test_files(tmp_path: Path) -> None:
    lines = tmp_path / "scores.jsonl"
    entries = [{"sentence": 0, "output": "a\tb", "score": 1}, {"sentence": 1, "output": "é", "score": -0.5}]
    lines.write_text("\n".join(map(json.dumps, entries)) + "\n\n", encoding="utf-8")
    table = tmp_path / "scores.tsv"
    table.write_text("0\t1\ta\tb\n1\t-0.5\té\n", encoding="utf-8")
    for path in (lines, str(table)):
        metric = Given(scores=path)
        assert dict(metric.table) == {(0, "a\tb"): 1.0, (1, "é"): -0.5}
    assert Given(scores=lines).signature == Given(scores=table).signature
    assert repr(metric.table) == "ScoreTable(2 scores)"


def test_the_signature_follows_the_scores() -> None:
    one, same, other = (ScoreTable([0], ["a"], [x]) for x in (1.0, 1.0, 2.0))
    assert Given(scores=one).signature == Given(scores=same).signature != Given(scores=other).signature


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.jsonl", '{"sentence": 0}', r's.jsonl:1: expected {"sentence"'),
        ("s.jsonl", '{"sentence": true, "output": "a", "score": 1}', r"s.jsonl:1: expected"),
        ("s.jsonl", '\n{"sentence"', "s.jsonl:2: is not JSON"),
        ("s.tsv", "0\tx\ta", "s.tsv:1: expected sentence, score and output between tabs"),
        ("s.tsv", "0\t1\ta\n0\t2\ta", r"s.tsv:2: sentence 0 has the output 'a' twice, with 1.0 and 2.0"),
        ("s.tsv", "0\tnan\ta", "s.tsv:1: the score is nan; expected a finite number"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        Given(scores=tmp_path / name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.tsv: no such file"):
        Given(scores=tmp_path / "nowhere.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"0\t1\t\xe9\n")
    with pytest.raises(InputError, match=r"latin\.tsv:1: not UTF-8"):
        Given(scores=tmp_path / "latin.tsv")


def test_bad_options() -> None:
    table = ScoreTable([], [], [])
    with pytest.raises(InputError, match="did you mean 'tokens'"):
        Given(scores=table, weight="token")
    with pytest.raises(InputError, match="1 sentence, 1 output and 0 scores"):
        ScoreTable([0], ["a"], [])


def test_scores_too_large_to_be_added_are_refused() -> None:
    candidates = [{"text": "a", "features": {"f": 1.0, "q": 1e308}}, {"text": "b", "features": {"f": 2.0, "q": 1.0}}]
    with pytest.raises(
        InputError, match=r"'a' for sentence 0 are \[1e\+308, 1.0\]; expected finite numbers of at most"
    ):
        tune([{"candidates": candidates}] * 3, metric="mean:column=q")
