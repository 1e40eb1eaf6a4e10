"""Pieces in processes of their own."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from hulltune import CommandDecoder, DecoderError, InputError, Jobs
from hulltune.errors import Note
from hulltune.loop import LoopResult
from tests.loop import piece_decoders
from tests.loop.decoders import SENTENCES
from tests.loop.test_jobs import called, command, loop, wait_until
from tests.loop.test_jobs import expected as expected
from tests.loop.test_jobs import room as room
from tests.loop.test_loop import without_times
from tests.loop.test_resume import is_running

pytestmark = pytest.mark.filterwarnings("ignore::hulltune.errors.Note")
INPUTS: dict[str, Any] = {"inputs": range(SENTENCES)}


def test_a_function_gets_the_same_result(tmp_path: Path, expected: LoopResult) -> None:
    jobs = Jobs(2, processes=True)
    assert without_times(loop(piece_decoders.decode, tmp_path / "run", jobs, **INPUTS)) == expected
    assert without_times(loop(piece_decoders.decode, tmp_path / "run", 1, **INPUTS)) == expected


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path, expected: LoopResult) -> None:
    """A process that was killed is a try that failed."""
    marker = tmp_path / "marker"
    marker.touch()
    decode = piece_decoders.Dying(marker)
    with pytest.raises(DecoderError, match="lines 7 to 12: the decoder's process was ended by signal 9") as caught:
        loop(decode, tmp_path / "run", Jobs(2, processes=True), **INPUTS)
    assert caught.value.last_lines == ("about to die",)
    marker.touch()
    found = loop(decode, tmp_path / "run", Jobs(2, retries=1, processes=True), **INPUTS, iterations=1)
    assert not marker.exists()
    assert found.iterations[0].score == expected.iterations[0].score
    assert found.iterations[0].tuned == expected.iterations[0].tuned


def test_what_a_function_raises_is_told(tmp_path: Path) -> None:
    with pytest.raises(DecoderError, match=r"the decoder raised TypeError: .* \(tried 2 times\)") as caught:
        loop(piece_decoders.forest_text, tmp_path / "run", Jobs(2, retries=1, processes=True), **INPUTS)
    assert caught.value.last_lines[0].startswith("Traceback")


def test_a_command_gets_the_same_result(room: Path) -> None:
    one = without_times(loop(command(room), None, 1))
    (room / "notes" / "fail-4").touch()
    with pytest.warns(Note, match="trying again"):
        found = loop(command(room), room / "run", Jobs(2, pieces=3, retries=1, processes=True))
    assert without_times(found) == one
    home = room / "run" / "iter-001" / "piece-0002"
    assert {path.name for path in home.iterdir()} == {"output", "input.txt", "weights.json", "decoder.log"}
    with pytest.raises(InputError, match="'no-such-program' cannot be run"):
        loop(CommandDecoder("no-such-program {weights}", input=room / "in.txt"), None, Jobs(2, processes=True))


def test_an_interrupt_ends_the_decoders(room: Path) -> None:
    for first in (0, 6):
        (room / "notes" / f"wait-{first}").touch()

    def interrupt() -> None:
        wait_until(lambda: len(called(room)) == 2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        loop(command(room), room / "run", Jobs(2, processes=True))
    for line in (room / "notes" / "called").read_text().splitlines():
        assert not is_running(int(line.split()[1]))
    for first in (0, 6):
        (room / "notes" / f"wait-{first}").unlink()
    one = without_times(loop(command(room), None, 1))
    assert without_times(loop(command(room), room / "run", Jobs(2, processes=True))) == one


def test_functions_that_cannot_be_sent_are_named() -> None:
    with pytest.raises(InputError, match=r"cannot be sent to another process .*define the function in a module"):
        loop(lambda weights, inputs: [], None, Jobs(2, processes=True), **INPUTS)
