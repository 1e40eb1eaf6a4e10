"""The page as a file: its size, its code, its subject and its summary."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hulltune
from hulltune import Certified, Climb, Constraints, InputError, TuneResult, read, tune, write_report
from hulltune.metrics import get_metric
from hulltune.report.html.page import SCRIPTS, _plane_proof, _Scores, code_size, page_html
from hulltune.report.html.subject import MOST_LINES, MOST_SHOWN, described, subject_of
from hulltune.report.html.summary import headline, metric_label, score_ends, signed, summary_html, verdicts
from hulltune.search.certificate import Certificate
from hulltune.search.problem import Problem
from hulltune.simulate import simulated_task
from hulltune.tuning.sensitivity import sensitivity
from hulltune.tuning.summary import score_rows
from tests.report.decoding import decoded
from tests.report.subjects import KINDS, large_lists, problem_of, weights_of
from tests.tuning.corpora import random_forests, random_lists

TASK = simulated_task(sentences=30, candidates=10, seed=1)
QUICK: dict[str, Any] = {"metric": "wer", "search": Climb(restarts=1, directions=4), "threads": 1, "also": ()}


def blocks(text: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """All blocks of data of a page, the base first."""
    return [decoded(block) for block in re.findall(r'<script type="application/octet-stream"[^>]*>([^<]*)<', text)]


@pytest.fixture(scope="module")
def result() -> TuneResult:
    return tune(TASK.lists, **QUICK)


def test_the_code_of_a_page_is_at_most_150_kilobytes() -> None:
    assert code_size() <= 150_000


def test_scripts_are_all_there_and_use_no_network() -> None:
    folder = Path(hulltune.__file__).parent / "report" / "html"
    assert {path.name for path in folder.glob("*.js")} == set(SCRIPTS)
    for path in folder.rglob("*.js"):
        code = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts|eval|innerHTML)\b", code), path
    notice = (folder / "uplot" / "README.md").read_text(encoding="utf-8")
    library = (folder / "uplot" / "uPlot.iife.min.js").read_text(encoding="utf-8")
    version = re.search(r"uPlot \(v([\d.]+)\)", library)
    assert version is not None
    assert f"uPlot {version[1]} " in notice


def test_a_page_names_the_licence_of_the_library_in_it(result: TuneResult, tmp_path: Path) -> None:
    text = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The MIT License (MIT)" in text
    assert "Copyright (c) 2022 Leon Sorokin" in text


@pytest.mark.parametrize("megabytes", [0.6, 1.5])
def test_a_page_is_as_large_as_allowed_and_says_how_many_sentences_it_has(megabytes: float) -> None:
    subject = subject_of(dict.fromkeys((f"f{k}" for k in range(10)), 1.0), Problem.of(large_lists(700), "wer"), also=[])
    text = page_html(subject, megabytes=megabytes, compact=True)
    assert len(text.encode()) <= megabytes * 1e6
    (base, _), *others = blocks(text)
    embedded = sum(len(header["sentences"]) for header, _ in others)
    assert f'data-embedded="{embedded}"' in text
    assert base["sentences"] == base["choosable"] == 700
    assert 0 < embedded < 700 or megabytes > 1
    assert len(text.encode()) > 0.9 * megabytes * 1e6  # no room is wasted


def test_one_very_long_sentence_does_not_break_the_limit() -> None:
    rng = np.random.default_rng(1)
    words = [f"w{k}" for k in range(4000)]
    records = [
        {
            "refs": ["a b"],
            "candidates": [
                {
                    "text": " ".join(rng.permutation(words)),
                    "features": {"f": float(rng.normal()), "g": float(rng.normal())},
                }
                for _ in range(40)
            ],
        }
        for _ in range(2)
    ]
    subject = subject_of({"f": 1.0, "g": 1.0}, Problem.of(read(records), "wer"), also=[])
    text = page_html(subject, megabytes=0.3, compact=True)
    assert len(text.encode()) <= 300_000
    whole = page_html(subject, megabytes=5.0, compact=True)
    assert "more characters)" in blocks(whole)[1][0]["sentences"][0]["texts"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"megabytes": 9.0}, "megabytes: expected a number from 0.2 to 5, got 9.0"),
        ({"megabytes": "x"}, "megabytes: expected a number"),
        ({"plane": ("forward", "foward")}, "unknown feature 'foward'"),
        ({"plane": ("forward", "forward")}, "expected two different features"),
    ],
)
def test_wrong_options(result: TuneResult, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        result.report(tmp_path / "page.html", **options)
    assert not (tmp_path / "page.html").exists()


def test_a_name_that_no_browser_opens(result: TuneResult, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a name that ends in \.html"):
        result.report(tmp_path / "page.txt")


def test_a_loaded_result_needs_its_data(result: TuneResult, tmp_path: Path) -> None:
    loaded = TuneResult.load(result.save(tmp_path / "w.json"))
    with pytest.raises(InputError, match="give data"):
        loaded.report(tmp_path / "page.html")
    again = loaded.report(tmp_path / "again.html", data=TASK.lists)
    first = result.report(tmp_path / "first.html")
    assert again.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="weights alone have no data"):
        write_report(dict(result.weights), tmp_path / "page.html")


def test_a_page_does_not_depend_on_threads(result: TuneResult) -> None:
    subject = subject_of(result, result.problem, also=["bleu"])
    assert page_html(subject, threads=1) == page_html(subject, threads=3)


def test_a_metric_that_waits_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="waits for answers"):
        write_report({"forward": 1.0}, tmp_path / "page.html", data=TASK.lists, metric="ask")


def test_weights_on_other_data_are_not_called_tuned(result: TuneResult) -> None:
    other = simulated_task(sentences=20, candidates=10, seed=2).lists
    subject = subject_of(result, Problem.of(other, "wer"))
    assert not subject.is_tuned
    assert subject.result.score == hulltune.score(other, result, metric="wer")
    assert subject.result.weights == result.weights
    assert any("not tuned on these data" in text for text in verdicts(subject))
    scores = summary_html(subject).partition("</table>")[0]
    assert re.findall(r'<th scope="row">(.*?)</th>', scores) == ["baseline", "these weights"]
    assert headline(subject) == f"WER {subject.result.baseline:.4f} → {subject.result.score:.4f}"


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_described_like_a_result(kind: str) -> None:
    problem = problem_of(kind, 3)
    weights = weights_of(problem, 3)
    found = described(problem, weights)
    assert found.score == problem.score(weights)
    assert found.sensitivity == sensitivity(problem, weights)
    without = weights.copy()
    without[1] = 0.0
    assert found.without[problem.feature_names[1]] == pytest.approx(found.score - problem.score(without), abs=1e-15)


def test_the_summary_has_the_scores_of_the_result() -> None:
    unseen = simulated_task(sentences=20, candidates=10, seed=2)
    found = tune(TASK.lists, **{**QUICK, "heldout": unseen.lists})
    subject = subject_of(found, found.problem, command="hulltune tune <dev>")
    rows = {row.name: row for row in score_rows(found)}
    assert rows["tuned"].score == found.score
    assert rows["baseline"].score == found.baseline
    assert rows["oracle"].score == found.oracle
    assert found.heldout is not None
    assert rows["held out, tuned"].score == found.heldout.score
    ends = score_ends(rows["held out, tuned"], found)
    assert ends == (found.heldout.baseline - found.heldout.gain.low, found.heldout.baseline - found.heldout.gain.high)
    text = page_html(subject, compact=True)
    assert headline(subject) == f"WER {found.baseline:.4f} → {found.score:.4f}"
    for shown in (
        f"{found.score:.4f}",
        f"{found.heldout.score:.4f}",
        found.metric,
        "seed 1",
        "hulltune tune &lt;dev&gt;",
    ):
        assert shown in text
    for name, weight in found.weights.items():
        assert f"<bdi>{name}</bdi>" in text
        assert f"{weight:.5g}".replace("-", "−") in text


def test_the_verdict_stands_before_the_scores() -> None:
    unseen = simulated_task(sentences=20, candidates=10, seed=2)
    for more in ({}, {"heldout": unseen.lists}):
        found = tune(TASK.lists, **{**QUICK, **more})
        kind = {True: "verdict", False: "verdict doubted", None: "verdict unknown"}[found.verdict.established]
        told = f'<p class="{kind}">{found.verdict.sentence}</p>'
        text = page_html(subject_of(found, found.problem), compact=True)
        assert text.index(told) < text.index('<table class="scores">')
        others = {name: weight + 1.0 for name, weight in found.weights.items()}
        assert found.verdict.sentence not in page_html(subject_of(others, found.problem), compact=True)


def test_a_certificate_is_told() -> None:
    found = tune(
        random_lists(1), metric="wer", search=Certified(gap=0.0), constraints=Constraints(free=("f0", "f1")), also=()
    )
    subject = subject_of(found, found.problem)
    assert found.certificate is not None
    (told,) = [text for text in verdicts(subject) if text.startswith("Proven")]
    assert f"no weights of the region score less than {found.certificate.value:.6f}" in told
    assert subject.groups() == [(0,), (1,)]
    (plane,) = blocks(page_html(subject))[0][0]["planes"]
    assert plane["best"]["proof"].startswith("proven: ")
    bounded = replace(found, certificate=replace(found.certificate, bound=0.01, gap=0.2))
    told = verdicts(replace(subject, result=bounded))[0]
    assert "less than 0.010000" in told
    assert "gap 0.2" in told


def test_tied_weights_have_one_line() -> None:
    found = tune(random_lists(2, features=4), constraints=Constraints(tie=(("f1", "f3"),)), **QUICK)
    subject = subject_of(found, found.problem)
    assert subject.groups() == [(0,), (1, 3), (2,)]
    assert subject.pairs(subject.groups()) == [(0, 2)]
    header = blocks(page_html(subject, compact=True))[0][0]
    assert [line["name"] for line in header["lines"]] == ["f0", "f1 = f3", "f2"]


def test_a_page_has_planes_over_the_three_weights_worth_most(
    result: TuneResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subject_of(result, result.problem)
    header, arrays = blocks(page_html(subject))[0]
    worth = sorted(range(len(result.weights)), key=lambda k: (-abs(result.without[header["features"][k]]), k))[:3]
    pairs = [tuple(plane["pair"]) for plane in header["planes"]]
    assert pairs[0] == tuple(sorted(worth[:2]))
    assert sorted(pairs) == sorted(combinations(sorted(worth), 2))
    for k, (first, second) in enumerate(pairs):
        plane = header["planes"][k]
        row, column = 5, 7
        weights = dict(result.weights)
        weights[header["features"][first]] = arrays[f"plane{k}.middles"][column]
        weights[header["features"][second]] = arrays[f"plane{k}.heights"][row]
        score = arrays[f"plane{k}.scores"][row * plane["columns"] + column] / 10 ** header["metrics"][0]["digits"]
        assert score == pytest.approx(hulltune.score(TASK.lists, weights, metric="wer"), abs=1e-6)
    wanted = ("fluency", "forward")
    assert [plane["names"] for plane in blocks(page_html(subject, plane=wanted))[0][0]["planes"]] == [list(wanted)]
    monkeypatch.setattr("hulltune.report.html.subject.MOST_OF_PLANES", 10)
    assert subject.pairs(subject.groups()) == pairs[:1]


def test_of_many_weights_those_worth_most_have_lines() -> None:
    problem = Problem.of(random_lists(3, features=MOST_LINES + 6, sentences=5), "wer")
    subject = subject_of(weights_of(problem).tolist(), problem)
    groups = subject.groups()
    assert len(groups) == MOST_LINES
    worth = {k: abs(subject.result.without[name]) for k, name in enumerate(problem.feature_names)}
    kept = [worth[group[0]] for group in groups]
    assert min(kept) >= max(worth[k] for k in worth if (k,) not in groups)
    assert subject.shown(groups, np.ones(len(worth))) == [group[0] for group in groups]
    few = subject.shown(groups[:3], np.ones(len(worth)))
    assert len(few) == MOST_SHOWN
    assert {group[0] for group in groups[:3]} <= set(few)


def test_forests_have_the_baseline_of_the_result() -> None:
    forests, references = random_forests(2)
    found = tune(forests, references, **QUICK)
    problem = found.problem
    subject = subject_of(found, problem)
    assert subject.compared is not None
    assert float(problem.metric.score(problem.baseline(subject.compared).total)) == found.baseline


def test_a_metric_without_a_bound_has_no_plane_but_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise InputError("certified search: this metric has no bound")

    monkeypatch.setattr("hulltune.report.html.page.page_plane", refuse)
    subject = subject_of(dict(TASK.optimum), Problem.of(TASK.lists, "wer"))
    header = blocks(page_html(subject))[0][0]
    assert header["planes"] == []
    assert header["planeReason"] == "certified search: this metric has no bound"


def test_large_scores_keep_fewer_decimals() -> None:
    from hulltune.report.html.page import _Scores

    metric = get_metric("wer")
    small, large, huge = (_Scores(metric, [np.array([x])]) for x in (0.5, 123456.0, 1e12))
    assert (small.digits, large.digits, huge.digits) == (6, 3, 0)
    assert small.units(np.array([0.1234567, np.nan])).tolist() == [123457, -(2**31)]
    assert huge.units(np.array([1e12])).tolist() == [1e12]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("wer", "WER"),
        ("bleu - ter", "BLEU − TER"),
        ("0.5*bleu+0.25*chrf", "0.5 BLEU + 0.25 chrF"),
        ("accuracy", "accuracy"),
    ],
)
def test_names_of_metrics(name: str, label: str) -> None:
    assert metric_label(get_metric(name).signature) == label


def test_zero_has_no_sign() -> None:
    assert [signed(x, 2) for x in (0.014, -0.014, 0.001, -0.001)] == ["+0.01", "−0.01", "0.00", "0.00"]


def test_notebooks_show_a_small_page_and_tables(result: TuneResult, tmp_path: Path) -> None:
    shown = result._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "as tables" in shown
    assert len(shown) < 700_000
    loaded = TuneResult.load(result.save(tmp_path / "w.json"))
    assert "<iframe" not in loaded._repr_html_()
    assert "<table>" in loaded._repr_html_()


def certificate(value: float, bound: float, *, exact: bool = True) -> Certificate:
    return Certificate(value, bound, abs(value - bound), {}, {}, 1, 0.0, "wer", "gap", exact)


@pytest.mark.parametrize(
    ("plane", "whole", "text"),
    [
        (certificate(0.2, 0.2), None, "proven: no weights of this plane are better"),
        (certificate(0.2, 0.2, exact=False), None, "proven: no weights of this plane are better, up to rounding"),
        (
            certificate(0.2, 0.0),
            certificate(0.2, 0.2),
            "proven: no weights of the certified region are better",
        ),
        (certificate(0.2, 0.05), None, "not proven: the best could be 0.050000"),
        (certificate(0.19, 0.0), certificate(0.2, 0.2), "not proven: the best could be 0.000000"),
        (certificate(0.2, 0.0), certificate(0.2, 0.1), "not proven: the best could be 0.000000"),
    ],
)
def test_a_page_says_what_is_proven_of_its_plane(plane: Certificate, whole: Certificate | None, text: str) -> None:
    scores = _Scores(get_metric("wer"), [np.array([0.2])])
    assert _plane_proof(plane, whole, scores) == text


def test_a_narrow_page_hides_no_numbers() -> None:
    """Only the pictures of numbers, which stand beside them, have no room on a phone."""
    style = (Path(hulltune.__file__).parent / "report" / "html" / "style.css").read_text(encoding="utf-8")
    narrow = style.partition("(max-width: 40rem)")[2].partition(":root.printing")[0]
    hidden = re.findall(r"([^{}]+)\{ display: none; \}", re.sub(r"/\*.*?\*/", "", narrow))
    assert [each.strip() for each in hidden] == [
        "th.dots, td.dots", ".scores thead", ".scores .remark:empty", ".weights .worth",
    ]  # fmt: skip
