"""Threads that share the parts of a work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.threads import Begun, each


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(), max_size=30), st.integers(1, 9))
def test_answers_come_in_order(parts: list[int], threads: int) -> None:
    assert each(lambda part: 2 * part, parts, threads) == [2 * part for part in parts]


def test_threads_work_at_once_and_the_calling_one_is_one_of_them() -> None:
    meeting = threading.Barrier(4, timeout=20)
    names = each(lambda _: (meeting.wait(), threading.current_thread().name)[1], range(4), 4)
    assert len(set(names)) == 4
    assert threading.current_thread().name in names


def test_one_thread_is_the_calling_one() -> None:
    assert set(each(lambda _: threading.current_thread().name, range(5), 1)) == {threading.current_thread().name}


def test_calls_may_be_nested_beyond_the_number_of_threads() -> None:
    def sums(depth: int) -> int:
        return 1 if depth == 0 else sum(each(sums, [depth - 1] * 4, 4))

    assert sums(4) == 4**4


def test_many_threads_may_call_at_once() -> None:
    found: list[int] = []
    asking = [
        threading.Thread(target=lambda k=k: found.append(sum(each(lambda part: k * part, range(100), 3))))
        for k in range(8)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert sorted(found) == [k * 4950 for k in range(8)]


def test_the_error_of_the_first_part_is_raised_when_nobody_works_any_more() -> None:
    working: set[int] = set()
    begun: set[int] = set()

    def work(part: int) -> None:
        working.add(part)
        begun.add(part)
        time.sleep(0.02)
        working.discard(part)
        if part < 4:
            raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part 0"):
        each(work, range(1000), 4)
    assert not working
    assert len(begun) < 20  # the others are not begun
    assert each(lambda part: part, range(9), 4) == list(range(9))


def test_a_call_in_the_background_is_waited_for() -> None:
    going_on = threading.Event()
    call = Begun(lambda: going_on.wait(20))
    assert not call.is_done(0.01)
    going_on.set()
    assert call.is_done(20.0)
    assert call.answer() is True
    failing = Begun(lambda: 1 // 0)
    assert failing.is_done(20.0)
    with pytest.raises(ZeroDivisionError):
        failing.answer()


def test_a_call_in_the_background_finds_a_thread_beside_busy_ones() -> None:
    done = threading.Event()
    busy = [Begun(lambda: done.wait(20), beside=k) for k in range(3)]
    last = Begun(done.set, beside=3)
    assert last.is_done(20.0)
    assert all(call.is_done(20.0) for call in busy)


INTERRUPTED = """
import os, signal, threading, time
from hulltune.threads import each
def work(part):
    if part == 0:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)
for _ in range(20):
    try:
        each(work, range(40), 3)
        print("not interrupted")
    except KeyboardInterrupt:
        pass
assert each(str, range(3), 3) == ["0", "1", "2"]
print("alive", threading.active_count())
"""

FORKED = """
import os
from hulltune.threads import each
each(str, range(9), 3)
child = os.fork()
if child == 0:
    os._exit(0 if each(str, range(9), 3) == [*map(str, range(9))] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def _run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of POSIX")
def test_interrupts_leave_the_threads_as_they_were() -> None:
    assert _run(INTERRUPTED).split() == ["alive", "3"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert _run(FORKED).strip() == "0"
