"""The memory that is left, and inputs and amounts that do not fit into it: refused in one line, at once."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Forest, ForestBuilder, InputError, kbest, memory, read, tune
from hulltune.cli.main import main
from hulltune.formats import streams
from hulltune.memory import check_memory, memory_left, size_text
from hulltune.search.random_climb import Climb
from hulltune.simulate import simulated_task
from tests.problems import corpus_problem

GB = 1 << 30


@pytest.mark.parametrize(
    ("size", "text"), [(3.2e9, "3.2 GB"), (45e9, "45 GB"), (1.5e6, "1.5 MB"), (2e3, "2 kB"), (12_345e9, "12,345 GB")]
)
def test_sizes_in_words(size: float, text: str) -> None:
    assert size_text(size) == text


def test_the_memory_left_is_at_most_that_of_the_machine() -> None:
    left = memory_left()
    assert left is not None
    assert 0 < left < 1 << 50


def groups(folder: Path, kind: str, *, most: int, used: int, inactive: int, inner: str) -> None:
    """The files of control groups of version 2 or 1, as the kernel shows them, with a limit on the outer one."""
    names = (
        ("memory.max", "memory.current", "inactive_file")
        if kind == "2"
        else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    )
    top = folder if kind == "2" else folder / "memory"
    for group, limit in (("outer", str(most)), ("outer/inner", inner)):
        (top / group).mkdir(parents=True)
        (top / group / names[0]).write_text(f"{limit}\n")
        (top / group / names[1]).write_text(f"{used}\n")
        (top / group / "memory.stat").write_text(f"cache 1\n{names[2]} {inactive}\n")


@pytest.mark.parametrize("kind", ["2", "1"])
def test_control_groups_limit_the_memory(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = "max" if kind == "2" else str((1 << 63) - 4096)  # no limit of its own
    groups(tmp_path, kind, most=500 << 20, used=300 << 20, inactive=50 << 20, inner=inner)
    own = tmp_path / "own"
    own.write_text("0::/outer/inner\n" if kind == "2" else "5:cpu:/x\n4:memory,cpu:/outer/inner\n")
    whole = memory._lines
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "_lines", lambda path: whole(own if str(path) == "/proc/self/cgroup" else path))
    assert memory_left() == 250 << 20
    check_memory(200 << 20, "a table")
    with pytest.raises(InputError, match=r"a table needs about 315 MB of memory, but only 262 MB is left; use a part"):
        check_memory(300 << 20, "a table")


LIMITED = """
import resource, sys
from hulltune.memory import memory_left
size = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (size + (200 << 20), size + (200 << 20)))
print(memory_left() >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_the_limit_of_a_process_counts() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True)
    assert 150 < int(done.stdout) <= 200


def bomb(path: Path, size: int, line: bytes = b"0 ||| a b c ||| x=1.0 y=2.0 ||| 0.5\n") -> Path:
    """A small file that unpacks to ``size`` bytes."""
    block = line * ((1 << 20) // len(line))
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(-(-size // len(block))):
            file.write(block)
    return path


def leave(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    """Pretend that so many bytes are left."""
    for module in (memory, streams):
        monkeypatch.setattr(module, "memory_left", lambda: left)


def test_a_list_that_unpacks_to_too_much_is_refused_with_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bomb(tmp_path / "bomb.gz", 20 << 20)
    assert path.stat().st_size < 200_000
    assert read(path).duplicates > 500_000
    lattice = bomb(tmp_path / "lattice.gz", 40 << 20, b"VERSION=1.0\n")
    leave(monkeypatch, 100 << 20)
    with pytest.raises(InputError, match=r"bomb.gz: too large for the memory: 17 MB of it \(unpacked\) are read"):
        read(path)
    with pytest.raises(InputError, match=r"lattice.gz: too large for the memory: 17 MB of it"):
        read(lattice, format="slf")  # a format that is read whole


def test_a_long_record_is_refused_before_it_is_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text('{"candidates": [], "source": "' + "x" * (17 << 20) + '"}\n', encoding="utf-8")
    leave(monkeypatch, memory.LEAST_LEFT)
    monkeypatch.setattr(streams, "LEAST_LEFT", 0)
    monkeypatch.setattr(memory, "memory_left", lambda: 100 << 20)
    with pytest.raises(InputError, match=r"long.jsonl:1: a line of 1[78].* MB needs about 1[78]\d MB of memory"):
        read(path)


def test_a_matrix_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "wide.moses"
    path.write_text("".join(f"{row} ||| a ||| f= {'1 ' * (20 if row else 64)}\n" for row in range(80_000)))
    monkeypatch.setattr(memory, "memory_left", lambda: 1 << 20)
    with pytest.raises(
        InputError, match=r"a matrix of 80,000 hypotheses and 64 features needs about \d.* MB of memory"
    ):
        read(path, missing=0)


def test_out_of_memory_in_a_reader_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    path = tmp_path / "x.moses"
    path.write_text("0 ||| a ||| x= 1\n")

    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("hulltune.formats.moses.MosesReader.rows", fail)
    with pytest.raises(InputError, match="out of memory while reading; use a part of the data"):
        read(path)
    assert main(["info", str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_out_of_memory_anywhere_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    path = tmp_path / "x.moses"
    path.write_text("0 ||| a ||| x= 1\n0 ||| b ||| x= 2\n")

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("hulltune.cli.commands.info.describe", fail)
    assert main(["info", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hulltune: out of memory (")


BOMB = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from hulltune.cli.main import main
sys.exit(main(["info", sys.argv[1]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_a_bomb_in_a_small_process_ends_in_one_line(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.gz", 800 << 20)
    assert path.stat().st_size < 3 << 20
    done = subprocess.run([sys.executable, "-c", BOMB, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr[-400:]
    assert len(done.stderr.splitlines()) == 1, done.stderr[-400:]
    assert "bomb.gz" in done.stderr
    assert "memory" in done.stderr


class TestAmounts:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["tune", "none", "--restarts", str(10**12)], "--restarts': got 1000000000000; .* at most 100,000"),
            (["tune", "none", "--directions", str(10**9)], "--directions': got 1000000000; .* at most 10,000"),
            (["tune", "none", "--threads", str(10**6)], "--threads': got 1000000; expected .* at most 1,024"),
            (["tune", "none", "--replicates", str(10**9)], "--replicates': got 1000000000; .* at most 10,000"),
            (["tune", "none", "--seed", "9" * 5000], r"--seed': got 9{20}…; .* at most"),
            (["kbest", "none", "-w", "w", "-k", str(10**12)], "--k': got 1000000000000; .* at most 10,000,000"),
            (
                ["kbest", "none", "-w", "w", "--sample", str(10**12)],
                "--sample': got 1000000000000; .* at most 10,000,000",
            ),
            (["rerank", "none", "-w", "w", "--best", str(10**12)], "--best': got 1000000000000; .* at most 10,000,000"),
            (["score", "none", "--oracle", "-k", str(10**12)], "--k': got 1000000000000; .* at most 10,000,000"),
            (["loop", "--iterations", str(10**9)], "--iterations': got 1000000000; .* at most 10,000"),
        ],
        ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
    )
    def test_of_command_lines(self, options: list[str], message: str, capsys: Any) -> None:
        assert main(options) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.search(message, line), line

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: Climb(directions=10**9), "directions: expected at most 10,000, got 1,000,000,000"),
            (lambda: simulated_task(sentences=10**12), "sentences: expected at most 1,000,000"),
            (lambda: kbest(Forest.from_nbest(["a"], [[1.0]]), [1.0], 10**12), "k: expected at most 10,000,000"),
            (lambda: tune("none", threads=10**6), "threads: expected at most 1,024, got 1,000,000"),
        ],
        ids=["directions", "sentences", "k", "threads"],
    )
    def test_of_calls(self, call: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            call()

    def test_of_folds(self) -> None:
        task = simulated_task(sentences=5, candidates=4)
        with pytest.raises(InputError, match="folds: expected 2 to 5"):
            tune(task.lists, task.references, metric="wer", folds=10**12)


def test_a_large_forest_is_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores of so many directions as fit are computed at once, and of long derivations those of a few segments;
    the answers are those for all at once.
    """
    from hulltune.data.corpus import Corpus
    from hulltune.lines.compute import search_block
    from hulltune.search import shards

    rng = np.random.default_rng(4)
    arcs = [
        (state, state + int(step), f"w{rng.integers(9)}", rng.normal(size=3).tolist())
        for state in range(40)
        for step in rng.integers(1, 4, size=6)
        if state + step <= 40
    ]
    forest = Forest.from_lattice(arcs, start=0, finals=[40], feature_names=["x", "y", "z"])
    listed = Forest.from_nbest(["a", "b"], rng.normal(size=(2, 3)), feature_names=["x", "y", "z"])
    corpus = Corpus.pack([forest, listed, forest])
    origin, lines = rng.normal(size=3), rng.normal(size=(21, 3))
    intervals = np.tile([-np.inf, 2.0], (21, 1))

    def answers() -> Any:
        problem = corpus_problem(corpus, "wer", [("w1 w2 w3",)] * 3)
        found = problem.search(origin, lines, intervals)
        derived = problem.derivations(origin, lines, intervals)
        texts = [[problem.text(number) for number in line.outputs.tolist()] for line in found]
        return [line.lefts.tolist() for line in found], texts, derived.sums.tolist(), derived.sentences.tolist()

    whole = answers()
    monkeypatch.setattr(shards, "LONG", 5)
    monkeypatch.setattr(shards, "MOST_EDGES", 100)  # derivations of two segments at a time
    assert answers() == whole
    monkeypatch.setattr(shards, "MOST_EDGES", 1)
    assert answers() == whole
    monkeypatch.undo()
    sizes = []
    scores = search_block

    def spy(scorer: Any, block: Any, weights: Any, *others: Any, **options: Any) -> Any:
        sizes.append((block, len(weights)))
        return scores(scorer, block, weights, *others, **options)

    monkeypatch.setattr(shards, "search_block", spy)
    monkeypatch.setattr(shards, "MOST_SCORES", 5 * forest.edges)
    assert answers() == whole
    assert {size for block, size in sizes if block != (1, 2)} == {5, 2}
    assert ((1, 2), 22) in sizes  # the list is small


def test_a_lattice_made_in_python_takes_numbers_and_no_objects() -> None:
    """Once each arc took about 1,000 bytes, as lists and dictionaries."""
    count = 20_000
    numbers = [1.0, 2.0, 0.5]
    tracemalloc.start()
    builder = ForestBuilder(feature_names=["x", "y", "z"])
    for k in range(count):
        builder.add_edge(k % 50 + 1, [k % 50], features=numbers, output=[0, "word"])
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken < 150 * count


def test_arcs_are_taken_one_after_the_other() -> None:
    """A generator of arcs is never kept as a list."""
    alive = []

    def arcs() -> Iterator[tuple[int, int, str, list[float]]]:
        for k in range(500):
            features = Numbers([1.0, float(k)])
            alive.append(weakref.ref(features))
            yield k % 20, k % 20 + 1, "a", features
            assert sum(each() is not None for each in alive) < 5

    forest = Forest.from_lattice(arcs(), start=0, finals=[20], feature_names=["x", "y"])
    assert forest.edges == 502


class Numbers(list[float]):
    """A list that can be referred to weakly."""


def test_outputs_that_fill_the_memory_end_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from hulltune.search import outputs

    monkeypatch.setattr(outputs, "CHECKED_WORDS", 1)
    monkeypatch.setattr(outputs, "FIRST_SLOTS", 2)
    monkeypatch.setattr(outputs, "memory_left", lambda: 1 << 20)
    arcs = [(k, k + 1, f"w{k}{j}", [float(j), float(k * j)]) for k in range(30) for j in range(3)]
    forest = Forest.from_lattice(arcs, start=0, finals=[30], feature_names=["x", "y"])
    problem = corpus_problem([forest], "wer", [("w00",)])
    with pytest.raises(InputError, match=r"\d+ outputs of forests were met, and 1.0 MB of memory is left; prune the"):
        problem.search(np.ones(2), np.eye(2), np.tile([-np.inf, np.inf], (2, 1)))
