"""Build a forest edge by edge, in any order, with names for nodes and features."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from hulltune.arrays import Int64s
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.packing import pack
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError


class ForestBuilder:
    """Collects nodes and edges, then checks, orders, prunes and packs them.

    Features are given as a mapping from name to value (a name left out is 0) or as a sequence in the order of
    ``feature_names``. With ``feature_names=None`` the names are collected from the mappings in order of appearance.
    A node is known once it is added or is the head of an edge.

    >>> from hulltune import ForestBuilder
    >>> builder = ForestBuilder(feature_names=["lm", "length"])
    >>> _ = builder.add_edge("NP", features={"lm": -1.5, "length": 2}, output=["the", "cat"])
    >>> _ = builder.add_edge("S", ["NP"], features=[-0.5, 1], output=[0, "sleeps"])
    >>> builder.build(root="S")
    Forest(lattice: 2 nodes, 2 edges, 2 features)
    """

    def __init__(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        vocabulary: Vocabulary | None = None,
        sparse: bool = False,
        dtype: type[np.float32] | type[np.float64] = np.float64,
    ) -> None:
        if dtype not in (np.float32, np.float64):
            raise InputError(f"dtype: expected float32 or float64, got {dtype!r}")
        check_names(feature_names or ())
        self._columns = {name: column for column, name in enumerate(feature_names or ())}
        self._names_are_fixed = feature_names is not None
        self._vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self._sparse = sparse
        self._dtype = dtype
        self._nodes: dict[Hashable, int] = {}
        self._is_known = bytearray()  # for each node, whether it was added or is a head
        # Arrays of numbers, because lists of Python objects take ten times the memory.
        self._heads = array("q")
        self._arities, self._tails = array("q"), array("q")
        self._sizes, self._places, self._values = array("q"), array("i"), array("d")
        self._lengths, self._labels = array("q"), array("i")

    def add_node(self, name: Hashable) -> None:
        """Make a node known. The head of an edge is known without this."""
        self._is_known[self._number(name)] = True

    def add_edge(
        self,
        head: Hashable,
        tails: Sequence[Hashable] = (),
        *,
        features: Mapping[str, float] | Sequence[float] | None = None,
        output: Sequence[str | int] | None = None,
    ) -> int:
        """Add an edge and return its number. Without ``features`` all of them are 0.

        ``output`` lists tokens, and integers i where the output of tail i goes; by default the tails in order.
        """
        edge = len(self._heads)
        if isinstance(tails, str) or not isinstance(tails, Sequence):
            raise InputError(f"edge {edge}: tails must be a list of nodes, got {tails!r}")
        # All checks first: an edge that is refused leaves nothing behind.
        row = self._row(features, edge)
        labels = self._label_row(range(len(tails)) if output is None else output, len(tails), edge)
        self._sizes.append(len(row))
        self._places.extend(row)
        self._values.extend(row.values())
        self._lengths.append(len(labels))
        self._labels.extend(labels)
        self._heads.append(self._number(head))
        self._is_known[self._heads[-1]] = True
        self._arities.append(len(tails))
        self._tails.extend([self._number(tail) for tail in tails])
        return edge

    def build(self, *, root: Hashable) -> Forest:
        """The packed forest. Nodes and edges that take no part in a derivation of ``root`` are pruned and counted."""
        if root not in self._nodes or not self._is_known[self._nodes[root]]:
            raise InputError(f"root: unknown node {root!r}; expected one of the {sum(self._is_known)} nodes added")
        names = list(self._nodes)
        tails, tail_offsets = np.array(self._tails, dtype=np.int64), _offsets(self._arities)
        unknown = np.flatnonzero(~np.array(self._is_known, dtype=np.bool_)[tails])
        if len(unknown):
            edge = int(np.searchsorted(tail_offsets, unknown[0], side="right")) - 1
            raise InputError(
                f"edge {edge} into {names[self._heads[edge]]!r}: unknown node {names[tails[unknown[0]]]!r} among its "
                "tails; expected a node that was added or is the head of an edge"
            )
        return pack(
            nodes=len(names),
            root=self._nodes[root],
            heads=np.array(self._heads, dtype=np.int64),
            tail_offsets=tail_offsets,
            tails=tails,
            features=self._pack_features(),
            feature_names=tuple(self._columns),
            label_offsets=_offsets(self._lengths),
            labels=np.array(self._labels, dtype=np.int32),
            vocabulary=self._vocabulary,
            node_names=names,
            describe_edge=lambda edge: f"edge {edge} into {names[self._heads[edge]]!r}",
        )

    def _number(self, name: Hashable) -> int:
        number = self._nodes.setdefault(name, len(self._nodes))
        if number == len(self._is_known):
            self._is_known.append(False)
        return number

    def _row(self, features: Mapping[str, float] | Sequence[float] | None, edge: int) -> dict[int, float]:
        if features is None:
            return {}
        if isinstance(features, Mapping):
            return {self._column(name, edge): self._value(value, name, edge) for name, value in features.items()}
        untyped: Any = features  # by its type it is no text, but callers pass one
        if isinstance(untyped, str) or len(features) != len(self._columns):
            expected = (
                f"{len(self._columns)} ({', '.join(self._columns)})" if self._columns else "names with the values"
            )
            raise InputError(f"edge {edge}: got {len(features)} feature values, expected {expected}")
        return {
            i: self._value(value, name, edge) for (name, i), value in zip(self._columns.items(), features, strict=True)
        }

    def _column(self, name: str, edge: int) -> int:
        if self._names_are_fixed and name not in self._columns:
            raise InputError(f"edge {edge}: unknown feature {name!r}; expected one of {', '.join(self._columns)}")
        return self._columns.setdefault(name, len(self._columns))

    @staticmethod
    def _value(value: Any, name: str, edge: int) -> float:
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"edge {edge}: feature {name!r} is {str(value)[:50]!r}; expected a number") from None

    def _label_row(self, output: Sequence[Any] | range, arity: int, edge: int) -> list[int]:
        if isinstance(output, str):
            output = output.split()
        row = []
        for item in output:
            if isinstance(item, str):
                row.append(self._vocabulary.id(item))
            elif isinstance(item, int | np.integer) and 0 <= item < arity:
                row.append(-1 - int(item))
            else:
                raise InputError(f"edge {edge}: output names tail {item!r}, but the edge has {arity} tail(s)")
        return row

    def _pack_features(self) -> Features:
        width = len(self._columns)
        with np.errstate(over="ignore"):  # too large for float32: refused as not finite
            columns, values = np.array(self._places, dtype=np.int32), np.array(self._values).astype(self._dtype)
        if self._sparse:
            return SparseFeatures(_offsets(self._sizes), columns, values, width)
        matrix = np.zeros((len(self._sizes), width), dtype=self._dtype, order="F")
        matrix[np.repeat(np.arange(len(self._sizes)), self._sizes), columns] = values
        return DenseFeatures(matrix)


def check_names(names: Sequence[str]) -> None:
    """Refuse one text in place of a list of feature names, and a name that stands twice."""
    if isinstance(names, str):
        raise InputError(f"feature_names: expected a list of names, got the text {names!r}")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"feature_names: {name!r} is named twice")
        seen.add(name)


def _offsets(lengths: array[int]) -> Int64s:
    return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64)
