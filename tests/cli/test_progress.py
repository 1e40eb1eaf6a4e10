"""The line of progress on terminals of any width: figures are told whole, or not at all."""

from __future__ import annotations

import re
import sys
from io import StringIO

import pytest

from hulltune.cli.progress import TIME, figures, fitted, shown_progress
from hulltune.tuning import Progress

CLIMBING = Progress(starts_done=12, starts=40, line_searches=1235, seconds=2.5, best_score=0.1435, baseline=0.165)
PROVING = Progress(
    starts_done=0, starts=1, line_searches=0, seconds=2.5, best_score=0.1435, baseline=0.165, bound=0.1401, boxes=12345
)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", range(34, 140))
@pytest.mark.parametrize("step", [CLIMBING, PROVING])
def test_a_line_fits_its_terminal(step: Progress, width: int) -> None:
    bar, text = fitted(figures(step), width)
    assert bar + 1 + len(text) + TIME <= width
    assert text in figures(step)
    assert bar >= 4


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (40, "12/40 starts  best 0.1435"),
        (60, "12/40 starts  best 0.1435 (baseline 0.1650)"),
        (68, "12/40 starts  best 0.1435 (baseline 0.1650)  494/s"),
        (100, "12/40 starts  best 0.1435 (baseline 0.1650)  494 line searches/s"),
    ],
)
def test_the_bar_keeps_its_figures(width: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    with shown_progress() as show:
        assert show is not None
        show(CLIMBING)
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]", terminal.getvalue())]
    shown = [line for line in lines if told in line]
    assert shown, lines
    assert "…" not in shown[-1]
    assert re.search(r"\d:\d\d:\d\d", shown[-1])
    assert len(shown[-1].rstrip()) <= width
