"""Whatever the bytes, a reader of lattices gives forests or an InputError, in bounded time."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.formats import kaldi, openfst, slf
from hulltune.formats.forest_files import ForestReader, NamedForest
from hulltune.formats.fst_binary import MAGIC
from tests.formats.lattice_oracles import (
    BinaryArc,
    BinaryState,
    binary_fst,
    floats,
    read_all,
    sparse_tuple,
    symbol_table,
)
from tests.formats.refusals import refusal
from tests.formats.test_kaldi import COMPACT_TEXT, LATTICE_TEXT, archive, compact_binary
from tests.formats.test_slf import ON_LINKS, ON_NODES

READERS: dict[str, ForestReader] = {
    "slf": slf.read_slf,
    "openfst": openfst.read_openfst,
    "openfst text": openfst.read_openfst_text,
    "kaldi": kaldi.read_kaldi,
}
numbers = st.sampled_from(
    ["0", "1", "2", "3", "-1", "1.5", "-2e3", "nan", "Infinity", "1e999", "x", "", "0,1,2", "1,2", "1,2,3_4"]
)
words = st.sampled_from(["a", "!NULL", "<eps>", '"', '"a b"', "\\", "é", "0", "W=", "=", "#", "\x0b", "\u2028"])
fields = st.one_of(numbers, words)
LINES: dict[str, st.SearchStrategy[str]] = {
    "slf": st.one_of(
        st.builds("I={} W={}".format, numbers, words),
        st.builds("J={} S={} E={} {}={} W={}".format, numbers, numbers, numbers, words, numbers, words),
        st.builds(
            "{}={} {}".format, st.sampled_from(["N", "L", "start", "end", "base", "VERSION", "dir", ""]), numbers, words
        ),
        fields,
    ),
    "openfst text": st.lists(fields, max_size=6).map(" ".join),
    "kaldi": st.lists(fields, max_size=6).map(" ".join),
}


def read_and_check(reader: ForestReader, path: Path) -> list[NamedForest]:
    forests = read_all(reader, path)
    for named in forests:
        assert named.forest.edges
        assert np.all(np.isfinite(named.forest.features.values))
    return forests


def assert_read_or_refused(reader: ForestReader, path: Path, content: bytes) -> bool:
    """Read in little time, or refused in one line that names the file; whether it was read."""
    path.write_bytes(content)
    reason = refusal(partial(read_and_check, reader, path))  # this may compile kernels, so the clock runs the next time
    start = time.thread_time()
    assert refusal(partial(read_and_check, reader, path)) == reason
    assert time.thread_time() - start < 10
    if reason is not None:
        assert path.name in reason
        assert "\n" not in reason
    return reason is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", LINES)
def test_random_lines(folder: Path, name: str) -> None:
    @settings(max_examples=200, deadline=None)
    @given(st.lists(LINES[name], max_size=8))
    def read(lines: list[str]) -> None:
        assert_read_or_refused(READERS[name], folder / "file", "\n".join(lines).encode())

    read()


@pytest.mark.parametrize("name", READERS)
def test_random_bytes(folder: Path, name: str) -> None:
    @settings(max_examples=100, deadline=None)
    @given(st.binary(max_size=200), st.sampled_from([b"", MAGIC, b"u " + MAGIC, b"VERSION=1.0\n"]))
    def read(content: bytes, head: bytes) -> None:
        assert_read_or_refused(READERS[name], folder / "file", head + content)

    read()


def standard() -> bytes:
    states = [
        BinaryState(floats(float("inf")), [BinaryArc(1, floats(0.5), 1), BinaryArc(2, floats(1), 2)]),
        BinaryState(floats(0), [BinaryArc(0, floats(2), 2)]),
        BinaryState(floats(0.25)),
    ]
    return binary_fst("standard", states, flags=2, tables=symbol_table({0: "<eps>", 1: "a", 2: "b"}))


def tuples() -> bytes:
    arcs = [BinaryArc(5, sparse_tuple({1: 1.0, 3: -2.0}), 1), BinaryArc(6, sparse_tuple({}), 1)]
    return binary_fst(
        "tropicalsparsetuple", [BinaryState(sparse_tuple({}, float("inf")), arcs), BinaryState(sparse_tuple({}))]
    )


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, left out, put in, or a count replaced by one that is much too large."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(5)
        if kind == 0:
            data[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del data[place : place + rng.randint(1, 9)]
        elif kind == 2:
            data[place:place] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 9)))
        elif kind == 3:
            data[place : place + 8] = struct.pack("<q", rng.choice([-1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)]))
        else:
            data[place : place + 4] = struct.pack("<i", rng.choice([-1, 2**31 - 1, -(2**31), 1 << 20]))
    return bytes(data)


GOOD: list[tuple[str, Callable[[], bytes]]] = [
    ("slf", ON_NODES.encode),
    ("slf", ON_LINKS.encode),
    ("openfst", standard),
    ("openfst", tuples),
    ("openfst text", lambda: b"0 1 a 0.5\n0 1 b 0.25\n1 2 c\n2 0.5\n"),
    ("openfst text", lambda: b"0 1 a x 0,1,0.5\n0 1 b y 0,3,0.25\n1 2 c z\n2\n"),
    ("kaldi", lambda: archive(compact_binary(), ["u1", "u2"])),
    ("kaldi", lambda: archive(COMPACT_TEXT.encode(), ["u1", "u2"])),
    ("kaldi", lambda: archive(LATTICE_TEXT.encode(), ["u1", "u2"])),
    ("kaldi", compact_binary),
]


@pytest.mark.parametrize("case", range(len(GOOD)))
def test_good_files_with_damage(folder: Path, case: int) -> None:
    name, make = GOOD[case]
    rng = random.Random(case)
    content = make()
    read = sum(assert_read_or_refused(READERS[name], folder / "file", damaged(content, rng)) for _ in range(400))
    assert 0 < read < 400
