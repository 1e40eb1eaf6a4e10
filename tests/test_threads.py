"""Threads that share the parts of a work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from queue import Empty

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.threads import Inbox, Workers


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(), max_size=30), st.integers(1, 9))
def test_answers_come_in_order(parts: list[int], threads: int) -> None:
    assert Workers(threads).map(lambda part: 2 * part, parts) == [2 * part for part in parts]


def test_threads_work_at_once_and_the_calling_one_is_one_of_them() -> None:
    meeting = threading.Barrier(4, timeout=20)
    names = Workers(4).map(lambda _: (meeting.wait(), threading.current_thread().name)[1], range(4))
    assert len(set(names)) == 4
    assert threading.current_thread().name in names


def test_one_thread_is_the_calling_one() -> None:
    assert set(Workers(1).map(lambda _: threading.current_thread().name, range(5))) == {threading.current_thread().name}


def test_calls_may_be_nested_beyond_the_number_of_threads() -> None:
    def sums(depth: int) -> int:
        return 1 if depth == 0 else sum(Workers(4).map(sums, [depth - 1] * 4))

    assert sums(4) == 4**4


def test_many_threads_may_call_at_once() -> None:
    found: list[int] = []
    asking = [
        threading.Thread(target=lambda k=k: found.append(sum(Workers(3).map(lambda part: k * part, range(100)))))
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
        Workers(4).map(work, range(1000))
    assert not working
    assert len(begun) < 20  # the others are not begun
    assert Workers(4).map(lambda part: part, range(9)) == list(range(9))


def test_a_work_in_the_background_is_waited_for() -> None:
    going_on = threading.Event()
    work = Workers(1).begin(lambda part: going_on.wait(20) and part, range(5), 2)
    assert not work.is_done(0.01)
    going_on.set()
    assert work.is_done(20.0)
    assert work.answers() == [0, 1, 2, 3, 4]
    failing = Workers(1).begin(lambda part: 1 // part, [1, 0, 1])
    assert failing.is_done(20.0)
    with pytest.raises(ZeroDivisionError):
        failing.answers()


def test_works_in_the_background_find_threads_beside_busy_ones() -> None:
    done = threading.Event()
    busy = [Workers(3).begin(lambda _: done.wait(20), range(2), 2) for _ in range(3)]
    last = Workers(1).begin(lambda _: done.set(), [None])
    assert last.is_done(20.0)
    assert all(work.is_done(20.0) for work in busy)


def test_a_thread_without_a_part_helps_within_the_others() -> None:
    """Two threads, of which one has nothing left to do of the work itself: what the other one shares needs both."""
    together = threading.Barrier(2)

    def work(part: int) -> list[int]:
        return [] if part == 0 else Workers(2).map(lambda _: together.wait(20), range(2))

    begun = Workers(2).begin(work, range(2), 2)
    assert begun.is_done(20.0)
    assert sorted(begun.answers()[1]) == [0, 1]


SIGNALLED = """
import signal, sys
from queue import Empty, SimpleQueue
from hulltune.threads import Inbox
signal.signal(signal.SIGALRM, lambda number, frame: None)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
inbox = Inbox()
for turn in range(2000):
    try:
        inbox.take(0.001)
    except Empty:
        continue
    print("an item that nobody put")
signal.setitimer(signal.ITIMER_REAL, 0.0)
for number in range(3):
    inbox.put(number)
print([inbox.take(1.0) for _ in range(3)])
"""


def test_a_wait_for_an_item_ends_however_many_signals_come() -> None:
    """With SimpleQueue.get(timeout=0.001) this never ends on Python 3.11."""
    run = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=100)
    assert (run.stdout, run.returncode) == ("[0, 1, 2]\n", 0), run.stderr


def test_an_item_wakes_the_thread_that_waits_for_it() -> None:
    inbox: Inbox[int] = Inbox()
    timers = [threading.Timer(0.05 * number, inbox.put, (number,)) for number in range(1, 4)]
    for timer in timers:
        timer.start()
    assert [inbox.take(20.0) for _ in timers] == [1, 2, 3]
    inbox.put(4)
    assert inbox.take() == 4
    with pytest.raises(Empty):
        inbox.take(0.01)


INTERRUPTED = """
import os, signal, threading, time
from hulltune.threads import Workers
def work(part):
    if part == 0:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)
for _ in range(20):
    try:
        Workers(3).map(work, range(40))
        print("not interrupted")
    except KeyboardInterrupt:
        pass
assert Workers(3).map(str, range(3)) == ["0", "1", "2"]
print("alive", threading.active_count())
"""

FORKED = """
import os
from hulltune.threads import Workers
Workers(3).map(str, range(9))
child = os.fork()
if child == 0:
    os._exit(0 if Workers(3).map(str, range(9)) == [*map(str, range(9))] else 1)
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
