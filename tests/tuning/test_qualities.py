"""Quality that is told by candidate: columns of tables, keys of JSON lines, features of any format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import (
    Certified,
    Climb,
    Forest,
    InputError,
    Problem,
    best_reachable,
    compare,
    line_search,
    metric_plane,
    metric_surface,
    read,
    rerank,
    score,
    tune,
    write,
)
from hulltune.errors import Note
from hulltune.formats import write_jsonl
from hulltune.formats.packed import open_packed, pack
from hulltune.metrics import Accuracy, ColumnRatio, Given, get_metric
from tests.cli.running import run, run_json

QUICK: dict[str, Any] = {"search": Climb(restarts=3), "threads": 1}


def records(seed: int, *, whole: bool = True) -> list[dict[str, Any]]:
    """Lists in which texts repeat, with different features and different quality."""
    rng = np.random.default_rng(seed)
    found = []
    for name in range(15):
        candidates = []
        for _ in range(6):
            good = float(rng.integers(2)) if whole else float(rng.normal())
            features = {"lm": float(rng.normal()), "reward": float(rng.normal() + good), "correct": good}
            candidates.append({"text": f"t{rng.integers(3)}", "features": features})
        found.append({"id": f"q{name}", "candidates": candidates})
    return found


def mean_of_picks(lists: list[dict[str, Any]], weights: dict[str, float]) -> float:
    """The mean quality of the candidates with the highest sums, one by one."""
    values = []
    for record in lists:
        sums = [sum(weights[name] * c["features"][name] for name in weights) for c in record["candidates"]]
        values.append(record["candidates"][int(np.argmax(sums))]["features"]["correct"])
    return float(np.mean(values))


@pytest.mark.parametrize("whole", [True, False])
def test_the_score_is_the_mean_of_the_picked_candidates(whole: bool) -> None:
    lists = records(1, whole=whole)
    result = tune(lists, metric=Given(column="correct"), **QUICK)
    assert set(result.weights) == {"lm", "reward"}
    assert result.score == pytest.approx(mean_of_picks(lists, dict(result.weights)), abs=1e-12)
    assert result.baseline == pytest.approx(
        np.mean([record["candidates"][0]["features"]["correct"] for record in lists]), abs=1e-12
    )
    best = np.mean([max(c["features"]["correct"] for c in record["candidates"]) for record in lists])
    assert result.oracle == pytest.approx(best, abs=1e-12)
    assert best_reachable(lists, metric=Given(column="correct")).score == pytest.approx(best, abs=1e-12)
    assert score(lists, result, metric="mean:column=correct") == result.score
    assert len(rerank(lists, result)) == len(lists)


def test_lower_may_be_better_and_accuracy_is_the_mean_of_0_and_1() -> None:
    lists = records(2)
    worst = tune(lists, metric="mean:column=correct,higher_is_better=no", **QUICK)
    best = tune(lists, metric="accuracy:column=correct", **QUICK)
    assert worst.score < best.score
    assert best.score == tune(lists, metric="mean:column=correct", **QUICK).score
    with pytest.raises(InputError, match=r"accuracy: column 'reward' has .*; expected 0 or 1 \(mean:column=reward"):
        tune(lists, metric=Accuracy(column="reward"))
    with pytest.raises(InputError, match="normalize is for texts, and column says what is right"):
        Accuracy(column="correct", normalize="lower")


def test_equal_texts_keep_their_own_quality() -> None:
    same = {"text": "a", "features": {"f": 1.0}}
    lists = read([{"candidates": [{**same, "good": 0}, {**same, "good": 1}, {**same, "good": 1}]}])
    assert lists.corpus.edges == 2  # the third is the second again
    assert lists.qualities["good"].tolist() == [0.0, 1.0]
    problem = Problem.of(lists, "mean:column=good")
    rows = problem.rows(np.array([0, 1]))
    assert problem.table[rows].tolist() == [[0, 1], [1, 1]]
    assert problem.table.dtype == np.int64


def test_a_sum_with_a_metric_of_texts() -> None:
    lists = [{**record, "refs": ["t1"]} for record in records(3)]
    problem = Problem.of(read(lists), "0.5*mean:column=correct + 0.5*accuracy")
    numbers = problem.rows(np.arange(problem.corpus.edges))  # first: the table grows
    rows = problem.table[numbers]
    candidates = [c for record in lists for c in record["candidates"]]
    assert rows[:, 0].tolist() == [c["features"]["correct"] for c in candidates]
    assert rows[:, 2].tolist() == [int(c["text"] == "t1") for c in candidates]
    assert problem.feature_names == ("lm", "reward")


def test_the_certified_search_and_the_line_search_read_columns_too() -> None:
    lists = records(4)
    pytest.importorskip("scipy")
    proven = tune(lists, metric="mean:column=correct", search="certified")
    assert proven.certificate is not None
    assert proven.score >= tune(lists, metric="mean:column=correct", **QUICK).score
    step = line_search(lists, {"reward": 1.0}, {"lm": 1.0}, metric="mean:column=correct")
    weights = dict(zip(("lm", "reward"), step.weights.tolist(), strict=True))
    assert -step.loss == pytest.approx(mean_of_picks(lists, weights), abs=1e-12)


def counted_records(seed: int) -> list[dict[str, Any]]:
    """Lists whose candidates have counts: of edits, of characters, of items that are right."""
    rng = np.random.default_rng(seed)
    found = []
    for name in range(8):
        candidates = []
        for number in range(4):
            numbers = {
                "edits": int(rng.integers(0, 9)),
                "chars": int(rng.integers(1, 20)),
                "right": int(rng.integers(5)),
            }
            features = {"lm": float(rng.normal()), "am": float(rng.normal() - numbers["edits"] / 4)}
            candidates.append({"text": f"t{number}", "features": features, **numbers})
        found.append({"id": f"q{name}", "candidates": candidates})
    return found


def picked_sums(lists: list[dict[str, Any]], weights: dict[str, float], *columns: str) -> list[float]:
    """The sums of some columns over the candidates with the highest sums, one by one."""
    sums = dict.fromkeys(columns, 0.0)
    for record in lists:
        totals = [sum(weights[name] * c["features"][name] for name in weights) for c in record["candidates"]]
        for name in columns:
            sums[name] += record["candidates"][int(np.argmax(totals))][name]
    return list(sums.values())


def test_a_ratio_of_sums_of_columns() -> None:
    """Corpus CER from counts, and F1 as twice the hits divided by two columns."""
    lists, weights = counted_records(1), {"lm": 0.5, "am": 1.0}
    edits, chars, right = picked_sums(lists, weights, "edits", "chars", "right")
    assert score(lists, weights, metric="ratio:errors=edits,of=chars") == edits / chars
    assert score(lists, weights, metric="2*ratio:hits=right,of=chars+edits") == 2 * right / (chars + edits)
    assert score(lists, weights, metric=ColumnRatio(hits="right", of=("chars", "edits"))) == right / (chars + edits)
    problem = Problem.of(read(lists), "ratio:errors=edits,of=chars")
    problem.rows(np.arange(problem.corpus.edges))
    assert problem.table.dtype == np.int64
    assert problem.feature_names == ("lm", "am")


def test_a_mean_weighted_by_a_column() -> None:
    lists, weights = counted_records(2), {"lm": 0.5, "am": 1.0}
    for record in lists:
        for candidate in record["candidates"]:
            candidate["cer"] = candidate["edits"] / candidate["chars"]
    edits, chars = picked_sums(lists, weights, "edits", "chars")
    metric = "mean:column=cer,weight_column=chars,higher_is_better=no"
    assert score(lists, weights, metric=metric) == pytest.approx(edits / chars, abs=1e-12)
    result = tune(lists, metric=metric, **QUICK)
    assert set(result.weights) == {"lm", "am"}
    assert get_metric(metric).signature.startswith("mean|column:cer|weight:column chars|higher_is_better:no")


@pytest.mark.parametrize("metric", ["ratio:errors=edits,of=chars", "ratio:hits=right,of=chars"])
def test_ratios_are_certified(metric: str) -> None:
    """No weights on a circle, between all places where a pick changes, are better than the certified ones."""
    pytest.importorskip("scipy")
    lists = counted_records(3)
    proven = tune(lists, metric=metric, search=Certified(gap=0))
    assert proven.certificate is not None
    assert proven.certificate.is_optimal
    assert score(lists, proven, metric=metric) == proven.score
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    found = [score(lists, {"lm": np.sin(a), "am": np.cos(a)}, metric=metric) for a in angles]
    assert proven.score == (max(found) if "hits" in metric else min(found))


def test_sums_of_nothing() -> None:
    for options, expected in (({"errors": "a"}, 3.0), ({"hits": "a"}, 0.0)):
        metric = ColumnRatio(of="b", **options)
        assert metric.score(np.array([[3, 0], [3, 4]])).tolist() == [expected, 0.75]


def test_held_out_data() -> None:
    lists, others = records(5), records(6)
    result = tune(lists, metric="mean:column=correct", heldout=others, **QUICK)
    assert result.heldout is not None
    assert result.heldout.score == pytest.approx(mean_of_picks(others, dict(result.weights)), abs=1e-12)


def test_comparisons_surfaces_and_ranges_read_columns_too() -> None:
    lists, metric = records(9), "mean:column=correct"
    old, new = {"lm": 1.0, "reward": 0.0}, {"lm": 0.25, "reward": 1.0}
    found = compare(lists, old, new, metric=metric)
    assert found.old_score == pytest.approx(mean_of_picks(lists, old), abs=1e-15)
    assert found.new_score == pytest.approx(mean_of_picks(lists, new), abs=1e-15)
    assert any(change.old.text == change.new.text and change.gain for change in found.changes)
    assert not any("correct" in change.reasons for change in found.changes)
    for change in found.changes:
        candidates = lists[change.sentence]["candidates"]
        assert change.old.index is not None
        assert change.new.index is not None
        better = candidates[change.new.index]["features"]["correct"]
        worse = candidates[change.old.index]["features"]["correct"]
        assert change.gain == pytest.approx((better - worse) / len(lists), abs=1e-15)
    surface = metric_surface(lists, new, "lm", metric=metric)
    for weight in (-1.5, 0.1, 0.75):
        place = int(np.searchsorted(surface.breakpoints, weight))
        expected = mean_of_picks(lists, {"lm": weight, "reward": 1.0})
        assert surface.scores[place] == pytest.approx(expected, abs=1e-15)
    plane = metric_plane(lists, new, ("lm", "reward"), metric=metric, rows=3)
    assert plane.certificate.value >= mean_of_picks(lists, new) - 1e-12
    result = tune(lists, metric=metric, **QUICK)
    assert result.sensitivity is not None
    assert set(result.sensitivity.ranges) == {"lm", "reward"}


def test_a_key_of_a_candidate_is_no_feature_and_is_kept(tmp_path: Path) -> None:
    lists = [
        {"id": 0, "candidates": [{"text": "a", "features": {"f": 1}, "right": True, "note": "x"}]},
        {"id": 2, "candidates": [{"text": "b", "features": {"f": 2}, "right": False, "some": 3}]},
    ]
    found = read(lists)
    assert found.feature_names == ("f",)
    assert found.qualities["right"].tolist() == [1.0, 0.0]
    write_jsonl(found, tmp_path / "a.jsonl")
    pack(found, tmp_path / "a.hull")
    for again in (read(tmp_path / "a.jsonl"), open_packed(tmp_path / "a.hull")):
        assert again.qualities["right"].tolist() == [1.0, 0.0]
        assert score(again, {"f": 1.0}, metric="mean:column=right") == 0.5  # the id between them has no list
    with pytest.warns(Note, match="moses has no room for right, some, which are no features: left out"):
        write(found, tmp_path / "a.moses")
    assert found.take(np.array([2])).qualities["right"].tolist() == [0.0]
    with pytest.raises(InputError, match="column 'some': the candidate 'a' of sentence 0 has no number there"):
        tune(found, metric="mean:column=some")


def test_the_total_score_as_quality_chooses_nothing() -> None:
    candidates = [{"text": "a", "score": 0, "features": {"f": 1}}, {"text": "b", "score": 5, "features": {"f": 2}}]
    lists = read([{"candidates": candidates}])
    assert lists.first_choices.tolist() == [1]
    moved = lists.with_qualities(["score"])
    assert (moved.first_choices.tolist(), moved.scores, moved.qualities["score"].tolist()) == ([0], None, [0.0, 5.0])


def test_features_of_any_list_may_be_the_quality(tmp_path: Path) -> None:
    path = tmp_path / "a.moses"
    path.write_text("0 ||| a ||| lm= 1 good= 0 ||| 1\n0 ||| b ||| lm= 2 good= 3 ||| 0\n")
    assert score(path, {"lm": 1.0}, metric="mean:column=good") == 3.0
    assert score(path, {"lm": -1.0}, metric="mean:column=good") == 0.0


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("mean:column=corect", "unknown column of the candidates 'corect'; did you mean 'correct'?"),
        ("mean", "write mean:column=NAME, or given:scores=FILE"),
        ("ratio:errors=reward,of=correct", "column 'reward': has -"),
        ("ratio:errors=correct,of=lm", "expected counts or weights, 0 or more"),
        ("mean:column=correct,weight_column=lm", "expected counts or weights, 0 or more"),
        ("mean:column=correct,weight=tokens,weight_column=lm", "weight_column is for the numbers of a column, in the"),
        ("ratio:of=correct", "write ratio:errors=NAME,of=NAME"),
        (
            "ratio:errors=lm,hits=correct,of=correct",
            "expected a column of errors (or of hits) and a column to divide by",
        ),
        ("ratio:errors=correct", "write ratio:errors=NAME,of=NAME"),
        ("ratio:errors=corect,of=lm", "unknown column of the candidates 'corect'; did you mean 'correct'?"),
        ("mean:column=correct,scores=x", "expected either a column of the candidates or a file of scores"),
    ],
)
def test_mistakes(metric: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        tune(records(1), metric=metric)
    assert message in str(caught.value)


def test_missing_numbers_are_no_zeros(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text,lm,good\n0,a,1,1\n0,b,2,\n")
    with pytest.raises(InputError, match="column 'good': 1 candidate without it; expected a number for each"):
        tune(read(path, missing=0), metric="mean:column=good")


def test_forests_and_loops_have_no_columns() -> None:
    forest = Forest.from_lattice([(0, 1, "a", [1.0]), (0, 1, "b", [2.0])], start=0, finals=[1], feature_names=["f"])
    with pytest.raises(InputError, match="column 'f': belongs to the candidates of lists, and these are forests"):
        tune([forest], metric="mean:column=f")
    with pytest.raises(InputError, match="told by candidate, not by text"):
        get_metric("mean:column=f").prepare([[]])
    from hulltune import tune_loop

    with pytest.raises(InputError, match="metric: reads the column 'f' of candidates"):
        tune_loop(lambda weights: [], ["a"], metric="mean:column=f", start={"f": 1.0}, folder="nowhere")


class TestWithoutReferences:
    """Metrics that need no references never ask for them."""

    def write(self, folder: Path) -> Path:
        path = folder / "c.csv"
        lines = ["id,text,lm,reward,correct"]
        for record in records(7):
            for c in record["candidates"]:
                values = c["features"]
                lines.append(f"{record['id']},{c['text']},{values['lm']},{values['reward']},{bool(values['correct'])}")
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_a_column(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path, weights = str(self.write(tmp_path)), str(tmp_path / "w.json")
        metric = ("--metric", "mean:column=correct")
        found = run_json(capsys, "tune", path, *metric, "--json", "-q", "-o", weights, "--restarts", "2")
        assert set(found["weights"]) == {"lm", "reward"}
        assert run_json(capsys, "score", path, *metric, "-w", weights, "--json")["score"] == found["score"]
        assert run_json(capsys, "score", path, "--oracle", *metric, "--json")["score"] == found["oracle"]
        described = run_json(capsys, "info", path, *metric, "--json")
        assert described["scores"]["baseline"] == found["baseline"]
        code, out, _ = run(capsys, "info", path, *metric)
        assert "numbers that are no features, for --metric mean:column=NAME: correct\n" in out
        code, out, _ = run(capsys, "surface", path, *metric, "-w", weights, "--feature", "lm")
        assert (code, out.splitlines()[0]) == (0, "from,to,score")
        code, out, _ = run(capsys, "rerank", path, "-w", weights)
        assert len(out.splitlines()) == 15

    def test_gaps_between_ids_do_not_shift_scores(self, tmp_path: Path) -> None:
        lists = [{"id": 1, "candidates": [{"text": "a", "features": {"f": 1}}]},
                 {"id": 4, "candidates": [{"text": "b", "features": {"f": 1}}]}]  # fmt: skip
        scores = tmp_path / "s.tsv"
        scores.write_text("1\t2\ta\n4\t5\tb\n")
        assert score(lists, {"f": 1.0}, metric=f"given:scores={scores}") == 3.5

    def test_other_metrics_still_need_them(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no references: the lists carry none"):
            tune(self.write(tmp_path), metric="0.5*mean:column=correct + 0.5*accuracy")
        with pytest.raises(InputError, match="no references: the lists carry none"):
            tune(self.write(tmp_path), metric=Given(column="correct", weight="reference_tokens"))
