"""Files for comparing two versions of hulltune, made without any code of it: lists, lattices and forests of some size.

Run by compare.py, in a process of its own: python -m benchmarks.compare_data FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tests.results import files
from tests.results.files import Arc, Edge

SENTENCES, HYPOTHESES, FEATURES = 1000, 100, 14
LATTICES, ARCS = 10, 10_000
FORESTS, SPAN_WORDS, SPAN_EDGES = 6, 40, 12
POSITIONS, STATES, STATE_ARCS = 60, 17, 10
WORDS = 5000
_SHARES = np.cumsum(1.0 / np.arange(1.0, WORDS + 1.0))


def write_all(folder: Path) -> None:
    """Write every file that the parts of a comparison read."""
    words = _vocabulary()
    _write_lists(folder, words, np.random.default_rng(1))
    lattices = [_lattice(ARCS, words, np.random.default_rng(number)) for number in range(LATTICES)]
    _write_lattices(folder, lattices, words)
    rng = np.random.default_rng(2)
    forests = [_parse_forest(words, rng) for _ in range(FORESTS)]
    _write_forests(folder, forests)
    layers = [line for _ in range(FORESTS) for line in files.forest_text(_layers(words, rng))]
    _lines(folder / "layers.forest", layers)
    _lines(folder / "forests.ref", [" ".join(_draw(words, 40, rng)) for _ in range(FORESTS)])


def _lines(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _vocabulary() -> list[str]:
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    spelled = ["".join(letters) for letters in product(consonants, vowels, consonants, vowels, consonants)]
    return [spelled[k] for k in np.random.default_rng(0).permutation(len(spelled))[:WORDS]]


def _draw(words: Sequence[str], count: int, rng: Generator) -> list[str]:
    """Words by Zipf's law."""
    return [words[k] for k in np.searchsorted(_SHARES, rng.random(count) * _SHARES[-1])]


def _write_lists(folder: Path, words: Sequence[str], rng: Generator) -> None:
    """Lists in the sizes of benchmarks/tuning.py, as Moses, cdec and programs that print all digits write them."""
    references: list[str] = []
    styles: dict[str, list[str]] = {"dense": [], "sparse": [], "digits": []}
    for sentence in range(SENTENCES):
        reference = _draw(words, int(np.clip(rng.normal(20.0, 6.0), 5.0, 40.0)), rng)
        references.append(" ".join(reference))
        for _ in range(HYPOTHESES):
            edit = rng.random(len(reference)) / rng.uniform(0.1, 0.7)
            other = _draw(words, len(reference), rng)
            text = [other[k] if edit[k] < 0.8 else word for k, word in enumerate(reference) if not 0.8 <= edit[k] < 1.0]
            values = _features(float((edit < 1.0).sum()), len(text), rng)
            score = f"{values.sum():.4f}"
            shown = " ".join(text)
            numbers = " ".join(f"f{k}= {value:.4f}" for k, value in enumerate(values.tolist()))
            styles["dense"].append(f"{sentence} ||| {shown} ||| {numbers} ||| {score}")
            kept = rng.random(FEATURES) > 0.2
            numbers = " ".join(f"f{k}={value:.6g}" for k, value in enumerate(values.tolist()) if kept[k])
            styles["sparse"].append(f"{sentence} ||| {shown} ||| {numbers} ||| {score}")
            numbers = " ".join(f"f{k}= {value / 3.0!r}" for k, value in enumerate(values.tolist()))
            styles["digits"].append(f"{sentence} ||| {shown} ||| {numbers} ||| {score}")
    for style, lines in styles.items():
        _lines(folder / f"lists.{style}", lines)
    _lines(folder / "lists.ref", references)


def _features(errors: float, length: int, rng: Generator) -> NDArray[np.float64]:
    """Every other feature knows of the number of errors, the later ones less; the second one counts words."""
    values = 3.0 * rng.standard_normal(FEATURES)
    values[::2] -= errors / (1 + np.arange(0, FEATURES, 2) // 2)
    values *= 2.0 ** (np.arange(FEATURES) % 5 - 2)
    values[1] = length
    return np.round(values, 4)


def _lattice(arcs: int, words: Sequence[str], rng: Generator) -> list[Arc]:
    """A lattice as recognisers write it: an arc leads a few states on, six arcs a state, a few words often."""
    states = arcs // 6 + 2
    sources = np.sort(np.concatenate([np.arange(states - 1), rng.integers(0, states - 1, arcs - states + 1)]))
    steps = np.minimum(rng.integers(1, 8, arcs), states - 1 - sources)
    steps[np.flatnonzero(np.diff(sources, prepend=-1))] = 1  # every state is on a path
    scores = np.round(-np.column_stack([rng.gamma(3, 9, arcs), rng.gamma(3, 2, arcs)]), 4).tolist()
    drawn = _draw(words, arcs, rng)
    rows = zip(sources.tolist(), (sources + steps).tolist(), drawn, scores, strict=True)
    return [Arc(source, target, word, *pair) for source, target, word, pair in rows]


def _write_lattices(folder: Path, lattices: Sequence[Sequence[Arc]], words: Sequence[str]) -> None:
    archive: list[str] = []
    binary = b""
    for number, lattice in enumerate(lattices):
        _lines(folder / f"slf/utt{number}.slf", files.slf(lattice, f"utt{number}"))
        _lines(folder / f"openfst-text/utt{number}.txt", files.openfst_text(lattice))
        archive += [f"utt{number} ", *files.kaldi_text(lattice, words), ""]
        binary += f"utt{number} ".encode() + files.fst_binary(lattice, words, "compactlattice44")
        (folder / "openfst").mkdir(exist_ok=True)
        (folder / f"openfst/utt{number}.fst").write_bytes(files.fst_binary(lattice, words, "tropicalsparsetuple"))
    _lines(folder / "kaldi.txt", archive)
    (folder / "kaldi.ark").write_bytes(binary)
    _lines(folder / "lattices.plf", [files.plf(lattice) for lattice in lattices])
    graphs = [line for number, lattice in enumerate(lattices) for line in files.search_graph(lattice, number, True)]
    _lines(folder / "lattices.osg", graphs)


def _parse_forest(words: Sequence[str], rng: Generator) -> list[Edge]:
    """A node for each span of some words, with as many edges each: a word, or two parts at a random split."""
    nodes: dict[tuple[int, int], int] = {}
    edges: list[Edge] = []
    for length in range(1, SPAN_WORDS + 1):
        for start in range(SPAN_WORDS - length + 1):
            head = nodes[start, start + length] = len(nodes)
            for word, values in zip(
                _draw(words, SPAN_EDGES, rng), rng.normal(-3.0, 2.0, (SPAN_EDGES, 6)).round(4).tolist(), strict=True
            ):
                split = int(rng.integers(start + 1, start + length)) if length > 1 else 0
                tails = [nodes[start, split], nodes[split, start + length]] if length > 1 else []
                output: list[str | int] = [0, word, 1] if length > 1 else [word]
                edges.append(Edge(head, tails, output, {f"f{k}": value for k, value in enumerate(values)}))
    return edges


def _layers(words: Sequence[str], rng: Generator) -> list[Edge]:
    """A lattice of layers of states, each with arcs from random states of the layer before."""
    edges = [Edge(0, [], [], {})]
    drawn = iter(_draw(words, POSITIONS * STATES * STATE_ARCS, rng))
    for position in range(POSITIONS):
        for head in range(1 + position * STATES, 1 + (position + 1) * STATES):
            before = 1 + (position - 1) * STATES + rng.integers(0, STATES, STATE_ARCS) if position else np.array([0])
            for tail in before.tolist():
                values = rng.normal(-3.0, 2.0, 6).round(4).tolist()
                edges.append(Edge(head, [tail], [0, next(drawn)], {f"f{k}": value for k, value in enumerate(values)}))
    last = POSITIONS * STATES
    return [*edges, *(Edge(last + 1, [state], [0], {}) for state in range(last - STATES + 1, last + 1))]


def _write_forests(folder: Path, forests: Sequence[Sequence[Edge]]) -> None:
    _lines(folder / "forests.forest", [line for edges in forests for line in files.forest_text(edges)])
    _lines(folder / "travatar.json", [files.travatar_json(edges) for edges in forests])
    for number, edges in enumerate(forests):
        _lines(folder / f"joshua/{number}.hg", files.joshua(edges))
        _lines(folder / f"cdec/{number}.json", [files.cdec_json(edges)])


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
