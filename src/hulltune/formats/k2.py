"""Lattices from objects of k2. Any object with the same attributes will do, so k2 is no dependency.

An Fsa has ``arcs`` with rows of (source, destination, label, …) and ``scores``, one a row, larger for better arcs.
State 0 is the start, the last state is the only final one, and the arcs into it have label −1. An FsaVec holds several
Fsas along a third, first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.features import DenseFeatures
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import Arcs, lattice_forest, negated
from hulltune.formats.forest_files import ForestOptions, NamedForest
from hulltune.formats.symbols import read_symbols, words_of
from hulltune.formats.word_rules import MARKS, number_words, word_rule

SCORE = "score"


def from_k2(
    fsa: Any,
    *,
    features: Mapping[str, Any] | Sequence[str] | None = None,
    labels: Any = None,
    words: Mapping[int, str] | Callable[[int], str] | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    options: ForestOptions | None = None,
    vocabulary: Vocabulary | None = None,
) -> Iterator[NamedForest]:
    """The forests of an Fsa (one) or an FsaVec (one each), in order; O(arcs).

    ``features`` maps names to tensors with a value for each arc, or lists attributes of the Fsa that are such tensors
    (``lm_scores``); by default it is the one feature score, ``fsa.scores``. ``labels`` is a tensor of the numbers of
    words, by default ``fsa.aux_labels`` if that is a tensor, otherwise the labels of the arcs; 0 is no word, and
    neither is −1 before the final state. ``words`` maps numbers to words (a symbol table of k2 does), by default
    ``options.symbols`` or the number itself. ``names`` are the utterances.

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from hulltune import decode
    >>> from hulltune.formats.k2 import from_k2
    >>> rows = np.array([[0, 1, 5, 0], [0, 1, 6, 0], [1, 2, -1, 0]])                 # in the place of k2.Fsa(…)
    >>> arcs = SimpleNamespace(values=rows, num_axes=2, row_splits=lambda axis: np.array([0, 2, 3, 3]))
    >>> fsa = SimpleNamespace(arcs=arcs, scores=np.array([-1.0, -0.5, 0.0]))
    >>> (named,) = from_k2(fsa, words={5: "hello", 6: "yellow"})
    >>> decode(named.forest, {"score": 1.0}).outputs()
    [['yellow']]
    """
    options = ForestOptions() if options is None else options
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    arcs = _arc_rows(fsa)
    fsas = _fsas(fsa, arcs)
    if names is not None and len(names) != len(fsas):
        raise InputError(f"names: expected one for each of the {len(fsas)} lattices, got {len(names)}")
    numbers = _labels(fsa, arcs, labels)
    columns = _features(fsa, features, len(arcs))
    for number, (first, last, states) in enumerate(fsas):
        where = f"lattice {number}" if names is None else f"lattice {number} ({names[number]})"
        rows = arcs[first:last]
        _check_states(rows, states, where)
        matrix = np.zeros((len(rows) + 2, len(columns)), order="F")
        for column, values in enumerate(columns.values()):
            matrix[1:-1, column] = values[first:last]
        forest = lattice_forest(
            Arcs(
                states=states,
                start=0,
                sources=rows[:, 0],
                targets=rows[:, 1],
                words=_words(numbers[first:last], words, options, vocabulary, where),
                finals=np.array([states - 1], dtype=np.int64),
                features=negated(DenseFeatures(matrix), tuple(columns), options, costs=False),
                feature_names=tuple(columns),
            ),
            vocabulary,
            where=where,
        )
        yield NamedForest(forest, None if names is None else names[number])


def _array(tensor: Any, what: str) -> NDArray[Any]:
    """A tensor of any library as an array: on the CPU, without its gradient."""
    for step in ("detach", "cpu"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    try:
        return np.asarray(tensor)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected a tensor, got {type(tensor).__name__}") from None


def _called(value: Any) -> Any:
    """The value of an attribute, which is a method in some releases of k2."""
    return value() if callable(value) else value


def _arc_rows(fsa: Any) -> Int64s:
    """Source, destination and label of every arc."""
    arcs = getattr(fsa, "arcs", None)
    if arcs is None:
        raise InputError(f"expected an Fsa of k2 (an object with arcs and scores), got {type(fsa).__name__}")
    rows = _array(_called(getattr(arcs, "values", arcs)), "arcs")
    if rows.ndim != 2 or rows.shape[1] < 3 or not np.issubdtype(rows.dtype, np.integer):
        raise InputError(f"arcs: expected rows of source, destination, label and score, got {rows.dtype} {rows.shape}")
    return rows[:, :3].astype(np.int64)


def _row_splits(fsa: Any, axis: int) -> Int64s:
    arcs = fsa.arcs
    shape = _called(arcs.shape) if hasattr(arcs, "shape") and not hasattr(arcs, "row_splits") else arcs
    if not hasattr(shape, "row_splits"):
        raise InputError("arcs: expected a ragged tensor with row_splits, got none")
    return _array(shape.row_splits(axis), "arcs.row_splits").astype(np.int64)


def _fsas(fsa: Any, arcs: Int64s) -> list[tuple[int, int, int]]:
    """The first arc, the arc after the last, and the number of states of every Fsa."""
    axes = getattr(fsa.arcs, "num_axes", None)
    axes = int(_called(axes)) if axes is not None else len(getattr(fsa, "shape", (0, 0)))
    if axes not in (2, 3):
        raise InputError(f"arcs: expected 2 axes (an Fsa) or 3 (an FsaVec), got {axes}")
    of_states = _row_splits(fsa, axes - 1)
    states = _row_splits(fsa, 1) if axes == 3 else np.array([0, len(of_states) - 1])
    for splits, what, end in ((of_states, "arcs", len(arcs)), (states, "states", len(of_states) - 1)):
        if not len(splits) or splits[0] != 0 or splits[-1] != end or np.any(np.diff(splits) < 0):
            raise InputError(f"arcs.row_splits: expected numbers of {what} that grow from 0 to {end}")
    return [(int(of_states[first]), int(of_states[last]), int(last - first)) for first, last in pairwise(states)]


def _check_states(rows: Int64s, states: int, where: str) -> None:
    if states < 2:
        raise InputError(f"{where}: {states} states; expected a start state and a final one at least")
    beyond = np.any((rows[:, :2] < 0) | (rows[:, :2] >= states), axis=1)
    wrong = np.flatnonzero(beyond | ((rows[:, 2] == -1) != (rows[:, 1] == states - 1)))
    if len(wrong):
        source, target, label = rows[wrong[0]].tolist()
        raise InputError(
            f"{where}: arc {wrong[0]} from state {source} to {target} has label {label}; expected states from 0 to "
            f"{states - 1}, and label −1 on the arcs to the last one and on no others"
        )


def _of_arcs(tensor: Any, what: str, arcs: int, kind: type) -> NDArray[Any]:
    """A tensor with a number for each arc."""
    values = _array(tensor, what)
    if values.shape != (arcs,) or not np.issubdtype(values.dtype, kind):
        number = "whole number" if kind is np.integer else "number"
        raise InputError(f"{what}: expected a {number} for each of {arcs} arcs, got {values.dtype} {values.shape}")
    return values


def _labels(fsa: Any, arcs: Int64s, labels: Any) -> Int64s:
    labels = getattr(fsa, "aux_labels", None) if labels is None else labels
    if labels is None:
        return arcs[:, 2]
    if hasattr(labels, "row_splits"):
        raise InputError("aux_labels: a ragged tensor (several words an arc); give labels, or invert the Fsa")
    return _of_arcs(labels, "labels", len(arcs), np.integer).astype(np.int64)


def _features(fsa: Any, features: Mapping[str, Any] | Sequence[str] | None, arcs: int) -> dict[str, Floats]:
    if features is None:
        features = {SCORE: getattr(fsa, "scores", None)}
    if isinstance(features, str):
        raise InputError(f"features: expected tensors by name or a list of names, got the text {features!r}")
    if not isinstance(features, Mapping):
        lacking = next((name for name in features if not hasattr(fsa, name)), None)
        if lacking is not None:
            raise InputError(f"features: the Fsa has no attribute {lacking!r}; expected a tensor with a value an arc")
        features = {name: getattr(fsa, name) for name in features}
    return {
        name: _of_arcs(tensor, f"feature {name!r}", arcs, np.number).astype(np.float64)
        for name, tensor in features.items()
    }


def _words(
    numbers: Int64s,
    words: Mapping[int, str] | Callable[[int], str] | Sequence[str] | None,
    options: ForestOptions,
    vocabulary: Vocabulary,
    where: str,
) -> Int32s:
    from hulltune.kernels.reading.interning import number_distinct

    distinct, places = number_distinct(np.ascontiguousarray(numbers))
    some = distinct > 0
    if np.any(distinct < -1):
        raise InputError(f"{where}: label {distinct.min()}; expected −1, 0 or the number of a word")
    labels = distinct[some].tolist()
    if words is None:
        texts = words_of(labels, None if options.symbols is None else read_symbols(options.symbols), where)
    else:
        look_up = words if callable(words) else words.__getitem__
        try:
            texts = [str(look_up(label)) for label in labels]
        except (KeyError, IndexError) as error:
            raise InputError(f"{where}: a label has no word ({error}); is it the symbol table of this model?") from None
    of_distinct = np.full(len(distinct), -1, dtype=np.int32)
    of_distinct[some] = number_words(texts, word_rule(options, MARKS), vocabulary)
    return of_distinct[places]
