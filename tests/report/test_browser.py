"""The page in a real browser: whatever is touched, it shows what decoding gives."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Climb, Dataset, Forest, TuneResult, read_weights, rerank, tune, write_report
from hulltune.arrays import Floats
from hulltune.report.html.handles import PageLine, page_line
from hulltune.report.html.winners import Searched
from hulltune.search.problem import Problem
from hulltune.simulate import simulated_task
from hulltune.tuning.comparison_text import marked
from tests.report.browser import Opened, browser, executable
from tests.report.decoding import decoded
from tests.report.subjects import large_lists

pytestmark = [
    pytest.mark.skipif(executable() is None, reason="no Chromium is installed; make browser installs one"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed: pip install playwright"),
]

Opener = Callable[..., Opened]


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture
def opened(running: Any) -> Iterator[Opener]:
    """Opens pages; each must have asked for nothing but itself, and have written nothing to the console."""
    pages: list[Opened] = []

    def open_page(path: Path, **options: Any) -> Opened:
        pages.append(Opened(running, path, **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.context.close()
        assert page.complaints == []
        assert len(page.requests) == 1
        assert page.requests[0].startswith("file:")


@dataclass(frozen=True, eq=False)
class Case:
    """A result, its problem, and the file of its page."""

    result: TuneResult
    problem: Problem
    path: Path

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.feature_names

    @property
    def dataset(self) -> Dataset:
        assert self.problem.dataset is not None
        return self.problem.dataset

    @property
    def weights(self) -> Floats:
        """The tuned weights."""
        return np.array(list(self.result.weights.values()))

    def reference(self, sentence: int) -> str:
        return self.problem.references[sentence][0]

    def line(self, k: int = 0) -> PageLine:
        """The line of a weight, with all of its intervals."""
        return page_line(Searched(self.problem), self.weights, [k], most=10**9)

    def header(self) -> dict[str, Any]:
        """The data of the page, without its sentences."""
        block = re.search(r'class="base">([^<]*)<', self.path.read_text(encoding="utf-8"))
        assert block is not None
        return decoded(block[1])[0]


def written(folder: Path, data: Any, references: Any = None, **options: Any) -> Case:
    result = tune(
        data, references, metric="wer", search=Climb(restarts=2, directions=4), threads=1, also=["bleu"], **options
    )
    path = result.report(folder / "page.html", also=["bleu"])
    return Case(result, result.problem, path)


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Case:
    task = simulated_task(sentences=60, candidates=20, seed=3)
    return written(tmp_path_factory.mktemp("lists"), task.lists)


@pytest.fixture(scope="module")
def lattices(tmp_path_factory: pytest.TempPathFactory) -> Case:
    from tests.tuning.corpora import random_forests

    return written(tmp_path_factory.mktemp("lattices"), *random_forests(4, 12))


def check_position(page: Opened, case: Case) -> Floats:
    """Compare all numbers and texts that hold at the handle with Python, and return the weights there."""
    weights = np.array(page.run("hulltune.weights()"))
    problem, dataset = case.problem, case.dataset
    score = problem.score(weights)
    shown = page.text("#here-score")
    assert shown == f"WER {score:.6f}"
    texts = rerank(dataset, weights.tolist())
    picks = dict(page.run("hulltune.picks()"))
    assert picks == {dataset.ids[k]: text for k, text in enumerate(texts) if dataset.ids[k] in picks}
    assert len(picks) == len(dataset)
    before = rerank(dataset, case.result.weights)
    changed = sum(one != other for one, other in zip(before, texts, strict=True))
    assert page.text("#here-changed") == f"{changed} of {len(dataset)} sentences on this page change"
    gain = round(case.result.score * 1e6) - round(score * 1e6)  # the difference of the scores that are shown
    if page.run("hulltune.position().kind") == "home":
        assert page.text("#here-gain") == "at the tuned weights"
    elif gain:
        signed = f"{'+' if gain > 0 else '−'}{abs(gain) / 1e6:.6f}"
        assert page.text("#here-gain") == f"{signed} ({'better' if gain > 0 else 'worse'})"
    else:
        assert page.text("#here-gain") == "no gain"
    # The table: a row has the text of its sentence, and the effect of the change.
    for row in page.rows("#sentence-rows tr")[:8]:
        number = [str(each) for each in dataset.ids].index(row[0])
        assert row[2] == texts[number]  # all of them fit into the table
        if texts[number] != before[number]:
            effect = _effect(case, number, texts[number])
            assert row[1] == ("0" if abs(effect) < 1e-12 else f"{'▲' if effect > 0 else '▼'} {_short(abs(effect), 2)}")
        else:
            assert row[1] == "–"
    # The sentence that is chosen: output, reference and baseline, each as written.
    number = [str(each) for each in dataset.ids].index(page.text("#detail-title").removeprefix("Sentence "))
    assert page.text("#detail dd[data-kind=output]").split() == texts[number].split()
    assert page.text("#detail dd[data-kind=reference]").split() == case.reference(number).split()
    assert page.text("#detail .candidates [aria-current=true] .text") == texts[number]
    check_bars(page, case, weights, number)
    return weights


def check_bars(page: Opened, case: Case, weights: Floats, number: int) -> None:
    """Features times weights of the winner, as the page shows them, are those of the pick."""
    rows = page.rows(".bars tbody tr")
    pick = rerank(case.dataset, weights.tolist()).picks[number]
    for name, own, *_ in rows:
        value = float(np.float32(pick.features.get(name, 0.0))) * weights[case.names.index(name)]
        assert own == _short(value, 4) or abs(_number(own) - value) <= 1e-3 * abs(value), name
    if rows:
        total = page.rows(".bars tfoot tr")[0][1]
        assert _number(total) == pytest.approx(pick.score, rel=1e-4, abs=1e-5)


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _short(number: float, digits: int) -> str:
    return f"{number:.{digits}g}".replace("-", "−")


def _effect(case: Case, number: int, text: str) -> float:
    problem = case.problem
    home = problem.picks(case.weights)
    rows = problem.metric.prepare(problem.references).statistics(np.array([number]), [text])
    changed = home.total + rows[0] - home.statistics[number]
    return float(np.float32(float(problem.metric.score(home.total)) - float(problem.metric.score(changed))))


def drag_to(page: Opened, x: float) -> None:
    """Drag the handle with the mouse to a place of the chart."""
    page.locator("#chart").scroll_into_view_if_needed()
    box = page.locator(".u-over").bounding_box()
    handle = page.locator(".handle").bounding_box()
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()


@pytest.mark.parametrize("name", ["lists", "lattices"])
def test_the_handle_dragged_to_twenty_positions(name: str, request: pytest.FixtureRequest, opened: Opener) -> None:
    case: Case = request.getfixturevalue(name)
    page = opened(case.path)
    check_position(page, case)
    seen = set()
    for step, share in enumerate(np.linspace(0.02, 0.98, 10).tolist()):
        if step == 5:
            page.locator("#line-chips button").nth(1).click()
        drag_to(page, share)
        seen.add(tuple(check_position(page, case)))
    assert len(seen) == 10
    line = page.run("hulltune.position().line")
    edges = page.run(f"hulltune.edges({line})")
    for edge in edges[:: max(len(edges) // 9, 1)][:10]:  # breakpoints, where outputs tie: the handle stands beside them
        page.run(f"hulltune.moveTo({line}, {edge!r})")
        weights = check_position(page, case)
        assert weights[case.names.index(page.text("#line-chips [aria-checked=true]"))] != edge
    page.keyboard.press("h")
    assert list(check_position(page, case)) == list(case.result.weights.values())


def test_the_interval_under_the_handle_and_other_metrics(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    drag_to(page, 0.3)
    weights = np.array(page.run("hulltune.weights()"))
    line = lists.line()
    place = int(np.searchsorted(line.edges, weights[0], side="right"))
    shown = page.text("#along-readout")
    assert shown == (
        f"{lists.names[0]} {_short(weights[0], 6)}: WER {line.scores[place]:.6f} "
        f"from {_short(line.edges[place - 1], 6)} to {_short(line.edges[place], 6)}"
    )
    bleu = Problem.of(lists.dataset, "bleu").score(weights)
    assert page.text("#along-legend [data-metric]") == f"BLEU {bleu:.4f} (own scale)"
    box = page.locator("#along-legend input").first
    assert not box.is_checked()  # only the curve of the metric that was tuned for
    box.check()
    assert page.locator("#along-legend input").first.is_checked()
    best = line.surface.best
    assert (
        page.text("#along-legend .is-best") == f"best {best[0]:.6f}, from {_short(best[1], 5)} to {_short(best[2], 5)}"
    )
    assert f"{line.intervals:,} intervals" in page.text("#along-note")


def test_zooming_and_panning_move_no_weight(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    drag_to(page, 0.4)
    before = page.run("hulltune.weights()")
    for selector in ("#zoom-in", "#zoom-in", "#zoom-out", "#zoom-all"):
        page.locator(selector).click()
    box = page.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 40, steps=4)
    page.mouse.up()
    assert page.run("hulltune.weights()") == before
    page.mouse.wheel(0, -300)  # the chart is in use, so the wheel zooms
    assert page.run("hulltune.weights()") == before
    check_position(page, lists)
    page.locator("#zoom-best").click()
    weights = np.array(page.run("hulltune.weights()"))
    best = lists.line().surface.best
    assert best[1] < weights[0] < best[2]
    assert lists.problem.score(weights) == best[0]


def test_a_click_on_the_plane_moves_both_weights(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    plane = lists.header()["planes"][0]
    left, right, bottom, top = plane["view"]
    page.locator(".plane-map").scroll_into_view_if_needed()
    box = page.locator(".plane-map").bounding_box()
    for across, up in ((0.1, 0.21), (0.505, 0.51), (0.93, 0.71)):
        page.mouse.click(box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"])
        weights = check_position(page, lists)
        column, row = int(across * plane["columns"]), int(up * plane["rows"])
        assert weights[plane["pair"][0]] == pytest.approx(left + (column + 0.5) * (right - left) / plane["columns"])
        assert weights[plane["pair"][1]] == pytest.approx(bottom + (row + 0.5) * (top - bottom) / plane["rows"])
        assert f"WER {lists.problem.score(weights):.6f}" in page.text("#plane-body .readout")
    page.locator(".plane-map").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    moved = check_position(page, lists)
    assert moved[plane["pair"][0]] < weights[plane["pair"][0]]
    assert moved[plane["pair"][1]] < weights[plane["pair"][1]]
    optimum = page.text(".plane-key li")
    assert f"optimum {plane['best']['score'] / 1e6:.6f}" in optimum
    page.locator("#plane-body select").select_option("1")
    assert page.run("hulltune.position().kind") == "home"
    page.run("hulltune.moveToCell(3, 4)")
    weights = check_position(page, lists)
    changed = np.flatnonzero(weights != np.array(lists.header()["weights"]))
    assert set(changed.tolist()) == set(lists.header()["planes"][1]["pair"])
    assert "proven" in optimum


def test_the_table_filters_searches_and_sorts(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    dataset = lists.dataset
    drag_to(page, 0.2)
    weights = page.run("hulltune.weights()")
    texts, before = rerank(dataset, weights), rerank(dataset, lists.result.weights)
    changed = [k for k in range(len(dataset)) if texts[k] != before[k]]
    page.locator("#changed-only").check()
    ids = [int(text) for text in page.texts("#sentence-rows td:first-child")]
    assert set(ids) <= set(changed)
    assert len(ids) == min(len(changed), 30)
    sizes = [abs(_effect(lists, k, texts[k])) for k in ids]
    assert sizes == sorted(sizes, reverse=True)
    page.locator("#against").select_option("baseline")
    first = rerank_baseline(lists)
    different = sum(texts[k] != first[k] for k in range(len(dataset)))
    assert f"{different} of them have another output than with the baseline" in page.text("#sentences-count")
    page.locator("#changed-only").uncheck()
    word = lists.reference(7).split()[0]
    page.locator("#search").fill(word.upper())
    expected = {k for k in range(len(dataset)) if word in texts[k] or word in lists.reference(k)}
    assert f"{len(expected)} listed" in page.text("#sentences-count")
    page.locator("#search").fill("no such words anywhere")
    assert page.texts("#sentence-rows td:first-child") == []


def rerank_baseline(case: Case) -> list[str]:
    return [case.problem.text(int(output)) for output in case.problem.baseline().outputs]


def test_sentences_by_keyboard(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    ids = page.texts("#sentence-rows td:first-child")
    seen = []
    for key in "jjjkj":
        page.keyboard.press(key)
        seen.append(page.text("#detail-title").removeprefix("Sentence "))
    assert seen == [ids[1], ids[2], ids[3], ids[2], ids[3]]
    for _ in range(70):
        page.keyboard.press("j")
    assert page.text("#detail-title") == f"Sentence {page.run('hulltune.picks()')[-1][0]}"
    check_position(page, lists)
    page.locator("#search").focus()
    page.keyboard.type("kj")
    assert page.input_value("#search") == "kj"


def test_everything_by_keyboard_alone(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    focused = []
    for _ in range(60):
        page.keyboard.press("Tab")
        focused.append(page.run("document.activeElement.id + ' ' + document.activeElement.className"))
    everything = "\n".join(focused)
    for name in ("handle", "plane-map", "search", "changed-only", "against", "zoom-in"):
        assert name in everything, name
    page.locator(".handle").focus()
    page.keyboard.press("ArrowRight")
    first = check_position(page, lists)
    page.keyboard.press("Shift+ArrowRight")
    second = check_position(page, lists)
    assert second[0] > first[0] > lists.result.weights[lists.names[0]]
    page.keyboard.press("Home")
    check_position(page, lists)
    assert float(page.get_attribute(".handle", "aria-valuenow")) == page.run("hulltune.weights()[0]")


def test_strips_lines_and_points_follow(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    drag_to(page, 0.25)
    number = [str(each) for each in lists.dataset.ids].index(page.text("#detail-title").removeprefix("Sentence "))
    bars = page.locator(".strip button")
    for k in range(min(bars.count(), 4)):
        bars.nth(k).click()
        weights = check_position(page, lists)
        pick = rerank(lists.dataset, weights.tolist())[number]
        assert page.locator(".strip button").nth(k).get_attribute("title") == pick
        assert page.locator(".pictures figure").count() == 2
        assert page.locator(".pictures svg line").count() > 3


def test_a_small_lattice_is_drawn_with_the_winning_path(lattices: Case, opened: Opener) -> None:
    page = opened(lattices.path)
    problem = lattices.problem
    for _ in range(6):
        page.keyboard.press("j")
        number = int(page.text("#detail-title").removeprefix("Sentence "))
        forest: Forest = problem.corpus[number]
        text = page.text("#detail .candidates [aria-current=true] .text")
        assert f"bold: {text}" in page.get_attribute(".graph svg", "aria-label")
        assert page.locator(".graph text").count() == forest.edges
        drawn = page.locator(".graph text.winning").all_text_contents()
        words = [word for label in drawn for word in label.split() if not word.startswith("[") and word != "ε"]
        assert sorted(words) == sorted(text.split())


def test_differences_are_marked_and_texts_stay_as_they_are(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    for _ in range(8):
        page.keyboard.press("j")
        number = int(page.text("#detail-title").removeprefix("Sentence "))
        reference, output = page.text("dd[data-kind=reference]"), page.text("dd[data-kind=output]")
        same = page.words("dd[data-kind=output]", without="INS")
        common = page.words("dd[data-kind=reference]", without="DEL")
        assert same == common  # what is not marked is in both, in one order
        # The longest common part: Python's own marks, which need not be the longest, keep no more words.
        kept = [word for kind, words in marked(reference, output)[1].pieces if kind == "same" for word in words]
        assert len(same) >= len(kept)
        assert reference == lists.reference(number)


def test_weights_are_copied_as_they_are(lists: Case, opened: Opener, tmp_path: Path) -> None:
    page = opened(lists.path)
    drag_to(page, 0.6)
    weights = page.run("hulltune.weights()")
    page.locator("#copying summary").click()
    titles = page.texts("#copy-buttons button")
    assert titles == ["JSON", "moses.ini", "name=value"]
    for title, suffix in zip(titles, (".json", ".ini", ".txt"), strict=True):
        page.locator("#copy-buttons button").nth(titles.index(title)).click()
        file = tmp_path / f"w{suffix}"
        file.write_text(page.input_value("#copy-text"), encoding="utf-8")
        assert read_weights(file) == dict(zip(lists.names, weights, strict=True))


HOSTILE = [
    "<script>window.broken = 1</script>", "</script><img src=x onerror='window.broken = 1'>", "a\u2028b\u2029c",
    "<!-- -->",
    "]]> {{data}} ${1} \\u003c", "&lt;b&gt; &amp;", "مرحبا بالعالم", "你好世界再见", "\u202eevil", "😀 \x07",
]  # fmt: skip


def test_hostile_texts_show_as_written(tmp_path: Path, opened: Opener) -> None:
    rng = np.random.default_rng(1)
    records = [
        {
            "id": f"{text} {k}",
            "source": text,
            "refs": [text + " reference"],
            "candidates": [
                {"text": f"{text} {word}", "features": {f"<b>{k}": float(v) for k, v in enumerate(rng.normal(size=2))}}
                for word in ("one", "two", "</script>", "three")
            ],
        }
        for k, text in enumerate(HOSTILE)
    ]
    case = written(tmp_path, records)
    page = opened(case.path)
    assert page.run("typeof window.broken") == "undefined"
    dataset = case.dataset
    page.run("hulltune.moveTo(0, 0.5)")
    weights = page.run("hulltune.weights()")
    texts = dict(zip(map(str, dataset.ids), rerank(dataset, weights), strict=True))
    assert dict(page.run("hulltune.picks()")) == texts
    sources = dict(zip(map(str, dataset.ids), dataset.sources or (), strict=True))
    assert list(sources.values()) == HOSTILE
    seen = set()
    for _ in HOSTILE:
        name = page.text("#detail-title").removeprefix("Sentence ")
        seen.add(name)
        assert page.text("#detail .candidates [aria-current=true] .text") == texts[name]
        assert page.text("dd[data-kind=source]") == sources[name]
        page.keyboard.press("j")
    assert seen == set(texts)
    assert page.texts("#line-chips button") == ["<b>0", "<b>1"]
    assert page.locator("main img, main script").count() == 0
    styles = page.run("getComputedStyle(document.querySelector('#detail dd')).unicodeBidi")
    assert styles == "plaintext"  # the first strong letter decides the direction


def test_nothing_can_be_fetched(lists: Case, opened: Opener) -> None:
    page = opened(lists.path)
    script = "fetch('https://example.org/').then(() => 'fetched', error => error.name)"
    assert page.run(script) == "TypeError"
    assert any("Content Security Policy" in text for text in page.complaints)
    page.complaints.clear()
    page.requests[1:] = [url for url in page.requests[1:] if "example.org" not in url]  # refused, so never sent


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_does_not_scroll_sideways(lists: Case, lattices: Case, opened: Opener, scheme: str) -> None:
    for case in (lists, lattices):
        page = opened(case.path, viewport={"width": 400, "height": 800}, color_scheme=scheme)
        assert page.run("document.documentElement.scrollWidth") <= 400
        drag_to(page, 0.4)
        check_position(page, case)


def test_a_page_can_be_printed(lists: Case, opened: Opener) -> None:
    page = opened(lists.path, color_scheme="dark")
    page.run("dispatchEvent(new Event('beforeprint'))")  # paper is white, whatever the screen is
    assert page.run("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run("getComputedStyle(document.documentElement).backgroundColor") != "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000


def test_the_compact_page_in_a_frame(lists: Case, running: Any, tmp_path: Path) -> None:
    frame = lists.result._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{frame}", encoding="utf-8")
    context = running.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    inner = page.frames[1]
    inner.wait_for_function("window.hulltune && window.hulltune.ready")
    inner.evaluate("hulltune.moveTo(0, 0.3)")
    weights = np.array(inner.evaluate("hulltune.weights()"))
    assert (
        inner.evaluate("document.querySelector('#here-score').textContent") == f"WER {lists.problem.score(weights):.6f}"
    )
    assert inner.evaluate("document.querySelector('#plane').hidden")
    context.close()


def test_a_step_on_a_large_page_takes_less_than_50_ms(tmp_path: Path, opened: Opener) -> None:
    lists = large_lists(2000)
    weights = dict.fromkeys(lists.feature_names, 1.0)
    path = write_report(weights, tmp_path / "large.html", data=lists, metric="wer", also=[], megabytes=5.0)
    assert 4_900_000 < path.stat().st_size <= 5_000_000
    page = opened(path)
    page.locator("#chart").scroll_into_view_if_needed()
    # Each step with the layout that follows it, as in a drag; the median, because other programs run beside.
    times = page.run("""() => {
        const times = [];
        for (let k = 0; k < 40; k++) {
            const before = performance.now();
            hulltune.moveTo(0, 0.4 + 0.05 * k);
            document.body.getBoundingClientRect();
            times.push(performance.now() - before);
        }
        return times.sort((a, b) => a - b);
    }""")
    assert times[len(times) // 2] < 50, times


def test_the_data_in_the_page_are_json(lists: Case) -> None:
    header = lists.header()
    assert header["features"] == list(lists.names)
    assert json.dumps(header)
