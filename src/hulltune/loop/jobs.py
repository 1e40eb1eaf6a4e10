"""Several decoders at once: each takes a piece of the input, and a piece that failed is tried again."""

from __future__ import annotations

import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import ClassVar

from hulltune.errors import InputError, Note, check_most
from hulltune.formats.result_files import Saved
from hulltune.interrupts import interrupts_set
from hulltune.loop.processes import DecoderError
from hulltune.names import MOST_RUNS, MOST_THREADS
from hulltune.wording import counted

CUT = "pieces.json"
LOOK = 0.1
"""The seconds between two looks for news of the decoders, and for a request to stop."""
LEAVE = 2.0
"""The seconds that decoders have to end when they are stopped; a function may go on, but is not listened to."""


@dataclass(frozen=True)
class InputPiece:
    """Some neighbouring sentences of the input."""

    number: int
    first: int
    """The place of its first sentence in the input, from 0."""
    count: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"piece-{self.number + 1:04d}"

    @property
    def lines(self) -> str:
        """Its lines of the input, counted from 1, in words."""
        last = self.first + self.count
        return f"line {last}" if self.count == 1 else f"lines {self.first + 1:,} to {last:,}"


@dataclass(frozen=True)
class Cut(Saved):
    """The pieces of a decoding, and the weights that it decodes with. A decoding that is resumed keeps its cut."""

    KIND: ClassVar = "hulltune pieces 1"
    CALLED: ClassVar = "the pieces of a decoding"
    sentences: int
    pieces: int
    weights: Mapping[str, float]

    def __iter__(self) -> Iterator[InputPiece]:
        size, more = divmod(self.sentences, self.pieces)
        first = 0
        for number in range(self.pieces):
            piece = InputPiece(number, first, size + (number < more))
            yield piece
            first += piece.count

    @staticmethod
    def of(folder: Path) -> Cut | None:
        """The cut of a decoding; None if it was not cut, or the file was not written in full."""
        return Cut.load(folder / CUT) if (folder / CUT).exists() else None


@dataclass(frozen=True)
class Jobs:
    """The number of decoders at work at once, and the pieces of the input that they take.

    The result is the same for any numbers, if the decoder decodes a sentence alike whatever is beside it. There are as
    many pieces as jobs, unless ``pieces`` says otherwise; more of them even out long and short sentences, but each
    starts the decoder once. A piece that failed is tried again up to ``retries`` times.

    >>> from hulltune import Jobs
    >>> Jobs(4, pieces=16, retries=2).pieces_of(100), Jobs(4).pieces_of(3)
    (16, 3)
    """

    count: int = 1
    pieces: int | None = None
    retries: int = 0

    def __post_init__(self) -> None:
        for name, least in (("count", 1), ("pieces", 1), ("retries", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{'jobs' if name == 'count' else name}: expected at least {least}, got {value}")
        check_most("jobs", self.count, MOST_THREADS)
        check_most("retries", self.retries, MOST_RUNS)

    @property
    def is_one(self) -> bool:
        """Whether one decoder takes the whole input, and only once."""
        return self == Jobs()

    def pieces_of(self, sentences: int) -> int:
        """The number of pieces for so many sentences: none is without a sentence."""
        return max(1, min(self.pieces or self.count, sentences))


@dataclass(frozen=True)
class _Attempt:
    """A try to decode a piece, which may have failed."""

    piece: InputPiece
    job: int
    number: int
    """The number of the try, from 1."""
    error: BaseException | None
    repeated: bool
    """Whether the piece is tried again."""


def decode_pieces(
    jobs: Jobs,
    pieces: Sequence[InputPiece],
    decode: Callable[[InputPiece, int], None],
    *,
    stop: Callable[[], None],
    told: Callable[[InputPiece], None],
) -> None:
    """Call ``decode(piece, job)`` for all pieces, from a thread for each job, and ``told(piece)`` when one is done.

    After a failure that no retry has mended, no piece is begun, but those at work are waited for: nothing that is done
    is lost. An interrupt, and any error but DecoderError, ends them all by ``stop``.
    """
    waiting, news = deque(pieces), deque[_Attempt]()
    stopping, interrupt = threading.Event(), threading.Event()

    def work(job: int) -> None:
        while not stopping.is_set():
            try:
                piece = waiting.popleft()
            except IndexError:  # no piece is left
                return
            for number in count(1):
                error: BaseException | None = None
                try:
                    decode(piece, job)
                except BaseException as caught:  # also what ends a thread: the caller has to know
                    error = caught
                repeated = isinstance(error, DecoderError) and number <= jobs.retries and not stopping.is_set()
                if error is not None and not repeated:
                    stopping.set()
                news.append(_Attempt(piece, job, number, error, repeated))
                if not repeated:
                    break

    # Daemons: Python would wait for other threads when it ends, even for a function that hangs.
    threads = [
        threading.Thread(target=work, args=(job,), name=f"hulltune-job-{job}", daemon=True)
        for job in range(min(jobs.count, len(pieces)))
    ]
    try:
        with interrupts_set(interrupt):
            for thread in threads:
                thread.start()
            _follow(threads, news, interrupt, told)
    except BaseException:
        stopping.set()
        stop()
        deadline = time.monotonic() + LEAVE
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        raise


def _follow(
    threads: Sequence[threading.Thread],
    news: deque[_Attempt],
    interrupt: threading.Event,
    told: Callable[[InputPiece], None],
) -> None:
    """Tell what becomes of the pieces until all threads have ended; then raise the failure of a piece, if one failed.

    A thread is waited for by its lock: a queue's wait may never end if a signal comes just before its time is up.
    """
    failed: list[_Attempt] = []
    while True:
        at_work = [job for job, thread in enumerate(threads) if thread.is_alive()]  # first: no news is missed then
        while news:
            attempt = news.popleft()
            piece, error = attempt.piece, attempt.error
            if error is None:
                told(piece)
            elif not isinstance(error, DecoderError):
                raise error
            elif attempt.repeated:
                warnings.warn(f"{piece.lines}: {error.message}; trying again", Note, stacklevel=3)
            else:
                failed.append(attempt)
                if len(failed) == 1 and at_work not in ([], [attempt.job]):
                    text = f"{_failure(attempt).message}; waiting for the pieces that are at work"
                    warnings.warn(text, Note, stacklevel=3)
        if interrupt.is_set():
            raise KeyboardInterrupt
        if not at_work:
            break
        threads[at_work[0]].join(LOOK)
    if failed:
        # A piece that was given up only because another one had failed is not the one to tell.
        raise _failure(min(failed, key=lambda attempt: (-attempt.number, attempt.piece.number)))


def _failure(attempt: _Attempt) -> DecoderError:
    """The error of a piece that is given up, with its lines."""
    assert isinstance(attempt.error, DecoderError)
    after = f" (tried {counted(attempt.number, 'time')})" if attempt.number > 1 else ""
    return DecoderError(f"{attempt.piece.lines}: {attempt.error.message}{after}", attempt.error.last_lines)
