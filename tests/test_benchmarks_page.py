"""The numbers of the README, of pages in docs/ and of the paper are those of benchmarks/results."""

from __future__ import annotations

import re

import pytest

from benchmarks import harness, pages
from benchmarks.peers import MEASURED_APART
from tests.pages import Page, measured

PAGE = Page("docs/benchmarks.md")


@pytest.mark.parametrize("name", pages.PAGES)
def test_the_numbers_are_those_that_were_measured(name: str) -> None:
    text = Page(name).text
    assert pages.BLOCK.search(text)
    assert pages.updated(text) == text, "the numbers have changed: run python -m benchmarks.pages"


def test_every_block_is_on_some_page() -> None:
    text = "".join(Page(name).text for name in pages.PAGES)
    assert set(re.findall(r"<!-- numbers: ([\w ]+) -->", text)) == set(pages.BLOCKS)


def test_other_numbers_would_be_written_anew() -> None:
    changed = PAGE.text.replace("| CKY, 40 words | 9,624 |", "| CKY, 40 words | 9,625 |")
    assert changed != PAGE.text
    assert pages.updated(changed) == PAGE.text


@pytest.mark.parametrize("name", ["README.md", "docs/benchmarks.md", "paper/paper.md"])
def test_figures_of_others_say_when_and_where_they_were_measured(name: str) -> None:
    for block in pages.BLOCK.finditer(Page(name).text):
        if block[2] != "reading" and re.search("Moses|Z-MERT|cdec", block[0]):  # there they name formats
            assert MEASURED_APART in " ".join(block[0].split())


def test_a_missed_target_is_an_exit_code_if_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "_missed", [])
    check, plain = (harness.options_of("About.").parse_args(line) for line in (["--check"], []))
    assert harness.verdict(1.0, 2.0) == "<= 2 ok"
    assert harness.finish(check) == 0
    assert harness.verdict(1.0, 2.0, at_least=True) == ">= 2 MISSED"
    assert (harness.finish(check), harness.finish(plain)) == (1, 0)
    assert "target missed: 1, expected at least 2" in capsys.readouterr().out


def test_the_times_in_the_theory_are_those_that_were_measured() -> None:
    results = measured("engine")
    times = {found["forest"]: (found["edges"], found["microseconds"]) for found in results["small to large"]}
    for found in results["four shapes"]:
        times[found["shape"]] = (found["edges"], {name: 1e3 * took for name, took in found["milliseconds"].items()})
    rows = Page("docs/theory.md").table_rows("## The methods and what they cost", number=1)
    assert len(rows) == 8
    for name, edges, _, _, hull, lanes in rows:
        expected_edges, expected = times[name]
        assert int(edges.replace(",", "")) == expected_edges
        assert float(hull.replace(",", "")) == pytest.approx(expected["hull"], rel=0.02)
        assert float(lanes.replace(",", "")) == pytest.approx(expected["lanes"], rel=0.02)


def test_the_times_of_a_report_are_those_that_were_measured() -> None:
    found, text = measured("report"), Page("docs/report.md").text
    assert f"is written in {found['seconds']:.1f} s of CPU time" in text
    assert f"takes {found['step_ms']:.0f} ms" in text
    assert found["seconds"] < 3
    assert found["typical_bytes"] <= 1_500_000
    assert f"The code is {found['code_bytes'] / 1000:.0f} kB" in text
    assert found["code_bytes"] <= 150_000
    assert found["step_ms"] < 50
