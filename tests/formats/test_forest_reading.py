"""Folders of forests that threads or processes read: the same as one thread reads."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Dataset, Forest, InputError, Vocabulary, read
from hulltune.formats import forest_reading
from hulltune.formats.forest_files import ForestOptions, NamedForest
from hulltune.formats.forest_reading import send, start
from hulltune.formats.slf import write_slf
from hulltune.formats.streams import Source


def write_folder(folder: Path, count: int, *, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    folder.mkdir()
    for number in range(count):
        words = [f"w{word}" for word in rng.integers(0, 9, 4)]
        arcs = [(k // 2, k // 2 + 1, word, [float(rng.normal())]) for k, word in enumerate(words)]
        lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["acoustic"])
        write_slf(folder / f"{number}.slf", [NamedForest(lattice, f"u{number}")])
    return folder


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Processes are started however little there is to read; those that were are returned."""
    started: list[subprocess.Popen[bytes]] = []

    def seen() -> subprocess.Popen[bytes]:
        started.append(start())
        return started[-1]

    monkeypatch.setattr(forest_reading, "PER_PROCESS", 1)
    monkeypatch.setattr(forest_reading, "start", seen)
    return started


def assert_same(one: Dataset, other: Dataset) -> None:
    assert one.corpus.vocabulary.tokens == other.corpus.vocabulary.tokens
    assert one.ids == other.ids
    assert one.feature_names == other.feature_names
    assert len(one.corpus) == len(other.corpus)
    for left, right in zip(one.corpus, other.corpus, strict=True):
        for name in ("labels", "label_offsets", "tails", "tail_offsets", "edge_offsets"):
            assert np.array_equal(getattr(left, name), getattr(right, name)), name
        assert np.array_equal(left.features.toarray(), right.features.toarray())


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_processes_read_what_one_thread_reads(
    tmp_path: Path, eager: list[subprocess.Popen[bytes]], threads: int
) -> None:
    folder = write_folder(tmp_path / "lattices", 23)
    alone = read(folder, threads=1)
    assert not eager
    assert_same(read(folder, threads=threads), alone)
    assert len(eager) == threads - 1
    assert all(process.returncode is not None for process in eager)


def test_a_fault_is_told_as_by_one_thread(tmp_path: Path, eager: list[subprocess.Popen[bytes]]) -> None:
    folder = write_folder(tmp_path / "lattices", 12)
    for number in (5, 9):
        file = folder / f"{number}.slf"
        file.write_text(file.read_text().replace("S=0", "S=77", 1))
    messages = []
    for threads in (1, 3):
        with pytest.raises(InputError) as raised:
            read(folder, threads=threads)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert "5.slf:" in messages[0]
    assert len(eager) == 2


def test_notes_are_told_as_by_one_thread(tmp_path: Path, eager: list[subprocess.Popen[bytes]]) -> None:
    folder = write_folder(tmp_path / "lattices", 12)
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("a=", "odd=x a="))
    told = []
    for threads in (1, 3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read(folder, threads=threads)
        told.append([str(warning.message) for warning in caught])
    assert told[0] == told[1]
    assert "odd=" in told[0][0]
    assert len(eager) == 2


def test_a_killed_process_is_no_loss(
    tmp_path: Path, eager: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_folder(tmp_path / "lattices", 23)
    alone = read(folder, threads=1)
    killed: list[int] = []

    def fatal(stream: object, message: object) -> None:
        send(stream, message)  # type: ignore[arg-type]  # as it comes
        if not killed:
            killed.append(eager[0].pid)
            os.kill(eager[0].pid, signal.SIGKILL)

    monkeypatch.setattr(forest_reading, "send", fatal)
    assert_same(read(folder, threads=2), alone)
    assert killed
    assert eager[0].returncode == -signal.SIGKILL


def test_no_room_for_processes_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(forest_reading, "PER_PROCESS", 1)
    monkeypatch.setattr(forest_reading, "start", refuse)
    folder = write_folder(tmp_path / "lattices", 9)
    assert_same(read(folder, threads=4), read(folder, threads=1))


def test_no_process_outlives_a_killed_reader(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "lattices", 3)
    os.mkfifo(folder / "z.slf")  # its reader waits until it is killed
    program = (
        "from hulltune.formats import forest_reading as reading\n"
        "from hulltune.formats.streams import Source\n"
        f"files = [(Source(name), 'slf') for name in {[os.fspath(file) for file in sorted(folder.iterdir())]}]\n"
        "reading.PER_PROCESS = 1\n"
        "helpers = reading._Helpers(2)\n"
        "print(*(process.pid for process in helpers._all), flush=True)\n"
        "reading._read(files, reading.ForestOptions())\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    helpers = [int(number) for number in driver.stdout.readline().split()]
    assert len(helpers) == 2
    driver.kill()
    driver.wait()
    driver.stdout.close()
    deadline = time.monotonic() + 20
    while any(is_running(number) for number in helpers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@given(st.lists(st.one_of(st.none(), st.integers(0, 9 << 20)), max_size=30), st.integers(1, 20))
@settings(deadline=None)
def test_parts_hold_all_files_in_order_and_no_more_than_they_may(sizes: list[int | None], threads: int) -> None:
    files = [(Source(str(number)), "slf") for number in range(len(sizes))]
    parts = forest_reading._parts(files, sizes, threads)
    assert [file for part in parts for file in part.files] == files
    for part in parts:
        assert part.files
        held = [sizes[int(source.name)] for source, _ in part.files]
        assert part.for_all == (None not in held)
        assert part.for_all or not any(held)
        assert len(part.files) == 1 or sum(filter(None, held)) <= forest_reading.BATCH


def test_no_other_process_opens_a_pipe(tmp_path: Path, eager: list[subprocess.Popen[bytes]]) -> None:
    folder = write_folder(tmp_path / "lattices", 9)
    names = [os.fspath(folder / f"{number}.slf") for number in range(9)]
    alone = read(names, threads=1)
    content = Path(names[4]).read_bytes()
    os.unlink(names[4])
    os.mkfifo(names[4])
    writer = threading.Thread(target=lambda: Path(names[4]).write_bytes(content))
    writer.start()
    assert_same(read(names, threads=4), alone)
    writer.join()
    assert len(eager) == 3


def test_a_process_finds_this_package_wherever_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("hulltune.py", "numpy.py", "queue.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    helper = start()
    assert helper.stdin is not None
    assert helper.stdout is not None
    send(helper.stdin, ([("no such file", "slf")], ForestOptions()))
    assert pickle.load(helper.stdout) is None
    helper.stdin.close()
    assert helper.wait(10) == 0
    helper.stdout.close()


def test_a_vocabulary_is_the_same_after_pickling() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.ids(["b", "c"]) == [1, 2]
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy.tokens == vocabulary.tokens
    assert copy.ids(["c", "d"]) == [2, 3]
