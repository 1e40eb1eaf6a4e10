"""How a loop is going: a table that grows on a terminal, plain lines elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hulltune.cli.progress import line as tuning_line
from hulltune.cli.progress import number
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.loop.result import Iteration, LoopProgress

Show = Callable[["LoopProgress"], None]

MOST_MOVED = 3
ONE = {"hypotheses": "hypothesis", "edges": "edge"}
"""One of what a loop counts."""


@contextmanager
def shown_loop(*, quiet: bool = False) -> Iterator[Show | None]:
    """What to call with each step."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _live() as show:
            yield show
    else:
        yield plain_loop_lines()


def record_line(record: Iteration, unit: str, previous: Iteration | None, *, resumed: bool = False) -> str:
    """An iteration in one line."""
    change = "" if previous is None else f" ({record.score - previous.score:+.4g})"
    new, winners = counted(record.new, f"new {ONE[unit]}"), counted(record.new_winners, "new winner")
    found = f"{new} ({record.size:,} in all), {winners}"
    empty = f", {counted(record.empty, 'sentence')} without output" if record.empty else ""
    before = ", done before" if resumed else ""
    tuned = ""
    if record.tuned_score is not None and record.tuned_from is not None:
        tuned = f"; tuned {number(record.tuned_from)} → {number(record.tuned_score)}{_moved(record)}"
    return f"iteration {record.number}{before}: decoded {number(record.score)}{change}, {found}{empty}{tuned}"


def _moved(record: Iteration) -> str:
    moved = record.moved()
    if not moved:
        return ", no weight moved"
    shown = [f"{name} {before:+.2f} → {after:+.2f}" for name, (before, after) in list(moved.items())[:MOST_MOVED]]
    return f", moved {', '.join(shown)}{' …' if len(moved) > MOST_MOVED else ''}"


def plain_loop_lines(*, every: float = 10.0, clock: Callable[[], float] = time.monotonic) -> Show:
    """A line for each iteration, and one every few seconds while tuning takes long."""
    last = clock()

    def show(step: LoopProgress) -> None:
        nonlocal last
        if step.stage == "done" and step.record is not None:
            line = record_line(step.record, step.unit, step.previous, resumed=step.resumed)
        elif step.tuning is not None and clock() - last >= every:
            line = f"iteration {step.iteration}: {tuning_line(step.tuning)}"
        else:
            return
        last = clock()
        print(line, file=sys.stderr, flush=True)

    return show


@contextmanager
def _live() -> Iterator[Show]:
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
                tuned = "" if record.tuned_score is None else number(record.tuned_score)
                moved = "" if record.tuned is None else _moved(record).removeprefix(", ").removeprefix("moved ")
                number_shown = f"{record.number}{' (before)' if step.resumed else ''}"
                table.add_row(
                    number_shown, number(record.score), f"{record.new:,}", f"{record.size:,}",
                    f"{record.new_winners:,}", tuned, moved,
                )  # fmt: skip
            elif step.tuning is not None:
                spinner.update(text=f"iteration {step.iteration}: {tuning_line(step.tuning)}")
            else:
                spinner.update(text=f"iteration {step.iteration}: {step.stage}")
            live.refresh()

        yield show
        live.update(table)
