"""Build a forest: edge by edge, from a list or from the arcs of a lattice; order, prune and check it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.data.features import (
    DenseFeatures,
    Features,
    SparseFeatures,
    check_finite,
    dense_features,
    gather_rows,
    sparse_features,
    stays_dense,
)
from hulltune.data.forest import Forest, Pruned
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.wording import counted


class ForestBuilder:
    """Collects nodes and edges, then checks, orders, prunes and packs them.

    Features are given as a mapping from name to value (a name left out is 0) or as a sequence in the order of
    ``feature_names``. With ``feature_names=None`` the names are collected from the mappings in order of appearance.
    A node is known once it is added or is the head of an edge. Features are stored as a matrix or, if there are many
    and most are 0, as sparse rows; ``sparse`` decides instead if it is given.

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
        sparse: bool | None = None,
        dtype: type[np.float32] | type[np.float64] = np.float64,
    ) -> None:
        if dtype not in (np.float32, np.float64):
            raise InputError(f"dtype: expected float32 or float64, got {dtype!r}")
        _check_names(feature_names or ())
        self._columns = {name: column for column, name in enumerate(feature_names or ())}
        self._names_are_fixed = feature_names is not None
        self._vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self._sparse = sparse
        self._dtype = dtype
        self._nodes: dict[Hashable, int] = {}
        self._is_known = bytearray()  # for each node, whether it was added or is a head
        self._edges = Edges()

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
        edge = len(self._edges)
        if isinstance(tails, str) or not isinstance(tails, Sequence):
            raise InputError(f"edge {edge}: tails must be a list of nodes, got {tails!r}")
        # All checks first: an edge that is refused leaves nothing behind.
        row = self._row(features, edge)
        labels = self._label_row(range(len(tails)) if output is None else output, len(tails), edge)
        number = self._number(head)
        self._is_known[number] = True
        self._edges.add(number, [self._number(tail) for tail in tails], labels, list(row), list(row.values()))
        return edge

    def build(self, *, root: Hashable) -> Forest:
        """The packed forest. Nodes and edges that take no part in a derivation of ``root`` are pruned and counted."""
        if root not in self._nodes or not self._is_known[self._nodes[root]]:
            raise InputError(f"root: unknown node {root!r}; expected one of the {sum(self._is_known)} nodes added")
        names, edges = list(self._nodes), self._edges
        tails = np.array(edges.tails)
        unknown = np.flatnonzero(~np.array(self._is_known, dtype=np.bool_)[tails])
        if len(unknown):
            edge = int(np.searchsorted(np.array(edges.tail_offsets), unknown[0], side="right")) - 1
            raise InputError(
                f"edge {edge} into {names[edges.heads[edge]]!r}: unknown node {names[tails[unknown[0]]]!r} among its "
                "tails; expected a node that was added or is the head of an edge"
            )
        unpacked = UnpackedForest(
            nodes=len(names),
            root=self._nodes[root],
            heads=np.array(edges.heads),
            tail_offsets=np.array(edges.tail_offsets),
            tails=tails,
            features=edges.features(len(self._columns), self._dtype, sparse=self._sparse),
            feature_names=tuple(self._columns),
            label_offsets=np.array(edges.label_offsets),
            labels=np.array(edges.labels),
            vocabulary=self._vocabulary,
        )
        return pack(
            unpacked, node_names=names, describe_edge=lambda edge: f"edge {edge} into {names[edges.heads[edge]]!r}"
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


# Lists and lattices.


def nbest(
    outputs: Sequence[str | Sequence[str]],
    features: Any,
    *,
    feature_names: Sequence[str] | None,
    vocabulary: Vocabulary | None,
) -> Forest:
    """The forest of a candidate list: see Forest.from_nbest."""
    _check_names(feature_names or ())
    rows = _checked_rows(features, 0 if feature_names is None else len(feature_names))
    count, width = rows.shape
    if len(outputs) != count:
        raise InputError(f"features: expected a row for each of the {len(outputs)} outputs, got {count}")
    names = tuple(feature_names) if feature_names is not None else tuple(f"f{i}" for i in range(width))
    if len(names) != width:
        raise InputError(f"feature_names: got {counted(len(names), 'name')} for {counted(width, 'column')} of features")
    check_finite(rows, names, "hypothesis {}".format)
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    token_id = vocabulary.id
    for number, output in enumerate(outputs):
        if not isinstance(output, str) and not all(isinstance(token, str) for token in output):
            raise InputError(f"hypothesis {number}: expected a text or a list of tokens, got {output!r}")
    labels = [[token_id(token) for token in (text.split() if isinstance(text, str) else text)] for text in outputs]
    lengths = np.array([0, *map(len, labels)], dtype=np.int64)
    return Forest(
        edge_offsets=np.array([0, count], dtype=np.int64),
        tail_offsets=np.zeros(count + 1, dtype=np.int64),
        tails=np.empty(0, dtype=np.int32),
        features=rows,
        feature_names=names,
        label_offsets=np.cumsum(lengths),
        labels=np.array([label for row in labels for label in row], dtype=np.int32),
        vocabulary=vocabulary,
        edge_ids=np.arange(count, dtype=np.int64),
    )


def lattice(
    arcs: Iterable[tuple[Hashable, Hashable, str | Sequence[str] | None, Any]],
    *,
    start: Hashable,
    finals: Sequence[Hashable] | Mapping[Hashable, Any],
    feature_names: Sequence[str] | None,
    vocabulary: Vocabulary | None,
) -> Forest:
    """The forest of a word lattice: see Forest.from_lattice.

    The start state is an edge without tails and output; the root has an edge from each final state.
    """
    builder = ForestBuilder(feature_names=feature_names, vocabulary=vocabulary)
    states: set[Hashable] = set()
    for number, arc in enumerate(arcs):  # one after the other: millions of them take gigabytes as Python objects
        if len(arc) != 4:
            raise InputError(f"arc {number}: expected (from, to, word or None, features), got {arc!r}")
        source, target, word, features = arc
        states.update((source, target))
        builder.add_node(_State(source))
        # No word at all is an arc without output: an empty word would count as one.
        words: list[Any] = ([word] if word else []) if word is None or isinstance(word, str) else list(word)
        if not all(isinstance(token, str) and token for token in words):
            raise InputError(f"the arc from {source!r} to {target!r}: expected words as texts, got {word!r}")
        builder.add_edge(_State(target), [_State(source)], features=features, output=[0, *words])
    if start not in states and not (not states and start in finals):
        raise InputError(f"start: unknown state {start!r}; no arc touches it")
    if not finals:
        raise InputError("finals: expected at least one accepting state, got none")
    for state in finals:
        if state != start and state not in states:
            raise InputError(f"finals: unknown state {state!r}; no arc touches it")
    builder.add_edge(_State(start), output=[])
    builder.add_node(_ROOT)
    for state in finals:
        final_features = finals[state] if isinstance(finals, Mapping) else None
        builder.add_edge(_ROOT, [_State(state)], features=final_features, output=[0])
    return builder.build(root=_ROOT)


class _State(tuple[Hashable]):
    """The node name of a state: a type of its own, so that no state can be mistaken for the root."""

    __slots__ = ()

    def __new__(cls, state: Hashable) -> _State:
        return super().__new__(cls, (state,))

    def __repr__(self) -> str:
        return str(self[0])


_ROOT = "the end"


def _check_names(names: Sequence[str]) -> None:
    """Refuse one text in place of a list of feature names, and a name that stands twice."""
    if isinstance(names, str):
        raise InputError(f"feature_names: expected a list of names, got the text {names!r}")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"feature_names: {name!r} is named twice")
        seen.add(name)


def _checked_rows(features: Any, width: int) -> Features:
    """The feature rows of a matrix or of sparse rows (scipy's CSR matrices too), checked."""
    if isinstance(features, DenseFeatures):
        return features
    if isinstance(features, SparseFeatures):
        return sparse_features(features.offsets, features.columns, features.values, features.width)
    if all(hasattr(features, name) for name in ("indptr", "indices", "data", "shape")):
        return sparse_features(features.indptr, features.indices, features.data, features.shape[1])
    if np.shape(features) == (0,):
        return DenseFeatures(np.zeros((0, width), order="F"))
    return dense_features(features)


# Edges, and a forest of them.


class Edges:
    """Edges in the order in which they are added: numbers of nodes, labels, and columns and values of features.

    They are arrays of numbers, because lists of Python objects take ten times the memory.
    """

    def __init__(self) -> None:
        self.heads = array("q")
        self.tails = array("q")
        self.tail_offsets = array("q", [0])
        self.labels = array("i")
        """Numbers of words; −1 − i stands for tail i."""
        self.label_offsets = array("q", [0])
        self.columns = array("i")
        """Numbers of features, none twice in an edge."""
        self.values = array("d")
        self.value_offsets = array("q", [0])

    def __len__(self) -> int:
        return len(self.heads)

    def add(self, head: int, tails: list[int], labels: list[int], columns: list[int], values: list[float]) -> None:
        """Add an edge."""
        self.heads.append(head)
        self.tails.fromlist(tails)
        self.tail_offsets.append(len(self.tails))
        self.labels.fromlist(labels)
        self.label_offsets.append(len(self.labels))
        self.columns.fromlist(columns)
        self.values.fromlist(values)
        self.value_offsets.append(len(self.values))

    def features(self, width: int, dtype: Any = np.float64, *, sparse: bool | None = None) -> Features:
        """The features of all edges, ``width`` of them: sparse rows if ``sparse`` or, if that is None, where most are 0
        (see stays_dense); otherwise a matrix.
        """
        offsets, columns = np.array(self.value_offsets), np.array(self.columns)
        with np.errstate(over="ignore"):  # too large for float32: refused as not finite
            values = np.array(self.values).astype(dtype)
        if sparse if sparse is not None else not stays_dense(width, len(self), len(values)):
            return SparseFeatures(offsets, columns, values, width)
        matrix = np.zeros((len(self), width), dtype=dtype, order="F")
        matrix[np.repeat(np.arange(len(self)), np.diff(offsets)), columns] = values
        return DenseFeatures(matrix)


@dataclass(frozen=True, eq=False)
class UnpackedForest:
    """Edges whose heads and tails number nodes from 0 in any order, perhaps with useless ones among them; the fields
    are those of Forest.
    """

    nodes: int
    root: int
    heads: Int64s
    tail_offsets: Int64s
    tails: Int64s
    features: Features
    feature_names: tuple[str, ...]
    label_offsets: Int64s
    labels: Int32s
    vocabulary: Vocabulary


NodeNames = Sequence[Hashable] | Int64s


class CycleError(InputError):
    """A cycle of nodes: there is no order to compute them in."""

    def __init__(self, cycle: Sequence[int], names: NodeNames) -> None:
        self.cycle = cycle
        called = [str(names[node]) for node in cycle]
        shown = called if len(called) <= 12 else [*called[:6], f"… ({len(called) - 12} more)", *called[-6:]]
        super().__init__(f"the forest has a cycle: {' → '.join(shown)}; expected an acyclic graph")

    def called(self, names: NodeNames) -> CycleError:
        """The error with other names of the nodes: readers make those of a file only once there is a cycle."""
        return CycleError(self.cycle, names)


def pack(
    unpacked: UnpackedForest,
    *,
    node_names: Sequence[Hashable] | None = None,
    describe_edge: Callable[[int], str] = "edge {}".format,
) -> Forest:
    """The Forest of these edges: ordered, pruned and checked; linear in the input."""
    from hulltune.kernels.forests import graph

    nodes, heads, features = unpacked.nodes, unpacked.heads, unpacked.features
    tail_offsets, tails = unpacked.tail_offsets, unpacked.tails
    label_offsets, labels = unpacked.label_offsets, unpacked.labels
    if features.shape != (len(heads), len(unpacked.feature_names)):
        raise InputError(
            f"features: expected {len(heads)} rows (edges) of {len(unpacked.feature_names)} values, "
            f"got {features.shape}"
        )
    check_finite(features, unpacked.feature_names, describe_edge)
    order = graph.topological_order(nodes, heads, tail_offsets, tails)
    if len(order) < nodes:
        cycle = _find_cycle(set(range(nodes)) - set(order.tolist()), heads, tail_offsets, tails)
        raise CycleError(cycle, range(nodes) if node_names is None else node_names)
    kept_nodes, kept_edges, edge_offsets = graph.useful_parts(order, unpacked.root, heads, tail_offsets, tails)
    number = np.full(nodes, -1, dtype=np.int32)
    number[kept_nodes] = np.arange(len(kept_nodes), dtype=np.int32)
    if not np.array_equal(kept_edges, np.arange(len(heads))):  # in most files all edges stay in place
        tail_offsets, tail_index = gather_rows(tail_offsets, kept_edges)
        label_offsets, label_index = gather_rows(label_offsets, kept_edges)
        tails, labels = tails[tail_index], labels[label_index]
        features = features.take(kept_edges)
    else:
        features = features.copy()
    return Forest(
        edge_offsets=edge_offsets,
        tail_offsets=tail_offsets,
        tails=number[tails],
        features=features,
        feature_names=unpacked.feature_names,
        label_offsets=label_offsets,
        labels=labels,
        vocabulary=unpacked.vocabulary,
        edge_ids=kept_edges,
        node_names=None if node_names is None else tuple(node_names[node] for node in kept_nodes),
        pruned=Pruned(nodes=nodes - len(kept_nodes), edges=len(heads) - len(kept_edges)),
    )


def _find_cycle(stuck: set[int], heads: Int64s, tail_offsets: Int64s, tails: Int64s) -> list[int]:
    """One cycle among the nodes that no topological order could place, from tail to head."""
    a_stuck_tail: dict[int, int] = {}
    for edge, head in enumerate(heads.tolist()):
        if head in stuck and head not in a_stuck_tail:
            for tail in tails[tail_offsets[edge] : tail_offsets[edge + 1]].tolist():
                if tail in stuck:
                    a_stuck_tail[head] = tail
                    break
    node = min(stuck)
    place: dict[int, int] = {}
    while node not in place:
        place[node] = len(place)
        node = a_stuck_tail[node]
    cycle = list(place)[place[node] :]
    return [node, *reversed(cycle)]
