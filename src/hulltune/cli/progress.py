"""Progress on standard error: a bar or a table on a terminal, plain lines elsewhere, and nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.loop.result import Iteration, LoopProgress
    from hulltune.tuning.tune import Progress

WIDEST_BAR, NARROWEST_BAR = 24, 4
TIME = 8
"""The columns of the time that has passed, with a blank before it."""
EVERY = 2.0
"""The seconds between plain lines."""
MOST_MOVED = 3
"""The most weights that the line of an iteration names."""
ONE = {"hypotheses": "hypothesis", "edges": "edge"}
"""The singular of each unit of a loop."""

Show = Callable[["Progress"], None]
ShowLoop = Callable[["LoopProgress"], None]


def shown_progress(*, quiet: bool = False) -> AbstractContextManager[Show | None]:
    """A function that shows the progress of tuning; None when quiet."""
    return nullcontext() if quiet else _bar() if sys.stderr.isatty() else nullcontext(plain_lines())


def shown_loop(*, quiet: bool = False) -> AbstractContextManager[ShowLoop | None]:
    """A function that shows the progress of a loop; None when quiet."""
    return nullcontext() if quiet else _table() if sys.stderr.isatty() else nullcontext(plain_loop_lines())


def line(step: Progress) -> str:
    """The progress of tuning in one line."""
    if step.bound is not None:
        return f"{counted(step.boxes, 'box')}, {closing(step)}"
    return (
        f"{step.starts_done}/{step.starts} starts, {counted(step.line_searches, 'line search')} "
        f"({rate(step):.0f}/s), best {score_text(step.best_score)} (baseline {score_text(step.baseline)})"
    )


def has_begun(step: Progress) -> bool:
    """Whether there is anything to tell of a search: before it begins, statistics are asked for or kernels compiled."""
    return step.line_searches > 0 or step.bound is not None


def closing(step: Progress) -> str:
    """The score that a certified search has reached, its bound, and the gap between them."""
    assert step.bound is not None
    gap = abs(step.best_score - step.bound)
    return f"reached {score_text(step.best_score)}, bound {score_text(step.bound)}, gap {gap:.2g}"


def rate(step: Progress) -> float:
    """The line searches per second."""
    return step.line_searches / step.seconds if step.seconds > 0 else 0.0


def plain_lines(*, every: float = EVERY, clock: Callable[[], float] = time.monotonic) -> Show:
    """A function that prints a line every few seconds, and one at the end."""
    last = clock()
    ended = False

    def show(step: Progress) -> None:
        nonlocal last, ended
        if not has_begun(step):
            return
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

    share = BarColumn(bar_width=WIDEST_BAR)
    columns = (share, TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("…", total=1)

        def show(step: Progress) -> None:
            if not has_begun(step):
                return
            share.bar_width, text = fitted(figures(step), bar.console.width)
            # The number of boxes is not known in advance, so the bar of a certified search shows no share.
            total = step.starts if step.bound is None or step.starts_done else None
            bar.update(task, description=text, total=total, completed=step.starts_done)

        yield show


def figures(step: Progress) -> list[str]:
    """The progress of tuning as texts for a line, from the most to the least that it may tell."""
    if step.bound is not None:
        reached, boxes = closing(step), counted(step.boxes, "box")
        return [f"{boxes}  {reached}", reached, reached.rpartition(",")[0], reached.partition(",")[0]]
    best = f"best {score_text(step.best_score)}"
    starts, more = f"{step.starts_done}/{step.starts} starts", f"(baseline {score_text(step.baseline)})"
    return [
        f"{starts}  {best} {more}  {rate(step):.0f} line searches/s",
        f"{starts}  {best} {more}  {rate(step):.0f}/s",
        f"{starts}  {best} {more}",
        f"{starts}  {best}",
        best,
    ]


def fitted(texts: Sequence[str], width: int) -> tuple[int, str]:
    """The width of the bar, and the first text that fits beside it and the time into a line: no number is ever cut."""
    room = width - TIME - 1  # a blank after the bar
    text = next((text for text in texts if len(text) + NARROWEST_BAR <= room), texts[-1])
    return max(NARROWEST_BAR, min(WIDEST_BAR, room - len(text))), text


def record_line(record: Iteration, unit: str, previous: Iteration | None, *, resumed: bool = False) -> str:
    """An iteration of a loop in one line."""
    change = "" if previous is None else f" ({record.score - previous.score:+.4g})"
    new, winners = counted(record.new, f"new {ONE[unit]}"), counted(record.new_winners, "new winner")
    found = f"{new} ({record.size:,} in all), {winners}"
    empty = f", {counted(record.empty, 'sentence')} without output" if record.empty else ""
    before = ", done before" if resumed else ""
    tuned = ""
    if record.tuned_score is not None and record.tuned_from is not None:
        tuned = f"; tuned {score_text(record.tuned_from)} → {score_text(record.tuned_score)}{_moved(record)}"
    return f"iteration {record.number}{before}: decoded {score_text(record.score)}{change}, {found}{empty}{tuned}"


def _moved(record: Iteration) -> str:
    moved = record.moved()
    if not moved:
        return ", no weight moved"
    shown = [f"{name} {before:+.2f} → {after:+.2f}" for name, (before, after) in list(moved.items())[:MOST_MOVED]]
    return f", moved {', '.join(shown)}{' …' if len(moved) > MOST_MOVED else ''}"


def pieces_text(pieces: tuple[int, int]) -> str:
    """The progress of decoding in pieces."""
    done, count = pieces
    return f"decoding, {done:,} of {counted(count, 'piece')} done"


def plain_loop_lines(*, every: float = 10.0, clock: Callable[[], float] = time.monotonic) -> ShowLoop:
    """A function that prints a line for each iteration, and one every few seconds while tuning takes long."""
    last = clock()

    def show(step: LoopProgress) -> None:
        nonlocal last
        if step.stage == "done" and step.record is not None:
            text = record_line(step.record, step.unit, step.previous, resumed=step.resumed)
        elif step.tuning is not None and has_begun(step.tuning) and clock() - last >= every:
            text = f"iteration {step.iteration}: {line(step.tuning)}"
        elif step.pieces is not None and clock() - last >= every:
            text = f"iteration {step.iteration}: {pieces_text(step.pieces)}"
        else:
            return
        last = clock()
        print(text, file=sys.stderr, flush=True)

    return show


@contextmanager
def _table() -> Iterator[ShowLoop]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.table import Table

    columns = ("iteration", "decoded", "new", "in all", "new winners", "tuned to", "weights that moved (shares)")
    table = Table(*columns, box=None, pad_edge=False)
    for column in table.columns[:-1]:
        column.justify = "right"
    spinner = Spinner("dots", "starting")
    with Live(Group(table, spinner), console=Console(stderr=True), refresh_per_second=8) as live:

        def show(step: LoopProgress) -> None:
            record = step.record
            if step.stage == "done" and record is not None:
                tuned = "" if record.tuned_score is None else score_text(record.tuned_score)
                moved = "" if record.tuned is None else _moved(record).removeprefix(", ").removeprefix("moved ")
                number_shown = f"{record.number}{' (before)' if step.resumed else ''}"
                table.add_row(
                    number_shown, score_text(record.score), f"{record.new:,}", f"{record.size:,}",
                    f"{record.new_winners:,}", tuned, moved,
                )  # fmt: skip
            elif step.tuning is not None and has_begun(step.tuning):
                spinner.update(text=f"iteration {step.iteration}: {line(step.tuning)}")
            else:
                stage = step.stage if step.pieces is None else pieces_text(step.pieces)
                spinner.update(text=f"iteration {step.iteration}: {stage}")
            live.refresh()

        yield show
        live.update(table)
