"""Several decoders at once: each takes a piece of the input, and a piece that failed is tried again."""

from __future__ import annotations

import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty
from typing import TypeVar

from hulltune.defaults import MOST_RUNS, MOST_THREADS
from hulltune.errors import InputError, Note, check_most
from hulltune.interrupts import interrupts_set
from hulltune.loop.command import DecoderError
from hulltune.loop.pieces import Piece
from hulltune.threads import Inbox
from hulltune.wording import counted

T = TypeVar("T")
LOOK = 0.1
"""The seconds between two looks for a request to stop."""
LEAVE = 2.0
"""The seconds that decoders have to end when they are stopped; a function may go on, but is not listened to."""


@dataclass(frozen=True)
class Jobs:
    """The number of decoders at work at once, and the pieces of the input that they take.

    The result is the same for any numbers, if the decoder decodes a sentence alike whatever is beside it. There are as
    many pieces as jobs, unless ``pieces`` says otherwise; more of them even out long and short sentences, but each
    starts the decoder once. A piece that failed is tried again up to ``retries`` times. With ``processes`` a function
    runs in a process for each piece instead of a thread, which pays if it holds Python back.

    >>> from hulltune import Jobs
    >>> Jobs(4, pieces=16, retries=2).pieces_of(100), Jobs(4).pieces_of(3)
    (16, 3)
    """

    count: int = 1
    pieces: int | None = None
    retries: int = 0
    processes: bool = False

    def __post_init__(self) -> None:
        for name, least in (("count", 1), ("pieces", 1), ("retries", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{'jobs' if name == 'count' else name}: expected at least {least}, got {value}")
        check_most("jobs", self.count, MOST_THREADS)
        check_most("retries", self.retries, MOST_RUNS)

    @property
    def is_one(self) -> bool:
        """Whether one decoder takes the whole input, here, and only once."""
        return self == Jobs()

    def pieces_of(self, sentences: int) -> int:
        """The number of pieces for so many sentences: none is without a sentence."""
        return max(1, min(self.pieces or self.count, sentences))

    def run(
        self,
        pieces: Sequence[Piece],
        decode: Callable[[Piece, int], T],
        *,
        stop: Callable[[], None],
        told: Callable[[Piece], None],
    ) -> dict[Piece, T]:
        """The answers of ``decode(piece, job)`` for all pieces, called by a thread for each job.

        After a failure that no retry has mended, no piece is begun, but those at work are waited for: nothing that is
        done is lost. An interrupt, and any error but DecoderError, ends them all by ``stop``.
        """
        run = _Run(self, deque(pieces), decode)
        # Daemons: Python would wait for other threads when it ends, even for a function that hangs.
        threads = [
            threading.Thread(target=run.work, args=(job,), name=f"hulltune-job-{job}", daemon=True)
            for job in range(min(self.count, len(pieces)))
        ]
        try:
            for thread in threads:
                thread.start()
            return run.answers(len(threads), told)
        except BaseException:
            run.stopping.set()
            stop()
            deadline = time.monotonic() + LEAVE
            for thread in threads:
                if thread.ident is not None:
                    thread.join(max(0.0, deadline - time.monotonic()))
            raise


class _Run:
    """The state of pieces that are decoded at once."""

    def __init__(self, jobs: Jobs, waiting: deque[Piece], decode: Callable[[Piece, int], T]) -> None:
        self.jobs, self.waiting, self.decode = jobs, waiting, decode
        self.stopping = threading.Event()
        """Set when no further piece may be begun."""
        self.news: Inbox[tuple[Piece, object, bool] | None] = Inbox()
        """Pieces with their answers or errors, and whether the piece is tried again; None when a thread ends."""
        self.tries: dict[Piece, int] = {}

    def work(self, job: int) -> None:
        """Decode pieces until none is left, or one has failed."""
        while self.waiting and not self.stopping.is_set():
            try:
                piece = self.waiting.popleft()
            except IndexError:  # another thread was faster
                break
            answer = self._answer(piece, job)
            if isinstance(answer, BaseException):
                self.stopping.set()
            self.news.put((piece, answer, False))
        self.news.put(None)

    def _answer(self, piece: Piece, job: int) -> object:
        """The answer for a piece, or the error after the last try."""
        tries = 0
        while True:
            tries += 1
            self.tries[piece] = tries
            try:
                return self.decode(piece, job)
            except DecoderError as error:
                if tries > self.jobs.retries or self.stopping.is_set():
                    after = f" (tried {counted(tries, 'time')})" if tries > 1 else ""
                    return DecoderError(f"{piece.lines}: {error.message}{after}", error.last_lines)
                self.news.put((piece, error, True))
            except BaseException as error:  # also what ends a thread: the caller has to know
                return error

    def answers(self, threads: int, told: Callable[[Piece], None]) -> dict[Piece, T]:
        """The answers for all pieces, as they come in from so many threads."""
        found: dict[Piece, T] = {}
        failed: dict[Piece, DecoderError] = {}
        stop = threading.Event()
        with interrupts_set(stop):
            while threads:
                if stop.is_set():
                    raise KeyboardInterrupt
                try:
                    news = self.news.take(LOOK)
                except Empty:
                    continue
                if news is None:
                    threads -= 1
                    continue
                piece, answer, again = news
                if isinstance(answer, DecoderError) and again:
                    warnings.warn(f"{piece.lines}: {answer.message}; trying again", Note, stacklevel=2)
                elif isinstance(answer, DecoderError):
                    failed[piece] = answer
                    if threads > 1 and len(failed) == 1:
                        text = f"{answer.message}; waiting for the pieces that are at work"
                        warnings.warn(text, Note, stacklevel=2)
                elif isinstance(answer, BaseException):
                    raise answer
                else:
                    found[piece] = answer  # type: ignore[assignment]
                    told(piece)
        if failed:
            # A piece that was given up only because another one had failed is not the one to tell.
            raise failed[min(failed, key=lambda piece: (-self.tries[piece], piece.number))]
        return found
