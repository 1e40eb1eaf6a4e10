"""The journal of a run: a run that was killed goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hulltune import Climb, InputError, tune
from hulltune.search.cluster.journal import FILE
from tests.search.cluster.test_driver import described
from tests.tuning.corpora import random_lists

DATA = random_lists(3, sentences=14)
OPTIONS: dict[str, Any] = {"metric": "bleu", "search": Climb(restarts=1, directions=4), "threads": 2}


def test_a_run_goes_on_from_any_record(tmp_path: Path) -> None:
    """Cut off at many places, in the middle of records as well, the journal is completed to what it was."""
    whole = described(tune(DATA, folder=tmp_path, **OPTIONS))
    assert whole == described(tune(DATA, **OPTIONS))
    journal = (tmp_path / FILE).read_bytes()
    for size in (0, 1, 50, len(journal) // 3, len(journal) // 2, len(journal) - 1, len(journal)):
        (tmp_path / FILE).write_bytes(journal[:size])
        assert described(tune(DATA, folder=tmp_path, **OPTIONS)) == whole
        assert len((tmp_path / FILE).read_bytes()) == len(journal)


def test_a_finished_run_asks_for_nothing_more(tmp_path: Path) -> None:
    first = described(tune(DATA, folder=tmp_path, regularise=0.2, **OPTIONS))
    journal = (tmp_path / FILE).read_bytes()
    assert described(tune(DATA, folder=tmp_path, regularise=0.2, **OPTIONS)) == first
    assert (tmp_path / FILE).read_bytes() == journal
    tune(DATA, folder=tmp_path, regularise=0.3, **OPTIONS)  # another penalty is another question
    assert len((tmp_path / FILE).read_bytes()) > len(journal)


def test_a_damaged_record_is_asked_for_again(tmp_path: Path) -> None:
    whole = described(tune(DATA, folder=tmp_path, **OPTIONS))
    journal = bytearray((tmp_path / FILE).read_bytes())
    journal[len(journal) // 2] ^= 1
    (tmp_path / FILE).write_bytes(journal)
    assert described(tune(DATA, folder=tmp_path, **OPTIONS)) == whole


def test_the_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    tune(DATA, folder=tmp_path, **OPTIONS)
    with pytest.raises(InputError, match=f"{FILE}: the run in this folder had another metric"):
        tune(DATA, folder=tmp_path, **{**OPTIONS, "metric": "wer"})
    with pytest.raises(InputError, match=f"{FILE}: the run in this folder had another data"):
        tune(random_lists(4, sentences=14), folder=tmp_path, **OPTIONS)
    (tmp_path / FILE).write_text("notes\n")
    with pytest.raises(InputError, match="not the journal of a run"):
        tune(DATA, folder=tmp_path, **OPTIONS)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made a folder"):
        tune(DATA, folder=tmp_path / "file", **OPTIONS)


def test_a_second_run_in_the_folder_is_refused(tmp_path: Path) -> None:
    tune(DATA, folder=tmp_path, **OPTIONS)
    fcntl = pytest.importorskip("fcntl", reason="Windows has no such locks")
    with (tmp_path / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another run is at work in this folder"):
            tune(DATA, folder=tmp_path, **OPTIONS)


def test_a_driver_that_was_killed_goes_on(tmp_path: Path) -> None:
    """SIGKILL in the middle of a run over processes: no worker is left, and the same command completes the run."""
    program = (
        "import sys, json\n"
        "from hulltune import tune, Climb\n"
        "from tests.search.cluster.test_driver import described\n"
        "from tests.search.cluster.test_journal import OPTIONS, DATA\n"
        "print(json.dumps(described(tune(DATA, folder=sys.argv[1], cluster='processes', workers=2, **OPTIONS))))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    first = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    journal = tmp_path / FILE
    while first.poll() is None and not (journal.exists() and journal.stat().st_size > 2000):
        time.sleep(0.001)
    workers = children(first.pid)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert len(workers) == 2
    for _ in range(200):
        if not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers):
            break
        time.sleep(0.02)
    else:
        pytest.fail("a worker is left")
    before = journal.read_bytes()
    second = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)

    assert json.loads(second.stdout) == json.loads(json.dumps(described(tune(DATA, **OPTIONS))))
    assert journal.read_bytes()[:1000] == before[:1000]


def children(pid: int) -> list[int]:
    """The children of a process, as Linux tells them."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found
