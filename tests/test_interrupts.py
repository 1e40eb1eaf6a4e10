"""Ctrl-C while climbs race: a request first, an exception if it is repeated, and nobody's handler is lost."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from hulltune.interrupts import Terminated, interrupts_deferred, interrupts_set, terminable


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


def test_a_deferred_signal_acts_afterwards() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        done.append("all")
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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
