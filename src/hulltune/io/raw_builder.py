"""Edges one by one, for the formats that Python parses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hulltune.io.raw_edges import RawEdges


class RawBuilder:
    """Collects edges whose nodes are numbered already. Feature names get columns in order of appearance."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._columns: dict[str, int] = {name: column for column, name in enumerate(names)}
        self._words: dict[str, int] = {}
        self._tails: list[int] = []
        self._labels: list[int] = []
        self._row: list[int] = []
        self._values: list[float] = []
        self._ends: list[tuple[int, int, int]] = [(0, 0, 0)]

    def add(self, tails: Sequence[int], output: Iterable[str | int], features: Iterable[tuple[str, float]]) -> None:
        """Add an edge. ``output`` has words, and −1 − i for tail i; a feature is named once."""
        self._tails.extend(tails)
        words, columns = self._words, self._columns
        self._labels.extend([word if isinstance(word, int) else words.setdefault(word, len(words)) for word in output])
        for name, value in features:
            self._row.append(columns.setdefault(name, len(columns)))
            self._values.append(value)
        self._ends.append((len(self._tails), len(self._labels), len(self._values)))

    def edges(self, nodes: int, heads: Sequence[int]) -> RawEdges:
        """All edges; ``heads`` in the order in which they were added."""
        ends = np.array(self._ends, dtype=np.int64).T
        return RawEdges(
            nodes=nodes,
            heads=np.array(heads, dtype=np.int64),
            tail_offsets=ends[0],
            tails=np.array(self._tails, dtype=np.int64),
            label_offsets=ends[1],
            labels=np.array(self._labels, dtype=np.int32),
            value_offsets=ends[2],
            columns=np.array(self._row, dtype=np.int32),
            values=np.array(self._values, dtype=np.float64),
            words=list(self._words),
            names=list(self._columns),
        )
