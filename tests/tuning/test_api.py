"""The public functions: what they accept, what they answer, and that what they report is what reranking gives."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hulltune
from hulltune import Climb, Coordinate, InputError, Reranker, TuneResult, read, rerank, score, tune
from hulltune.formats import write_jsonl, write_weights
from hulltune.metrics import Ask, Store, Unanswered, import_answers
from hulltune.tuning.picks import Reranked
from tests.tuning.corpora import QUICK, random_lists, random_records


def texts_of(records: list[dict[str, Any]]) -> list[str]:
    return [record["refs"][0] for record in records]


def test_reranking_scores_what_is_reported_whatever_computes_it() -> None:
    lists = random_lists(2, empty=True)
    result = tune(lists, **QUICK)
    assert score(lists, result, metric="wer") == result.score
    outputs = rerank(lists, result.weights)
    assert [text == "" for text in outputs] == [sentence % 5 == 2 for sentence in range(12)]
    from jiwer import wer

    references = [texts[0] for texts in lists.references or ()]
    assert wer(references, outputs) == pytest.approx(result.score, abs=1e-15)


def test_references_from_anywhere(tmp_path: Path) -> None:
    records = random_records(3)
    lists = random_lists(3)
    texts = texts_of(records)
    (tmp_path / "refs.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    given: list[Any] = [None, str(tmp_path / "refs.txt"), tmp_path / "refs.txt", [tmp_path / "refs.txt"], texts]
    given += [[[text] for text in texts]]
    results = [tune(lists, references, **QUICK) for references in given]
    assert len({(tuple(result.weights.items()), result.score) for result in results}) == 1
    with pytest.raises(InputError, match=r"give several files as pathlib.Path objects"):
        tune(lists, [str(tmp_path / "refs.txt")], **QUICK)
    with pytest.raises(InputError, match="got an empty sequence"):
        tune(lists, [], **QUICK)
    with pytest.raises(InputError, match="only 2 reference lines"):
        tune(lists, ["a", "b"], **QUICK)


def test_lists_from_records_and_from_files(tmp_path: Path) -> None:
    records = random_records(5)
    lists = random_lists(5)
    write_jsonl(lists, tmp_path / "lists.jsonl")
    expected = tune(lists, **QUICK)
    for given in (records, str(tmp_path / "lists.jsonl"), [tmp_path / "lists.jsonl"]):
        assert tune(given, **QUICK).weights == expected.weights
    with pytest.raises(InputError, match="records:12: got 'x'; expected a mapping"):
        hulltune.read([*records, "x"])
    with pytest.raises(InputError, match="expected at least one file, got none"):
        hulltune.read([])


def test_a_sentence_of_which_nothing_is_known_is_left_out() -> None:
    records = random_records(6)
    gap = [record for record in records if record["id"] != 4]
    assert tune(gap, **QUICK).sentences == 11
    known = [{**record, "candidates": []} if record["id"] == 4 else record for record in records]
    assert tune(known, **QUICK).sentences == 12


def test_start_from_a_mapping_a_sequence_a_file_and_a_result(tmp_path: Path) -> None:
    lists = random_lists(7)
    weights = {"f0": 0.5, "f1": -0.25, "f2": 0.25}
    write_weights(weights, tmp_path / "w.ini")
    starts: list[Any] = [weights, list(weights.values()), tmp_path / "w.ini", str(tmp_path / "w.ini")]
    results = [tune(lists, start=start, **QUICK) for start in starts]
    assert all(result.start == weights for result in results)
    assert len({tuple(result.weights.values()) for result in results}) == 1
    assert results[0].start_score == score(lists, weights, metric="wer")
    again = tune(lists, start=results[0], **QUICK)
    assert again.start == results[0].weights
    assert again.score <= results[0].score


def test_held_out_lists_are_matched_by_the_names_of_features() -> None:
    lists = random_lists(8)
    unseen = random_lists(9)
    result = tune(lists, heldout=unseen, **QUICK)
    assert result.heldout is not None
    assert result.heldout.score == score(unseen, result, metric="wer")
    turned = [
        {**record, "candidates": [
            {**candidate, "features": {"extra": 1.0, **dict(reversed(candidate["features"].items()))}}
            for candidate in record["candidates"]
        ]}
        for record in random_records(9)
    ]  # fmt: skip
    assert tune(lists, heldout=turned, **QUICK).heldout == result.heldout
    lacking = [
        {
            **record,
            "candidates": [{"text": c["text"], "features": {"f0": 1.0}} for c in record["candidates"]],
        }
        for record in random_records(9)
    ]
    with pytest.raises(InputError, match="records: no feature 'f1', which the lists that are tuned on have"):
        tune(lists, heldout=lacking, **QUICK)
    both = tune(lists, heldout=unseen, folds=2, **QUICK)
    assert (both.heldout, both.folds) == (result.heldout, tune(lists, folds=2, **QUICK).folds)


def test_folds_score_every_sentence_once() -> None:
    lists = random_lists(10)
    result = tune(lists, folds=3, **QUICK)
    assert result.folds is not None
    assert result.folds.sentences == 12
    assert result.folds.baseline == result.baseline
    with pytest.raises(InputError, match="folds: expected 2 to 12"):
        tune(lists, folds=13, **QUICK)
    with pytest.raises(InputError, match="folds: got 2, but there is only one sentence; expected at least two"):
        tune(random_lists(1, sentences=1), folds=2, **QUICK)


def test_replicates_are_the_runs_of_further_seeds() -> None:
    lists, unseen = random_lists(11), random_lists(12)
    options = {**QUICK, "search": Climb(restarts=0, directions=6), "heldout": unseen}
    result = tune(lists, replicates=3, seed=5, **options)
    alone = [tune(lists, seed=seed, **options) for seed in (5, 6, 7)]
    assert result.replicates is not None
    assert result.replicates.seeds == (5, 6, 7)
    assert result.replicates.scores == tuple(run.score for run in alone)
    assert result.replicates.heldout_scores == tuple(run.heldout.score for run in alone if run.heldout)
    assert result.replicates.mean == pytest.approx(np.mean(result.replicates.scores))
    assert result.replicates.deviation == pytest.approx(np.std(result.replicates.scores, ddof=1))
    assert (result.weights, result.score) == (alone[0].weights, alone[0].score)
    with pytest.raises(InputError, match="replicates: expected a whole number of at least 1, got 0"):
        tune(lists, replicates=0, **QUICK)


def test_other_metrics_are_those_of_the_same_picks() -> None:
    lists = random_lists(13)
    result = tune(lists, **{**QUICK, "also": ("cer", "accuracy", "wer")})
    assert [name.partition("|")[0] for name in result.others] == ["cer", "accuracy"]
    for name, (_, after) in zip(("cer", "accuracy"), result.others.values(), strict=True):
        assert after == score(lists, result, metric=name)
    automatic = tune(lists, **{**QUICK, "also": None})
    assert [name.partition("|")[0] for name in automatic.others] == ["bleu", "chrf", "ter"]
    assert not tune(lists, **{**QUICK, "also": None, "metric": "accuracy"}).others


def test_progress_ends_with_all_starts_and_the_final_score() -> None:
    steps: list[hulltune.Progress] = []
    result = tune(random_lists(15), progress=steps.append, replicates=2, **QUICK)
    assert (steps[-1].starts_done, steps[-1].starts) == (8, 8)
    assert [step.starts_done for step in steps] == sorted(step.starts_done for step in steps)
    assert min(step.best_score for step in steps) <= result.score
    assert steps[0].baseline == result.baseline


def test_a_result_is_frozen_and_survives_saving(tmp_path: Path) -> None:
    result = tune(random_lists(16), folds=2, replicates=2, **QUICK)
    loaded = TuneResult.load(result.save(tmp_path / "r.json"))
    assert loaded == result
    assert (loaded.outputs, loaded.picks, loaded.summary()) == (None, (), result.summary())
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(AttributeError):
        result.score = 0.0  # type: ignore[misc]  # that is the point
    assert result.timings.keys() == {"reading", "searching", "describing"}
    assert 0.0 < sum(result.timings.values()) <= result.seconds
    assert result.version == hulltune.__version__
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["seed"] == 1
    with pytest.raises(InputError, match=r"missing\.json: no such file"):
        TuneResult.load(tmp_path / "missing.json")
    with pytest.raises(InputError, match=r"r\.json: cannot be written"):
        result.save(tmp_path / "missing" / "r.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a result: no JSON"),
        ("\xff", "not a result: no JSON"),
        ("[" * 100_000, "not a result: no JSON"),
        ("[]", 'not a result of this version; expected "format": "hulltune result 1", got null'),
        ('{"format": "other"}', 'expected "format": "hulltune result 1", got "other"'),
        ('{"format": "hulltune result 1"}', "not a result of this version; expected 'weights' in it"),
    ],
)
def test_a_file_that_is_no_result_says_so(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "b.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        TuneResult.load(tmp_path / "b.json")
    assert str(caught.value).startswith(f"{tmp_path / 'b.json'}: ")


def test_a_judge_is_not_asked_again_for_the_score(tmp_path: Path) -> None:
    def judge(questions: list[dict[str, Any]]) -> list[int]:
        judge.asked += len(questions)  # type: ignore[attr-defined]
        return [len(question["output"].split()) for question in questions]

    judge.asked = 0  # type: ignore[attr-defined]
    metric, lists = Ask(judge=judge), random_lists(17)
    result = tune(lists, metric=metric, search=Coordinate(restarts=0), oracle=False, store=tmp_path / "s.sqlite")
    asked = judge.asked  # type: ignore[attr-defined]
    assert asked
    assert score(lists, result, metric=metric, store=tmp_path / "s.sqlite") == result.score
    assert judge.asked == asked  # type: ignore[attr-defined]


def test_a_metric_that_asks_is_asked_for_no_more_than_the_search_needs(tmp_path: Path) -> None:
    records = random_records(18, sentences=3, candidates=6)
    options: dict[str, Any] = {
        "metric": Ask(question="how many words are right?"), "search": Coordinate(restarts=0), "threads": 1,
        "store": tmp_path / "answers.sqlite", "questions": tmp_path / "questions.jsonl",
    }  # fmt: skip
    asked, questions_match = 0, []
    for _ in range(30):
        try:
            result = tune(records, **options)
            break
        except Unanswered as waiting:
            lines = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text("utf-8").splitlines()]
            questions_match.append(len(lines) == len(waiting.questions))
            asked += len(lines)
            for line in lines:
                words = zip(line["output"].split(), line["references"][0].split(), strict=True)
                line["answer"] = sum(a == b for a, b in words)
            (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
            with Store(tmp_path / "answers.sqlite") as store:
                import_answers(store, tmp_path / "questions.jsonl")
    assert questions_match
    assert all(questions_match)
    assert result.oracle is None
    assert result.sensitivity is None
    assert not result.without
    with Store(tmp_path / "answers.sqlite") as store:
        assert store.count(result.metric) == asked
        assert not store.questions()


class TestReranker:
    def test_fit_predict_score(self) -> None:
        records = random_records(19)
        model = Reranker(**QUICK).fit(records)
        assert model.predict(records) == rerank(records, model.weights_)
        assert model.score(records) == -model.result_.score  # of WER: the higher is the better one
        assert model.fit(random_lists(19), texts_of(records)).score(records) == -model.result_.score

    def test_parameters(self) -> None:
        model = Reranker(metric="wer", replicates=2)
        options = [p for p in inspect.signature(tune).parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert model.get_params() == {p.name: p.default for p in options} | {"metric": "wer", "replicates": 2}
        assert model.set_params(seed=3) is model
        assert repr(model) == "Reranker(metric='wer', seed=3, replicates=2)"
        with pytest.raises(InputError, match="unknown option of Reranker 'replicate'; did you mean 'replicates'"):
            model.set_params(replicate=2)
        with pytest.raises(ValueError, match="call fit first"):
            model.predict(random_records(1))

    def test_items_of_x_and_y_belong_together_whatever_the_ids(self) -> None:
        records = random_records(19)
        named = [{**record, "id": 5 * place + 2} for place, record in enumerate(records)]
        references = texts_of(records)
        model = Reranker(**QUICK).fit(named, references)
        assert model.weights_ == Reranker(**QUICK).fit(records).weights_
        assert len(model.predict(named)) == len(records)
        part = read(records)[np.arange(3, 9)]
        assert model.score(part, references[3:9]) == model.score(records[3:9], references[3:9])
        with pytest.raises(InputError, match="y: references for 2 lists, and X has 6; expected one for each"):
            model.score(records[3:9], references[:2])


def test_weights_of_other_features_are_refused() -> None:
    lists = random_lists(21)
    for function in (rerank, score):
        with pytest.raises(InputError, match="unknown feature in weights: 'lm'"):
            function(lists, {"lm": 1.0})


def test_a_name_that_lists_leave_out_may_be_absent_from_held_out_lists() -> None:
    """With features that are written only where they are not 0, a whole file may lack some."""
    records = random_records(22)
    for record in records:
        record["candidates"][0]["features"]["rare"] = 1.0
    lists = hulltune.read(records, missing=0)
    result = tune(lists, heldout=random_lists(22), **QUICK)
    assert result.heldout is not None
    plain = {name: weight for name, weight in result.weights.items() if name != "rare"}
    assert result.heldout.score == score(random_lists(22), plain, metric="wer")


@pytest.mark.parametrize("of", ["another text", "other weights"])
def test_a_result_that_reranking_does_not_confirm_is_not_returned(of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = random_lists(24)
    weights = tune(lists, **QUICK).weights
    texts = rerank(lists, weights)
    wrong = rerank(lists, {name: -weight for name, weight in weights.items()})
    if of == "another text":
        wrong = Reranked([*texts[:3], "something else", *texts[4:]])
    place = next(place for place in range(len(texts)) if texts[place] != wrong[place])
    monkeypatch.setattr(importlib.import_module("hulltune.tuning.tune"), "rerank", lambda *_, **__: wrong)
    message = f"weights picks {wrong[place]!r} for sentence {place}, but the search had {texts[place]!r}"
    with pytest.raises(RuntimeError, match=message):
        tune(lists, **QUICK)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [([{"text": "a"}, {"text": "b"}], "the candidates have no features"), ([], "no sentence has a candidate")],
)
def test_lists_without_anything_to_tune(candidates: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tune([{"refs": ["a"], "candidates": candidates}], **QUICK)
