"""A loop that is killed, anywhere, goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import importlib
import linecache
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hulltune import Climb, Constraints, InputError, Reading, tune_loop
from hulltune.loop import LoopResult
from hulltune.metrics import Metric
from tests.loop.decoders import START, references, shown
from tests.loop.runs import PYTHON, is_running, kill_at, loop_line, told_places, wait_until
from tests.loop.test_loop import without_times

OPTIONS: dict[str, Any] = {
    "start": START,
    "metric": "wer",
    "search": Climb(restarts=2, directions=6),
    "threads": 1,
    "iterations": 3,
}


def loop(folder: Path | None, decoded: list[int], **options: Any) -> LoopResult:
    def decoder(weights: Any) -> Any:
        decoded.append(1)
        return shown(weights, size=3)

    return tune_loop(
        decoder,
        references(),
        folder=folder,
        **{"heldout": decoder, "heldout_references": references(), **OPTIONS, **options},
    )


def test_killed_at_every_place_it_ends_as_if_nothing_had_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    places, found = told_places(monkeypatch, lambda: loop(tmp_path / "whole", decoded))
    expected = without_times(found)
    assert len(places) > 20
    assert without_times(loop(None, [])) == expected
    for number, place in enumerate(places):
        folder, again = tmp_path / f"killed-{number}", list[int]()
        kill_at(monkeypatch, number, partial(loop, folder, again))
        assert without_times(loop(folder, again)) == expected, place
        lost = 1 if place.startswith("after decoding") else 0  # decoded, but its folder had no name yet
        assert len(again) == len(decoded) + lost, place


def test_a_draft_of_the_first_state_does_no_harm(tmp_path: Path) -> None:
    """What a run leaves that was killed while it wrote its first state."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".state.json.1a2b3c4d.unfinished").write_text("{")
    assert without_times(loop(tmp_path / "run", [])) == without_times(loop(None, []))


def test_a_longer_run_goes_on_from_a_shorter_one(tmp_path: Path) -> None:
    decoded: list[int] = []
    short = loop(tmp_path / "run", decoded, iterations=1)
    assert short.stopped == "iterations"
    before = len(decoded)
    longer = loop(tmp_path / "run", decoded, iterations=3)
    assert without_times(longer) == without_times(loop(None, []))
    assert len(longer.iterations) > len(short.iterations)
    done = len(decoded)
    assert before < done
    assert without_times(loop(tmp_path / "run", decoded, iterations=3)) == without_times(longer)
    assert len(decoded) == done  # all was known


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 2}, "another seed"),
        ({"metric": "cer"}, "another metric"),
        ({"start": {"a": 2.0}}, "another start"),
        ({"search": Climb(restarts=3)}, "another search"),
        ({"constraints": Constraints(fix={"a": 1.0})}, "other constraints"),
        ({"settings": {"input": "x"}}, "another input"),
        ({"reading": Reading(missing=0)}, "another reading"),
    ],
)
def test_another_run_is_not_mixed_into_a_folder(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    loop(tmp_path / "run", [], iterations=1)
    with pytest.raises(InputError, match=message):
        loop(tmp_path / "run", [], **options)


def test_an_edited_metric_does_not_go_on_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its signature is the same; so its version counts, or its code."""

    def edited(line: str) -> Metric:
        (tmp_path / "mine.py").write_text(f"from hulltune.metrics import Wer\n\n\nclass Mine(Wer):\n    {line}\n")
        monkeypatch.delitem(sys.modules, "mine", raising=False)
        linecache.clearcache()
        importlib.invalidate_caches()
        metric: Metric = importlib.import_module("mine").Mine()
        return metric

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would be taken for that of the edited file
    for number, (before, now) in enumerate((("a = 1", "a = 2"), ('version = "1"', 'version = "2"'))):
        loop(tmp_path / f"run-{number}", [], metric=edited(before), iterations=1)
        loop(tmp_path / f"run-{number}", [], metric=edited(before), iterations=1)
        with pytest.raises(InputError, match="another code of the metric"):
            loop(tmp_path / f"run-{number}", [], metric=edited(now), iterations=1)


def test_other_held_out_references_are_not_scored_in_a_folder(tmp_path: Path) -> None:
    others = ["another", *references()[1:]]
    loop(tmp_path / "run", [], iterations=1)
    with pytest.raises(InputError, match="another heldout_references"):
        loop(tmp_path / "run", [], iterations=1, heldout_references=others)


def test_folders_that_are_no_run(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="neither an empty folder nor that of a run"):
        loop(tmp_path / "full", [])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "state.json").write_text('{"format": ')
    with pytest.raises(InputError, match="not the state of a run"):
        loop(tmp_path / "broken", [])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made a folder"):
        loop(tmp_path / "file", [])


def test_two_loops_do_not_share_a_folder(tmp_path: Path) -> None:
    def decoder(weights: Any) -> Any:
        with pytest.raises(InputError, match="another loop is at work"):
            tune_loop(shown, references(), folder=tmp_path / "run", **OPTIONS)
        return shown(weights)

    tune_loop(decoder, references(), folder=tmp_path / "run", **{**OPTIONS, "iterations": 1})


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_an_interrupt_ends_with_the_best_so_far_and_the_decoder_with_it(tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "pid").mkdir()
    program = tmp_path / "decode.py"
    program.write_text(
        "import os, sys, time, json\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from tests.loop.decoders import main\n"
        "iteration = int(sys.argv[3])\n"
        "if iteration == 2:\n"
        "    child = os.fork()\n"
        f"    if not child: open({str(tmp_path / 'pid')!r} + f'/{{os.getpid()}}', 'w').close(); time.sleep(60)\n"
        f"    open({str(tmp_path / 'pid')!r} + f'/{{os.getpid()}}', 'w').close()\n"
        "    time.sleep(60)\n"
        "main(*sys.argv[1:3])\n"
    )
    decoder = f"{PYTHON} {program} {{weights}} {{output}} {{iteration}}"
    out = tmp_path / "best.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "hulltune", *loop_line(tmp_path, decoder, "--out", str(out), "--quiet")],
        stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a test run in the background ignores it
    )  # fmt: skip
    wait_until(lambda: len(list((tmp_path / "pid").iterdir())) == 2)
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    assert process.returncode == code, said
    assert "interrupted" in said
    result = LoopResult.load(out)
    assert result.interrupted
    assert len(result.iterations) == 1
    assert result.weights == START
    for name in (tmp_path / "pid").iterdir():
        assert not is_running(int(name.name))
