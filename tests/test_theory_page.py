"""What docs/theory.md says of files and times is so."""

from __future__ import annotations

import re

import pytest

from tests.pages import ROOT, Page, measured

PAGE = Page("docs/theory.md")


def test_the_files_that_it_names_exist() -> None:
    named = re.findall(r"`((?:tests|geometry)/[\w/]+\.py)`", PAGE.text)
    assert named
    for path in named:
        assert (ROOT / path).exists() or (ROOT / "src" / "hulltune" / path).exists(), path


def test_the_times_are_those_that_were_measured() -> None:
    results = measured("engine")
    times = {found["forest"]: (found["edges"], found["microseconds"]) for found in results["small to large"]}
    for found in results["four shapes"]:
        times[found["shape"]] = (found["edges"], {name: 1e3 * took for name, took in found["milliseconds"].items()})
    rows = PAGE.table_rows("## The methods and what they cost", number=1)
    assert len(rows) == 8
    for name, edges, _, _, hull, lanes in rows:
        expected_edges, expected = times[name]
        assert int(edges.replace(",", "")) == expected_edges
        assert float(hull.replace(",", "")) == pytest.approx(expected["hull"], rel=0.02)
        assert float(lanes.replace(",", "")) == pytest.approx(expected["lanes"], rel=0.02)
