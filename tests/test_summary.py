"""The summary for terminals: every number is there, aligned, with its signature and seed, and not too wide."""

from __future__ import annotations

import dataclasses
import io
import sys

import pytest

from hulltune import Progress, TuneResult
from hulltune.cli.progress import line, plain_lines, shown_progress
from hulltune.report.summary import WIDTH, summary
from hulltune.tuning.evaluation import Interval
from hulltune.tuning.result import HeldOut, Replicates

RESULT = TuneResult(
    weights={"lm": 0.25, "tm": -0.75},
    start={"lm": 0.5, "tm": 0.5},
    score=21.456,
    baseline=18.66,
    start_score=17.0,
    oracle=29.4,
    metric="bleu|order:4|tok:13a|version:x",
    higher_is_better=True,
    seed=7,
    sentences=1000,
    candidates=99999,
    line_searches=1234,
    seconds=2.5,
    version="0.1",
    gain=Interval(1.9, 3.6, 1000, 7),
    without={"lm": -3.1, "tm": 0.0},
    others={"chrf|x": (45.0, 46.25), "wer|y": (0.71, 0.69)},
    heldout=HeldOut("folds", 1000, 18.66, 20.01, Interval(-0.5, 2.0, 1000, 7)),
    replicates=Replicates((7, 8, 9), (21.456, 21.4, 21.5), 21.452, 0.05, (20.0, 20.5, 21.0)),
    timings={"searching": 2.0},
)

EXPECTED = """\
hulltune 0.1, seed 7
bleu|order:4|tok:13a|version:x (higher is better)
1,000 sentences, 99,999 candidates, 2 features; 1,234 line searches (617/s), 2.50 s in all

                  score    gain
baseline          18.66          the lists' own first choice
start             17.00   -1.66  the weights that tuning started from
tuned             21.46   +2.80  95%: +1.90 to +3.60 (1000 paired bootstrap samples, seed 7)
oracle            29.40  +10.74  the best picks
folds, baseline   18.66          1,000 sentences not tuned on
folds, tuned      20.01   +1.35  95%: -0.50 to +2.00 (1000 paired bootstrap samples, seed 7)
3 runs            21.45  ± 0.05  mean ± sd, seeds 7 to 9
3 runs, held out  20.50  ± 0.50  mean ± sd, seeds 7 to 9

feature  start  tuned  removed
lm         0.5   0.25    -3.10
tm         0.5  -0.75    +0.00

not tuned on  baseline   tuned
chrf|x           45.00   46.25
wer|y           0.7100  0.6900"""


def test_the_whole_summary() -> None:
    assert summary(RESULT) == EXPECTED


def test_what_is_not_known_is_left_out() -> None:
    nothing = dataclasses.replace(RESULT, oracle=None, heldout=None, replicates=None, gain=None, without={}, others={})
    text = summary(nothing)
    assert "oracle" not in text
    assert "runs" not in text
    assert "folds" not in text
    assert "not tuned on" not in text
    assert "95%" not in text
    assert "interrupted" in summary(dataclasses.replace(RESULT, interrupted=True))


def test_scores_between_0_and_1_have_four_places() -> None:
    plain = dataclasses.replace(RESULT, heldout=None, replicates=None, higher_is_better=False, start_score=0.3)
    text = summary(dataclasses.replace(plain, score=0.1, baseline=0.2, oracle=0.05))
    assert "tuned     0.1000  -0.1000" in text
    assert "lower is better" in text


def test_many_features_with_long_names_stay_narrow() -> None:
    names = [f"feature_{'x' * 60}_{k}" for k in range(100)]
    result = dataclasses.replace(
        RESULT,
        weights=dict.fromkeys(names, -1.23456789e-12),
        start=dict.fromkeys(names, 1.0),
        without={name: float(k) for k, name in enumerate(names)},
        others={"metric|" + "option:value|" * 20: (1.0, 2.0)},
    )
    lines = summary(result).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "… and 70 more features, in the JSON result" in lines


STEP = Progress(starts_done=3, starts=20, line_searches=500, seconds=2.0, best_score=21.5, baseline=18.0)


def test_progress_in_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 0.5, 1.9, 2.1, 2.1, 3.0, 3.5])  # the clock is read once more when a line is printed
    show = plain_lines(every=2.0, clock=lambda: next(times))
    for _ in range(4):
        show(STEP)
    done = dataclasses.replace(STEP, starts_done=20)
    show(done)
    show(done)
    assert capsys.readouterr().err.splitlines() == [line(STEP), line(done)]
    assert line(STEP) == "3/20 starts, 500 line searches (250/s), best 21.50 (baseline 18.00)"


def test_progress_as_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with shown_progress() as show:
        assert show is not None
        show(STEP)
    drawn = terminal.getvalue()
    assert "3/20 starts" in drawn
    assert "best 21.50 (baseline 18.00)" in drawn
    assert "250 line searches/s" in drawn
    with shown_progress(quiet=True) as show:
        assert show is None
