"""The loop with functions as decoders: when it stops, what it reports, and that nothing it says is a prediction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import hulltune
from hulltune import Climb, Dataset, Forest, InputError, Problem, read, score, tune_loop
from hulltune.data import Member
from hulltune.data.joining import Piece, joined
from hulltune.loop import LoopProgress, LoopResult
from hulltune.loop.hypotheses import united, winning_outputs
from hulltune.loop.result import ITERATIONS, NO_NEW_WINNERS, NOTHING_NEW, SMALL_GAIN
from hulltune.search import shards
from hulltune.tuning.evaluation import paired_bootstrap
from hulltune.tuning.inputs import as_dataset
from tests.loop.decoders import NAMES, SENTENCES, START, moses_text, references, shown
from tests.loop.piece_decoders import decode_to_forests

QUICK: dict[str, Any] = {"metric": "wer", "search": Climb(restarts=3), "threads": 1}


def without_times(result: LoopResult) -> LoopResult:
    rounds = tuple(dataclasses.replace(r, seconds_decoding=0.0, seconds_tuning=0.0) for r in result.iterations)
    return dataclasses.replace(result, iterations=rounds, seconds=0.0)


def test_the_loop_improves_what_the_decoder_puts_out_and_reports_what_it_reached() -> None:
    asked: list[Mapping[str, float]] = []

    def decoder(weights: Mapping[str, float]) -> list[dict[str, Any]]:
        asked.append(dict(weights))
        return shown(weights)

    result = tune_loop(decoder, references(), start=START, iterations=8, **QUICK)
    assert result.stopped in (NOTHING_NEW, NO_NEW_WINNERS, SMALL_GAIN)
    assert [record.weights for record in result.iterations] == asked
    assert result.start == START
    assert result.score < result.start_score - 0.1
    assert result.score == min(record.score for record in result.iterations)
    for record in result.iterations:  # every score is that of the decoder's own first choices
        first = [r["candidates"][0]["text"] for r in shown(record.weights)]
        lists = [{"candidates": [{"text": text, "features": {"x": 1.0}}]} for text in first]
        assert record.score == score(lists, {"x": 1.0}, references(), metric="wer")
    sizes = [record.size for record in result.iterations]
    assert sizes == sorted(sizes)
    assert sum(record.new for record in result.iterations) == sizes[-1]
    for earlier, later in zip(result.iterations[:-1], result.iterations[1:], strict=True):
        assert later.weights == earlier.tuned


def test_a_decoder_that_always_shows_the_same_stops_the_loop_at_the_second_look() -> None:
    same = read(shown({"a": 1.0}, size=60))
    result = tune_loop(lambda weights: same, references(), start=START, **QUICK)
    assert result.stopped == NOTHING_NEW
    assert len(result.iterations) == 2
    assert result.iterations[1].new == 0
    assert result.iterations[1].tuned is None


def test_new_hypotheses_that_win_nowhere_stop_it_too() -> None:
    calls = 0

    def decoder(weights: Mapping[str, float]) -> list[dict[str, Any]]:
        nonlocal calls
        calls += 1
        records = shown({"a": 1.0}, size=60)
        if calls > 1:  # something new, but inside of the hull of the rest
            for record in records:
                rows = [candidate["features"] for candidate in record["candidates"]]
                middle = {name: sum(row[name] for row in rows) / len(rows) for name in NAMES}
                record["candidates"].append({"text": f"never {calls}", "features": middle})
        return records

    result = tune_loop(decoder, references(), start=START, **QUICK)
    assert result.stopped == NO_NEW_WINNERS
    assert len(result.iterations) == 2
    assert result.iterations[1].new == 12
    assert result.iterations[1].new_winners == 0


def test_the_last_weights_are_decoded_with_even_if_there_is_no_time_to_tune_again() -> None:
    result = tune_loop(shown, references(), start=START, iterations=1, **QUICK)
    assert result.stopped == ITERATIONS
    assert len(result.iterations) == 2
    assert result.iterations[1].tuned is None
    assert result.iterations[1].weights == result.iterations[0].tuned
    assert result.best == 2


def test_a_gain_that_is_too_small_stops_it() -> None:
    result = tune_loop(shown, references(), start=START, least_gain=0.9, **QUICK)
    assert result.stopped == SMALL_GAIN
    assert len(result.iterations) == 1
    assert result.weights == START


def test_a_regularised_loop_stays_near_the_weights_of_its_decodings(tmp_path: Path) -> None:
    def looped(regularise: float | None) -> LoopResult:
        folder = tmp_path / str(regularise)
        return tune_loop(shown, references(), start=START, iterations=2, regularise=regularise, folder=folder, **QUICK)

    plain, huge = looped(None), looped(1e9)
    assert huge.iterations[0].tuned is not None
    assert plain.iterations[0].tuned is not None
    before = np.array([START[name] for name in NAMES])

    def moved(result: LoopResult) -> float:
        tuned = np.array([(result.iterations[0].tuned or {})[name] for name in NAMES])
        return float(1.0 - before @ tuned / np.linalg.norm(before) / np.linalg.norm(tuned))

    assert moved(huge) < 1e-9 < moved(plain)
    with pytest.raises(InputError, match="regularise"):  # the run in this folder has another strength
        tune_loop(shown, references(), start=START, regularise=0.5, folder=tmp_path / "1000000000.0", **QUICK)


def test_held_out_sentences_are_decoded_with_the_first_and_the_best_weights() -> None:
    asked: list[Mapping[str, float]] = []

    def unseen(weights: Mapping[str, float]) -> list[dict[str, Any]]:
        asked.append(dict(weights))
        return shown(weights, seed=2)

    result = tune_loop(
        shown, references(), start=START, heldout=unseen, heldout_references=references(2), iterations=4, **QUICK
    )
    assert asked == [START, dict(result.weights)]
    assert result.heldout is not None
    assert result.heldout.tuned < result.heldout.start
    decoded = [read(shown(weights, seed=2), references(2)) for weights in asked]
    problems = [Problem.of(one, "wer") for one in decoded]
    rows = [problem.baseline().statistics for problem in problems]
    assert result.heldout.gain == paired_bootstrap(problems[0].metric, *rows, seed=1)
    assert result.heldout.gain.low < result.heldout.start - result.heldout.tuned < result.heldout.gain.high
    assert f"95%: {result.heldout.gain.low:+.4f} to {result.heldout.gain.high:+.4f}" in result.summary()


def test_the_quick_way_to_winners_gives_those_of_the_envelopes(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.of(as_dataset(shown({"a": 1.0}, size=60), references()), "wer")
    weights, others = np.array([0.2, 0.7, -0.1]), np.array([1.0, 0.0, 0.3])
    quick = winning_outputs(problem, weights, others)
    monkeypatch.setattr(shards, "list_segments", lambda *arguments: None)
    assert quick == winning_outputs(problem, weights, others)
    assert len(quick) > 24
    forests = Problem.of(as_dataset(decode_to_forests({"a": 1.0}, range(SENTENCES)), references()), "wer")
    lists = Problem.of(as_dataset(shown({"a": 1.0}), references()), "wer")
    assert winning_outputs(forests, weights) == winning_outputs(lists, weights)


def test_forests_of_several_iterations_are_one_and_equal_ones_count_once() -> None:
    decode = partial(decode_to_forests, inputs=range(SENTENCES))
    first, second = read(decode(START)), read(decode({"b": 1.0}))
    both = united([first, second, first])
    assert len(both) == len(first)
    assert all(len(both.members_of(sentence)) <= 2 for sentence in range(len(both)))
    once = united([first, first])
    assert once.corpus.edges == first.corpus.edges
    outputs = {word for forest in both.corpus for word in forest.vocabulary.tokens}
    assert outputs >= set(first.corpus.vocabulary.tokens) | set(second.corpus.vocabulary.tokens)
    for weights in (START, {"b": 1.0}):
        best = score(both, {**dict.fromkeys(NAMES, 0.0), **weights}, references(), metric="wer")
        alone = score(decode(weights), {**dict.fromkeys(NAMES, 0.0), **weights}, references(), metric="wer")
        assert best == alone  # what either found is there


def test_progress_tells_each_iteration_and_what_moved() -> None:
    steps: list[LoopProgress] = []
    result = tune_loop(shown, references(), start=START, iterations=2, progress=steps.append, **QUICK)
    done = [step.record for step in steps if step.stage == "done"]
    assert tuple(done) == result.iterations
    assert {step.stage for step in steps} == {"decoding", "tuning", "done"}
    assert any(step.tuning is not None for step in steps)
    moved = result.iterations[0].moved()
    assert "a" in moved
    assert moved["a"][0] == 1.0
    changes = [abs(after - before) for before, after in moved.values()]
    assert changes == sorted(changes, reverse=True)


def test_a_result_survives_a_file(tmp_path: Path) -> None:
    result = tune_loop(
        shown, references(), start=START, iterations=1, heldout=shown, heldout_references=references(), **QUICK
    )
    path = result.save(tmp_path / "result.json")
    assert LoopResult.load(path) == result
    assert hulltune.read_weights(path) == result.weights
    (tmp_path / "part.json").write_text('{"format": "hulltune loop result 1", "weights": {}}')
    with pytest.raises(InputError, match="not the result of a loop of this version; expected 'score' in it"):
        LoopResult.load(tmp_path / "part.json")


def test_the_summary_tells_gains_that_are_positive_when_better() -> None:
    result = tune_loop(
        shown, references(), start=START, iterations=2, heldout=shown, heldout_references=references(), **QUICK
    )
    assert not result.higher_is_better
    assert result.score < result.start_score
    gain = f"{result.start_score - result.score:+.4f}"
    lines = result.summary().splitlines()
    assert ["", "start", "tuned", "gain"] in [line.split("  ")[:1] + line.split() for line in lines]
    row = next(line.split() for line in lines if line.startswith("tuning set"))
    assert row[2:] == [f"{result.start_score:.4f}", f"{result.score:.4f}", gain]
    assert repr(result) == (
        f"LoopResult(wer {result.start_score:.4f} → {result.score:.4f}, 3 iterations, 12 sentences, "
        f"stopped: {result.stopped})"
    )
    tree = ElementTree.fromstring(f"<div>{result._repr_html_().replace('<br>', '<br/>')}</div>")
    cells = [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]
    assert ["tuning set", f"{result.start_score:.4f}", f"{result.score:.4f}", gain] in cells
    assert [row[0] for row in cells[-len(result.weights) :]] == list(result.weights)


def test_features_come_and_go() -> None:
    """A weight without a feature stays as it is; a feature without a weight starts from 0."""

    def decoder(weights: Mapping[str, float]) -> list[dict[str, Any]]:
        assert weights["hidden"] == 7.0
        return shown(weights)

    result = tune_loop(decoder, references(), start={"a": 1.0, "hidden": 7.0}, iterations=2, **QUICK)
    assert set(result.iterations[-1].weights) == {"a", "b", "c", "hidden"}


def test_files_that_a_function_names_are_kept(tmp_path: Path) -> None:
    def decoder(weights: Mapping[str, float]) -> Path:
        path = tmp_path / "the one file.nbest"
        path.write_text(moses_text(weights))
        return path

    result = tune_loop(decoder, references(), start=START, iterations=2, folder=tmp_path / "run", **QUICK)
    for number in range(1, len(result.iterations) + 1):
        kept = list((tmp_path / "run" / f"iter-{number:03d}").glob("output*"))
        assert len(kept) == 1
        assert read(kept[0]).corpus.edges == 60
    with pytest.raises(InputError, match="no such file, but the decoder named it"):
        tune_loop(lambda weights: tmp_path / "nothing", references(), start=START, **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations: expected a whole number of at least 1, got 0"),
        ({"least_gain": -1.0}, "least_gain: expected a number of at least 0, got -1.0"),
        ({"start": [1.0, 2.0]}, "start: expected weights by name"),
        ({"heldout": shown}, "give both or none"),
        ({"metric": "bleux"}, "unknown metric"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tune_loop(shown, references(), **{"start": START, **options})
    with pytest.raises(InputError, match="references: the loop needs them"):
        tune_loop(shown, None, start=START)


def losing(lost: set[int], decoded_with: list[Mapping[str, float]]) -> Callable[[Mapping[str, float]], Dataset]:
    """A decoder of forests that gives no output for some sentences, from the second call on."""

    def decoder(weights: Mapping[str, float]) -> Dataset:
        decoded_with.append(weights)
        pieces = [
            Piece(number, forest, Member("memory"))
            for number, forest in enumerate(decode_to_forests(weights, range(SENTENCES)))
            if len(decoded_with) == 1 or number not in lost
        ]
        return joined(pieces, ids_by="name")

    return decoder


@pytest.mark.parametrize("lasting", [True, False])
def test_a_sentence_that_the_decoder_loses_counts_as_an_empty_output(lasting: bool, tmp_path: Path) -> None:
    lost, calls = {3, 7, 11}, list[Mapping[str, float]]()
    options: dict[str, Any] = {**QUICK, "start": START, "iterations": 1}
    options |= {"heldout": losing(lost, [{}]), "heldout_references": references()}
    options |= {"folder": tmp_path / "run"} if lasting else {}
    result = tune_loop(losing(lost, calls), references(), **options)
    assert [record.empty for record in result.iterations] == [0, 3]
    for record in result.iterations:
        texts = [r["candidates"][0]["text"] for r in shown(record.weights)]
        kept = [text for number, text in enumerate(texts) if record.number == 1 or number not in lost]
        empty = len(references()) - len(kept)
        lists = [{"candidates": [{"text": text, "features": {"x": 1.0}}]} for text in kept]
        lines = [text for number, text in enumerate(references()) if record.number == 1 or number not in lost]
        errors = score(lists, {"x": 1.0}, lines, metric="wer") * 6 * len(kept) + 6 * empty  # 6 words a line
        assert record.score == pytest.approx(errors / 6 / len(references()), rel=1e-12)
    assert result.empty == result.iterations[result.best - 1].empty
    assert result.heldout is not None
    assert result.heldout.start_empty == result.heldout.tuned_empty == 3
    if lasting:  # read again from the folder, it is the same
        again = tune_loop(losing(lost, calls), references(), **options)
        assert without_times(again) == without_times(result)
        assert len(calls) == 2
        assert [len(read(tmp_path / "run" / f"iter-00{n}" / "output.hull")) for n in (1, 2)] == [12, 12]


def test_forests_by_order_must_be_complete() -> None:
    with pytest.raises(InputError, match="11 sentences, but 12 reference lines"):
        tune_loop(lambda weights: decode_to_forests(weights, range(1, SENTENCES)), references(), start=START, **QUICK)
    result = tune_loop(
        lambda weights: [[], *([forest] for forest in decode_to_forests(weights, range(1, SENTENCES)))],
        references(), start=START, iterations=1, **QUICK,
    )  # fmt: skip
    assert result.iterations[0].empty == 1


def test_output_that_weights_cannot_choose_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"it has none of the features that the weights are for \(x, y\); its features are a, b, c"
    ):
        tune_loop(shown, references(), start={"x": 1.0, "y": 2.0}, **QUICK)
    folder = tmp_path / "run"
    with pytest.raises(InputError, match="no sentence has more than one candidate"):
        tune_loop(lambda weights: shown(weights, size=1), references(), start=START, folder=folder, **QUICK)
    alone = [Forest.from_nbest(["x y"], [[1.0, 2.0, 3.0]], feature_names=NAMES)] * 12
    with pytest.raises(InputError, match="no sentence has more than one candidate"):
        tune_loop(lambda weights: alone, references(), start=START, **QUICK)
    repaired = tune_loop(  # one candidate is enough where nothing is tuned
        shown, references(), start=START, folder=folder, iterations=1,
        heldout=lambda weights: shown(weights, size=1), heldout_references=references(), **QUICK,
    )  # fmt: skip
    assert repaired.heldout is not None
    assert repaired.heldout.tuned == repaired.score
