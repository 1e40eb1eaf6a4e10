"""Time the reading of forests, in microseconds of CPU time per edge, every format on real and synthetic files.

Run: python -m benchmarks.forest_reading
Writes benchmarks/results/forest_reading.json. The real files are looked for in ../shared/data beside the checkout. A
time is that of the whole way from the file to the packed Forest. Formats take turns; the best of several turns counts.
The readers are plain Python. The yardstick is Travatar's reader of its JSON: 20 µs per edge.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import finish, interleaved, options_of, table, verdict
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.cdec_json import read_cdec_json
from hulltune.formats.forest_files import ForestOptions, ForestReader, NamedForest
from hulltune.formats.forest_text import read_forest_text, read_joshua, write_forest_text
from hulltune.formats.moses_graph import read_moses_graph
from hulltune.formats.plf import read_plf
from hulltune.formats.travatar import read_travatar
from tests.formats import forest_writers
from tests.formats.plain_forests import PlainEdge, PlainForest, plain

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TARGET = 10.0
FEATURES, POSITIONS, STATES, ARCS = 10, 40, 25, 10


def synthetic_lattice(seed: int) -> PlainForest:
    """Layers of states with arcs from the layer before: node 0 is the start; the root stands above the last layer."""
    rng = np.random.default_rng(seed)
    lattice = PlainForest(POSITIONS * STATES + 2, POSITIONS * STATES + 1, [PlainEdge(0, [], [], {})])
    for node in range(1, lattice.root):
        layer = (node - 1) // STATES
        before = [0] if layer == 0 else (1 + (layer - 1) * STATES + rng.integers(0, STATES, ARCS)).tolist()
        for tail in before:
            words = [f"word{k}" for k in rng.integers(0, 2000, 2).tolist()]
            values = rng.normal(-3, 2, FEATURES).round(6).tolist()
            features = {f"feature_{k}": value for k, value in enumerate(values)}
            lattice.edges.append(PlainEdge(node, [tail], [0, *words], features))
    lattice.edges += [PlainEdge(lattice.root, [lattice.root - 1 - state], [0], {}) for state in range(STATES)]
    return lattice


def one_word_arcs(lattice: PlainForest) -> PlainForest:
    """The lattice in the shape of PLF: one word per arc, and a last layer of one node."""
    last = lattice.root - STATES
    edges = [edge for edge in lattice.edges if edge.tails and edge.head < last]
    edges += [
        PlainEdge(last, edge.tails, edge.output, edge.features)
        for edge in lattice.edges
        if last <= edge.head < lattice.root
    ]
    arcs = [PlainEdge(edge.head, edge.tails, edge.output[:2], edge.features) for edge in edges]
    return PlainForest(last + 1, last, arcs)


def read(reader: ForestReader, files: Sequence[Path]) -> list[NamedForest]:
    vocabulary = Vocabulary()
    return [named for file in files for named in reader(file, ForestOptions(), vocabulary)]


def cases(folder: Path) -> dict[str, tuple[ForestReader, list[Path]]]:
    found: dict[str, tuple[ForestReader, list[Path]]] = {}
    if DATA.is_dir():
        real = sorted((DATA / "de_en" / "forests").glob("*.hg.gz"))
        two = sorted((DATA / "cdec_two_forests").glob("*.hg.gz"))
        found["forest text, 150 real files, gzip"] = read_forest_text, real
        found["forest text, two real files, gzip"] = read_forest_text, two
        write_forest_text(folder / "real.hg", read(read_forest_text, real))
        found["forest text, 150 real forests in one file"] = read_forest_text, [folder / "real.hg"]
        forest = plain(read(read_forest_text, two)[1].forest)
        for name, reader, content in (
            ("cdec JSON, a real forest", read_cdec_json, forest_writers.cdec_json(forest)),
            ("Travatar JSON, a real forest", read_travatar, forest_writers.travatar_json(forest)),
            ("Joshua, a real forest", read_joshua, forest_writers.joshua(forest)),
        ):
            found[name] = reader, [written(folder / name.split(",")[0].replace(" ", "-"), content)]
    lattice = synthetic_lattice(1)
    write_forest_text(folder / "synthetic.hg", [NamedForest(lattice.build())])
    found["forest text, synthetic lattice"] = read_forest_text, [folder / "synthetic.hg"]
    for name, reader, content in (
        ("cdec JSON, synthetic lattice", read_cdec_json, forest_writers.cdec_json(lattice)),
        ("Travatar JSON, synthetic lattice", read_travatar, forest_writers.travatar_json(lattice)),
        ("Joshua, synthetic lattice", read_joshua, forest_writers.joshua(lattice)),
        ("Moses search graph, plain", read_moses_graph, forest_writers.moses_graph(lattice, 0)),
        ("Moses search graph, extended", read_moses_graph, forest_writers.moses_graph(lattice, 0, extended=True)),
        ("PLF", read_plf, forest_writers.plf(one_word_arcs(lattice))),
    ):
        found[name] = reader, [written(folder / name.replace(" ", "-"), content)]
    return found


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def main() -> int:
    options = options_of(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        all_cases = cases(Path(name))
        calls: dict[str, Callable[[], object]] = {case: partial(read, *what) for case, what in all_cases.items()}
        best = interleaved(calls, seconds=10, least=6, clock=time.thread_time)
        rows: list[list[str]] = []
        result: dict[str, Any] = {}
        for case, (reader, files) in all_cases.items():
            edges = sum(named.forest.edges for named in read(reader, files))
            microseconds = best[case] / edges * 1e6
            size = sum(file.stat().st_size for file in files) / edges
            rows.append([case, f"{edges:,}", f"{size:.0f}", f"{microseconds:.1f}", verdict(microseconds, TARGET)])
            result[case] = {"edges": edges, "bytes per edge": size, "us per edge": microseconds}
    result["load"] = os.getloadavg()[0]
    print(table("Reading forests, one core", ["", "edges", "bytes/edge", "µs/edge", "target"], rows))
    print(f"  load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    return finish(options, "forest_reading", result)


if __name__ == "__main__":
    sys.exit(main())
