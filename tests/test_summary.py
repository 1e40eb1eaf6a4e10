"""The summary for terminals: every number is there, aligned, with its signature and seed, and not too wide."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import pytest

from hulltune import Progress, TuneResult
from hulltune.cli.progress import line, plain_lines, shown_progress
from hulltune.metrics.counts import ErrorCounts
from hulltune.tuning.result import HeldOut, Interval, Replicates, Single
from hulltune.tuning.text_tables import WIDTH

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
    folds=HeldOut(
        1000,
        18.66,
        20.01,
        Interval(-0.5, 2.0, 1000, 7),
        start=19.0,
        gain_over_start=Interval(0.2, 2.0, 1000, 7),
        single=19.5,
        gain_over_single=Interval(0.1, 1.0, 1000, 7),
    ),
    single=Single("tm", -1, 20.5),
    replicates=Replicates((7, 8, 9), (21.456, 21.4, 21.5), 21.452, 0.05, (20.0, 20.5, 21.0)),
    timings={"searching": 2.0},
)

EXPECTED = """\
hulltune 0.1, seed 7
bleu|order:4|tok:13a|version:x (higher is better)
1,000 sentences, 99,999 candidates, 2 features; 1,234 line searches (617/s), 2.50 s in all

On folds not tuned on, the gain is not established: over the baseline it is no more than chance
(+1.35, 95%: -0.50 to +2.00).

                  score    gain
baseline          18.66          the lists' own first choice
start             17.00   -1.66  equal weights over scaled features
single            20.50   +1.84  the best single feature: tm, negative
tuned             21.46   +2.80
oracle            29.40  +10.74  the best picks
folds, baseline   18.66          1,000 sentences not tuned on
folds, start      19.00   +0.34
folds, single     19.50   +0.84
folds, tuned      20.01   +1.35  95%: -0.50 to +2.00
3 runs            21.45  ± 0.05  mean ± standard deviation, seeds 7 to 9
3 runs, held out  20.50  ± 0.50  mean ± standard deviation, seeds 7 to 9
gain: by how much the score is better than that of the baseline, negative if it is worse; 95%:
interval of the gain over 1,000 paired bootstrap samples of the sentences, seed 7

feature  start  tuned  removed
lm         0.5   0.25    -3.10
tm         0.5  -0.75    +0.00
removed: the gain if this weight is set to 0 and the others stay; negative if the feature helps

not tuned on          baseline             tuned
chrf|x                   45.00             46.25
wer|y         0.7100 (71.00 %)  0.6900 (69.00 %)"""


def test_the_whole_summary() -> None:
    assert RESULT.summary() == EXPECTED


def test_what_is_not_known_is_left_out() -> None:
    nothing = dataclasses.replace(RESULT, oracle=None, folds=None, replicates=None, without={}, others={}, single=None)
    text = nothing.summary()
    assert "oracle" not in text
    assert "runs" not in text
    assert "folds," not in text
    assert "not tuned on" not in text
    assert "single" not in text
    assert "95%" not in text
    assert "interrupted" in dataclasses.replace(RESULT, interrupted=True).summary()


def test_scores_between_0_and_1_have_four_places() -> None:
    plain = dataclasses.replace(RESULT, folds=None, single=None, replicates=None, higher_is_better=False)
    plain = dataclasses.replace(plain, start_score=0.3)
    text = dataclasses.replace(plain, score=0.1, baseline=0.2, oracle=0.05).summary()
    assert "tuned     0.1000  +0.1000" in text  # lower is better, so this is a gain
    assert "start     0.3000  -0.1000" in text
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
    lines = result.summary().splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "… and 70 more features, in the JSON result" in lines


WER = dataclasses.replace(
    RESULT,
    metric="wer|norm:none|unit:word|version:x",
    higher_is_better=False,
    score=0.1,
    baseline=0.2,
    start_score=0.15,
    oracle=0.05,
    gain=Interval(0.08, 0.12, 1000, 7),
    counts={
        "baseline": ErrorCounts("word", 20.0, 2000, 10000, 1000, 900, 1500, 300, 200, 8200),
        "tuned": ErrorCounts("word", 10.0, 1000, 10000, 1000, 500, 700, 200, 100, 9100),
    },
    folds=None,
    single=None,
    heldout=HeldOut(
        50, 0.2, 0.12, Interval(0.01, 0.2, 1000, 7),
        start=0.125, gain_over_start=Interval(-0.01, 0.02, 1000, 7),
        counts={"tuned": ErrorCounts("word", 12.0, 60, 500, 50, 25, 40, 10, 10, 450)},
    ),
    replicates=None,
    others={},
)  # fmt: skip


def test_error_rates_have_percents_and_counts() -> None:
    lines = WER.summary().splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[4:].count("") == 3
    assert "tuned               0.1000  10.00  +0.1000" in lines
    assert "held out, tuned     0.1200  12.00  +0.0800  95%: +0.0100 to +0.2000" in lines
    first = next(number for number, line in enumerate(lines) if line.split()[:1] == ["errors"])
    assert lines[first : first + 5] == [
        "                 errors  substitutions  deletions  insertions   hits   words  wrong sentences",
        "baseline          2,000          1,500        300         200  8,200  10,000    900 (90.00 %)",
        "tuned             1,000            700        200         100  9,100  10,000    500 (50.00 %)",
        "held out, tuned      60             40         10          10    450     500     25 (50.00 %)",
        "words: of the references; wrong sentences: those with at least one error",
    ]


def test_a_short_repr() -> None:
    assert repr(WER) == "TuneResult(wer 0.2000 → 0.1000, held out 0.2000 → 0.1200, 1,000 sentences, 2 weights)"
    assert repr(dataclasses.replace(RESULT, folds=None, interrupted=True)) == (
        "TuneResult(bleu 18.66 → 21.46, 1,000 sentences, 2 weights, interrupted)"
    )


def test_notebooks_show_tables_with_every_cell() -> None:
    odd = dataclasses.replace(WER, weights={"<b>": 1.0}, start={"<b>": 0.5}, without={})
    page = odd._repr_html_()
    tree = ElementTree.fromstring(f"<div>{page.replace('<br>', '<br/>')}</div>")
    tables = [[["".join(cell.itertext()) for cell in row] for row in table] for table in tree.iter("table")]
    assert [len(table) for table in tables] == [8, 4, 2]
    assert tables[0][3] == ["tuned", "0.1000", "10.00", "+0.1000", ""]
    assert tables[2] == [["feature", "start", "tuned", "removed"], ["<b>", "0.5", "1", ""]]
    told = " ".join(tree.itertext())
    for word in WER.summary().split("\n\n")[1].split():  # the verdict
        assert word in told


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
    with shown_progress(quiet=True) as shown:
        assert shown is None
    assert line(STEP) == "3/20 starts, 500 line searches (250/s), best 21.50 (baseline 18.00)"
