"""How a run is going: a bar on a terminal, plain lines elsewhere, nothing when quiet. All on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.tuning.options import Progress

EVERY = 2.0
"""Seconds between plain lines."""

Show = Callable[["Progress"], None]


@contextmanager
def shown_progress(*, quiet: bool = False) -> Iterator[Show | None]:
    """What to call with each step."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield plain_lines()


def line(step: Progress) -> str:
    """One line of text."""
    if step.bound is not None:
        return f"{counted(step.boxes, 'box')}, {closing(step)}"
    return (
        f"{step.starts_done}/{step.starts} starts, {counted(step.line_searches, 'line search')} "
        f"({rate(step):.0f}/s), best {number(step.best_score)} (baseline {number(step.baseline)})"
    )


def closing(step: Progress) -> str:
    """What is reached, what is proven, and how far apart they are."""
    assert step.bound is not None
    return f"reached {number(step.best_score)}, bound {number(step.bound)}, gap {abs(step.best_score - step.bound):.2g}"


def rate(step: Progress) -> float:
    """Line searches per second."""
    return step.line_searches / step.seconds if step.seconds > 0 else 0.0


def number(score: float) -> str:
    """A score with digits that fit its scale."""
    return f"{score:.2f}" if abs(score) >= 2 else f"{score:.4f}"


def plain_lines(*, every: float = EVERY, clock: Callable[[], float] = time.monotonic) -> Show:
    """A line every few seconds, and one at the end."""
    last = clock()
    ended = False

    def show(step: Progress) -> None:
        nonlocal last, ended
        complete = step.starts_done == step.starts
        if (complete and not ended) or (not complete and clock() - last >= every):
            last, ended = clock(), complete
            print(line(step), file=sys.stderr, flush=True)

    return show


@contextmanager
def _bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("tuning"), BarColumn(bar_width=24), TextColumn("{task.fields[text]}"), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("tuning", total=1, text="…")

        def show(step: Progress) -> None:
            if step.bound is None:
                text = (
                    f"{step.starts_done}/{step.starts} starts  best {number(step.best_score)} "
                    f"(baseline {number(step.baseline)})  {rate(step):.0f} line searches/s"
                )
                bar.update(task, total=step.starts, completed=step.starts_done, text=text)
            else:  # nobody knows how many boxes it takes: the bar only moves
                text = f"{counted(step.boxes, 'box')}  {closing(step)}"
                bar.update(task, total=1 if step.starts_done else None, completed=step.starts_done, text=text)

        yield show
