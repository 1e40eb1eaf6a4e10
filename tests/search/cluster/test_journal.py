"""The journal of a run: a run that was killed goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import contextlib
import importlib.util
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
AGENTS = ("ray::DashboardA", "ray::DashboardAg", "ray::RuntimeEnv", "ray::RuntimeEnvA")
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


@pytest.mark.parametrize("cluster", ["processes", "ray"])
def test_a_driver_that_was_killed_goes_on(cluster: str, tmp_path: Path) -> None:
    """SIGKILL in the middle of a run over workers: none is left, and the same command completes the run."""
    if cluster == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install ray")
    program = (
        "import sys, json\n"
        "from hulltune import tune, Climb\n"
        "from tests.search.cluster.test_driver import described\n"
        "from tests.search.cluster.test_journal import OPTIONS, DATA\n"
        "print(json.dumps(described(tune(DATA, folder=sys.argv[1], cluster=sys.argv[2], workers=2, **OPTIONS))))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path), cluster]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    first = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    journal = tmp_path / FILE
    while first.poll() is None and not (journal.exists() and journal.stat().st_size > 2000):
        time.sleep(0.001)
    family = descendants(first.pid)
    # Ray's agents, which hold nothing of a run, tell the news to nobody for a minute before they end.
    agents = [pid for pid in family if Path(f"/proc/{pid}/comm").read_text().strip() in AGENTS]
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert len(family) >= 2
    wait_for_the_end([pid for pid in family if pid not in agents])
    before = journal.read_bytes()
    second = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)

    assert json.loads(second.stdout) == json.loads(json.dumps(described(tune(DATA, **OPTIONS))))
    assert journal.read_bytes()[:1000] == before[:1000]


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs, as Linux tells them."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError):  # it has ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def wait_for_the_end(pids: list[int]) -> None:
    """Wait until all processes are gone."""
    for _ in range(1500):
        left = [pid for pid in pids if is_at_work(pid)]
        if not left:
            return
        time.sleep(0.02)
    pytest.fail(f"left: {[Path(f'/proc/{pid}/cmdline').read_bytes() for pid in left]}")


def is_at_work(pid: int) -> bool:
    """Whether a process is there and no zombie, which only waits to be counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
