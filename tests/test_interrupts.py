"""Ctrl-C while climbs race: a request first, an exception if it is repeated, and nobody's handler is lost."""

from __future__ import annotations

import ast
import dis
import re
import signal
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import hulltune
from hulltune.interrupts import Terminated, interrupts_set, terminable


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Python's own handler, even where the tests run in the background and ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_asks_and_the_second_interrupts() -> None:
    stop = threading.Event()
    with interrupts_set(stop):
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_caller_stays() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    stop = threading.Event()
    with interrupts_set(stop):
        signal.raise_signal(signal.SIGINT)
    assert (heard, stop.is_set()) == ([signal.SIGINT], False)


def test_other_threads_have_no_say() -> None:
    def work() -> None:
        with interrupts_set(threading.Event()):
            seen.append(signal.getsignal(signal.SIGINT))

    seen: list[object] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_a_finaliser_is_not_lost(number: signal.Signals) -> None:
    """Python prints and forgets what is raised there."""

    class Late:
        def __del__(self) -> None:
            signal.raise_signal(number)

    hook = sys.unraisablehook
    told: list[int] = []
    with terminable(told.append):
        with pytest.raises(KeyboardInterrupt) as caught:  # noqa: PT012
            late = Late()
            began = time.monotonic()
            del late
            time.sleep(10)
        assert time.monotonic() - began < 5
        assert isinstance(caught.value, Terminated) == (number == signal.SIGTERM)
    assert set(told) == ({number} if number == signal.SIGTERM else set())
    assert sys.unraisablehook is hook


SOURCES = sorted(Path(hulltune.__file__).parent.rglob("*.py"))
LOCK = re.compile(r"(\w+) = threading\.(?:Lock|RLock|Condition)\(")


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def uncovered_jumps(source: str) -> list[int]:
    """The lines of jumps back inside of a lock's ``with`` that no entry of the exception table covers."""
    locks = set(LOCK.findall(source))
    bodies = [
        (node.body[0].lineno, node.body[-1].end_lineno or 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.With)
        and any(ast.unparse(item.context_expr).rpartition(".")[2] in locks for item in node.items)
    ]
    lines = []
    for code in code_objects(compile(source, "source", "exec")):
        covered = [range(entry.start, entry.end) for entry in dis.Bytecode(code).exception_entries]  # type: ignore[attr-defined]
        for each in dis.get_instructions(code):
            line = each.positions.lineno if each.positions else None
            if each.opname == "JUMP_BACKWARD" and not any(each.offset in place for place in covered):
                lines += [line for first, last in bodies if line is not None and first <= line <= last]
    return lines


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions have code of their own before Python 3.12")
@pytest.mark.parametrize("path", [path for path in SOURCES if LOCK.search(path.read_text(encoding="utf-8"))], ids=str)
def test_an_interrupt_in_a_loop_leaves_no_lock_behind(path: Path) -> None:
    """Some jumps to the head of a loop are outside of a ``with`` around it (python/cpython#108214)."""
    assert uncovered_jumps(path.read_text(encoding="utf-8")) == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions have code of their own before Python 3.12")
def test_loops_that_end_with_a_condition_would_leave_a_lock_behind() -> None:
    """If this fails, Python covers such jumps, and the check above may go with the versions that do not."""
    source = "lock = threading.Lock()\ndef f(calls):\n with lock:\n  for call in calls:\n   if call:\n    call()\n"
    assert uncovered_jumps(source) in ([5], [6])
