"""Time the reading of lattices: nanoseconds per arc for each format of speech tools, on real and on made-up files.

Run: python -m benchmarks.lattice_reading
Writes benchmarks/results/lattice_reading.json. CPU time on one core, the best of several turns; the files are in the
cache of the system. Real files are timed as they are and unpacked.
"""

from __future__ import annotations

import gzip
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import finish, interleaved, options_of, table, verdict
from hulltune.data import Vocabulary
from hulltune.formats.forest_files import ForestOptions, ForestReader
from hulltune.formats.kaldi import read_kaldi
from hulltune.formats.openfst import read_openfst, read_openfst_text
from hulltune.formats.slf import read_slf

DATA = Path(__file__).resolve().parents[2] / "shared/data"
TEXT_TARGET, BINARY_TARGET = 1000, 400
LATTICES, WORDS = 20, 2000
INFINITY = float("inf")
Arc = tuple[int, int, int, float, float]


def made_up(arcs: int, rng: np.random.Generator) -> list[Arc]:
    """A lattice like those of recognisers: six arcs per state, each a few states ahead; a few words are frequent."""
    states = arcs // 6 + 2
    sources = np.sort(np.concatenate([np.arange(states - 1), rng.integers(0, states - 1, arcs - states + 1)]))
    steps = np.minimum(rng.integers(1, 8, arcs), states - 1 - sources)
    steps[np.flatnonzero(np.diff(sources, prepend=-1))] = 1  # every state is on a path
    costs = np.round(np.column_stack([rng.gamma(3, 2, arcs), rng.normal(-20, 9, arcs)]), 4).tolist()
    words = (1 + rng.zipf(1.3, arcs) % WORDS).tolist()
    pairs = zip(sources.tolist(), (sources + steps).tolist(), words, costs, strict=True)
    return [(source, target, word, graph, acoustic) for source, target, word, (graph, acoustic) in pairs]


def as_slf(arcs: list[Arc], name: str) -> bytes:
    states = arcs[-1][0] + 2
    lines = ["VERSION=1.0", f"UTTERANCE={name}", f"N={states}\tL={len(arcs)}"]
    lines += [f"I={state}\tt={state / 100:.2f}" for state in range(states)]
    lines += [
        f"J={number}\tS={s}\tE={t}\tW=word{word}\tv=0\ta={-acoustic:.4f}\tl={-graph:.4f}"
        for number, (s, t, word, graph, acoustic) in enumerate(arcs)
    ]
    return ("\n".join(lines) + "\n").encode()


def as_openfst_text(arcs: list[Arc], name: str) -> bytes:
    lines = [f"{s}\t{t}\tword{word}\tword{word}\t{graph:.6g}" for s, t, word, graph, _ in arcs]
    return ("\n".join([*lines, f"{arcs[-1][0] + 1}\t0.5"]) + "\n").encode()


def as_compact_text(arcs: list[Arc], name: str) -> bytes:
    lines = [f"{s}\t{t}\t{word}\t{graph:.6g},{acoustic:.6g},3_5_5_5_9" for s, t, word, graph, acoustic in arcs]
    return ("\n".join([f"{name} ", *lines, f"{arcs[-1][0] + 1}\t0.5,1,"]) + "\n\n").encode()


def _binary(arcs: list[Arc], arc_type: bytes, weight: Callable[[float, float], bytes]) -> bytes:
    states = arcs[-1][0] + 2
    of_state: list[list[bytes]] = [[] for _ in range(states)]
    for source, target, word, graph, acoustic in arcs:
        of_state[source].append(struct.pack("<ii", word, word) + weight(graph, acoustic) + struct.pack("<i", target))
    head = (
        struct.pack("<i", 2125659606) + struct.pack("<i", 6) + b"vector" + struct.pack("<i", len(arc_type)) + arc_type
    )
    head += struct.pack("<iiQqqq", 2, 0, 0, 0, states, 0)
    body = (
        weight(INFINITY if arcs_of else 0.5, INFINITY if arcs_of else 0.0)
        + struct.pack("<q", len(arcs_of))
        + b"".join(arcs_of)
        for arcs_of in of_state
    )
    return head + b"".join(body)


def as_openfst(arcs: list[Arc], name: str) -> bytes:
    return _binary(arcs, b"standard", lambda graph, _: struct.pack("<f", graph))


def as_compact(arcs: list[Arc], name: str) -> bytes:
    ids = struct.pack("<i5i", 5, 3, 5, 5, 5, 9)
    return name.encode() + b" " + _binary(arcs, b"compactlattice44", lambda g, a: struct.pack("<ff", g, a) + ids)


FORMATS: dict[str, tuple[ForestReader, Callable[[list[Arc], str], bytes], int]] = {
    "SLF": (read_slf, as_slf, TEXT_TARGET),
    "OpenFst text": (read_openfst_text, as_openfst_text, TEXT_TARGET),
    "Kaldi text": (read_kaldi, as_compact_text, TEXT_TARGET),
    "OpenFst binary": (read_openfst, as_openfst, BINARY_TARGET),
    "Kaldi binary": (read_kaldi, as_compact, BINARY_TARGET),
}


def read(reader: ForestReader, files: list[Path]) -> int:
    """Read all files and return the number of arcs."""
    vocabulary = Vocabulary()
    forests = (named.forest for file in files for named in reader(file, ForestOptions(), vocabulary))
    return sum(forest.edges + forest.pruned.edges for forest in forests)


def measure(reader: ForestReader, files: list[Path], target: int, name: str) -> tuple[list[str], dict[str, Any]]:
    arcs = read(reader, files)
    best = interleaved({name: partial(read, reader, files)}, clock=time.process_time, least=7)[name]
    nanoseconds = best / arcs * 1e9
    megabytes = sum(file.stat().st_size for file in files) / best / 1e6
    row = [name, f"{len(files)}", f"{arcs:,}", f"{nanoseconds:.0f}", f"{megabytes:.0f}", verdict(nanoseconds, target)]
    return row, {"ns/arc": nanoseconds, "arcs": arcs, "files": len(files), "MB/s": megabytes}


def real(folder: Path) -> Iterator[tuple[str, ForestReader, list[Path], int]]:
    for name, reader, pattern, target in (
        ("PocketSphinx SLF", read_slf, "asr_tts/slf/*.slf.gz", TEXT_TARGET),
        ("ucam-smt sparse tuples", read_openfst, "ru_en_lattices/*.fst.gz", BINARY_TARGET),
    ):
        packed = sorted(DATA.glob(pattern))
        if not packed:
            print(f"{name}: not measured, as {DATA / pattern} is not there")
            continue
        files = []
        for file in packed:
            files.append(folder / file.stem)
            files[-1].write_bytes(gzip.decompress(file.read_bytes()))
        yield name, reader, files, target
        yield f"{name}, gzip", reader, packed, 2 * target


def main() -> int:
    options = options_of(__doc__).parse_args()
    result: dict[str, Any] = {}
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, reader, files, target in real(folder):
            row, result[name] = measure(reader, files, target, name)
            rows.append(row)
        for size in (1_000, 10_000, 100_000):
            rng = np.random.default_rng(size)
            lattices = [made_up(size, rng) for _ in range(max(1, LATTICES * 1000 // size))]
            for format_name, (reader, write, target) in FORMATS.items():
                name = f"{format_name}, {size:,} arcs"
                files = [folder / f"{number}.{size}" for number in range(len(lattices))]
                contents = [write(lattice, f"utt{number}") for number, lattice in enumerate(lattices)]
                if reader is read_kaldi:  # an archive
                    files, contents = files[:1], [b"".join(contents)]
                for file, content in zip(files, contents, strict=True):
                    file.write_bytes(content)
                row, result[name] = measure(reader, files, target, name)
                rows.append(row)
    result["load"] = os.getloadavg()[0]
    header = ["", "files", "arcs", "ns/arc", "MB/s", "target"]
    print(table("Reading lattices, CPU time on one core", header, rows))
    print(f"  load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    return finish(options, "lattice_reading", result)


if __name__ == "__main__":
    sys.exit(main())
