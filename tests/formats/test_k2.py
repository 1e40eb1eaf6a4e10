"""k2's lattices, from objects that are shaped as its documentation says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError
from hulltune.formats.forest_files import ForestOptions
from hulltune.formats.k2 import from_k2
from tests.formats.lattice_oracles import Lattice, forest_paths

Arc = tuple[int, int, int, float]


class Tensor:
    """A minimal stand-in for torch.Tensor: numbers that must be detached and moved first."""

    def __init__(self, values: Any, *, ready: bool = False) -> None:
        self._values = np.asarray(values)
        self._ready = ready

    def detach(self) -> Tensor:
        return Tensor(self._values, ready=True)

    def cpu(self) -> Tensor:
        assert self._ready
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert self._ready
        return self._values if dtype is None else self._values.astype(dtype)


class Shape:
    def __init__(self, *splits: Iterable[int]) -> None:
        self._splits = splits

    def row_splits(self, axis: int) -> Tensor:
        return Tensor(np.array(list(self._splits[axis - 1]), dtype=np.int32))


class RaggedArc:
    def __init__(self, rows: Any, *splits: Iterable[int]) -> None:
        self._rows, self._splits = rows, splits

    def values(self) -> Tensor:
        return Tensor(self._rows)

    def shape(self) -> Shape:
        return Shape(*self._splits)

    def num_axes(self) -> int:
        return len(self._splits) + 1


class Fsa:
    """An Fsa of arcs (source, destination, label, score) sorted by source, or an FsaVec of several lists of them."""

    def __init__(self, *fsas: list[Arc], vector: bool | None = None, **attributes: Any) -> None:
        vector = len(fsas) != 1 if vector is None else vector
        states_of, arcs_of = [0], [0]
        for arcs in fsas:
            states = 1 + max((max(arc[:2]) for arc in arcs), default=-1)
            for state in range(states):
                arcs_of.append(arcs_of[-1] + sum(arc[0] == state for arc in arcs))
            states_of.append(states_of[-1] + states)
        together = [arc for arcs in fsas for arc in arcs]
        scores = np.array([arc[3] for arc in together], dtype=np.float32)
        rows = np.array([arc[:3] for arc in together], dtype=np.int32).reshape(-1, 3)
        rows = np.column_stack([rows, scores.view(np.int32)])
        self.arcs = RaggedArc(rows, states_of, arcs_of) if vector else RaggedArc(rows, arcs_of)
        self.scores = Tensor(scores)
        for name, value in attributes.items():
            setattr(self, name, value)


SIMPLE: list[Arc] = [(0, 1, 10, 0.5), (0, 1, 0, -1.0), (1, 2, 20, 2.0), (2, 3, -1, 0.25)]
OTHER: list[Arc] = [(0, 1, 30, 1.0), (1, 2, -1, 0.0)]
PATHS = {(("10", "20"), ((0.5,), (2.0,), (0.25,))): 1, (("20",), ((-1.0,), (2.0,), (0.25,))): 1}


def test_one_fsa() -> None:
    (named,) = from_k2(Fsa(SIMPLE))
    assert named.name is None
    assert named.forest.feature_names == ("score",)
    assert forest_paths(named.forest) == PATHS


def test_a_vector_of_them_with_names() -> None:
    first, second = from_k2(Fsa(SIMPLE, OTHER), names=["u1", "u2"])
    assert (first.name, second.name) == ("u1", "u2")
    assert forest_paths(first.forest) == PATHS
    assert forest_paths(second.forest) == {(("30",), ((1.0,),)): 1}
    (alone,) = from_k2(Fsa(SIMPLE, vector=True))
    assert forest_paths(alone.forest) == PATHS


def test_features_words_and_output_labels(tmp_path: Path) -> None:
    am, lm = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([0.0, 0.5, 0.0, 0.25])
    fsa = Fsa(SIMPLE, am_scores=am, lm_scores=lm, aux_labels=Tensor([1, 2, 0, -1]))
    (named,) = from_k2(fsa, features=["am_scores", "lm_scores"], words={1: "one", 2: "</s>"})
    expected = {
        (("one",), ((1.0, 0.0), (3.0, 0.0), (4.0, 0.25))): 1,
        ((), ((2.0, 0.5), (3.0, 0.0), (4.0, 0.25))): 1,
    }
    assert named.forest.feature_names == ("am_scores", "lm_scores")
    assert forest_paths(named.forest) == expected
    (named,) = from_k2(fsa, features={"am": am, "lm": lm}, words=["zero", "one", "</s>"])
    assert named.forest.feature_names == ("am", "lm")
    assert forest_paths(named.forest) == expected
    (tmp_path / "words.txt").write_text("one 1\n</s> 2\n")
    (named,) = from_k2(fsa, features={"am": am, "lm": lm}, options=ForestOptions(symbols=tmp_path / "words.txt"))
    assert forest_paths(named.forest) == expected
    (named,) = from_k2(fsa, labels=Tensor([5, 5, 5, -1]), words="word{}".format, options=ForestOptions(negate=True))
    assert {words for words, _ in forest_paths(named.forest)} == {("word5", "word5")}
    assert named.forest.features.toarray().sum() == -(0.5 - 1 + 2 + 0.25)


class RaggedTensor:
    def row_splits(self, axis: int) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    ("fsa", "options", "message"),
    [
        (object(), {}, "expected an Fsa of k2 .* got object"),
        (Fsa(SIMPLE), {"names": ["a", "b"]}, "names: expected one for each of the 1 lattices, got 2"),
        (Fsa(SIMPLE), {"features": ["lm_scores"]}, "features: the Fsa has no attribute 'lm_scores'"),
        (Fsa(SIMPLE), {"features": "scores"}, "features: expected tensors by name or a list of names"),
        (Fsa(SIMPLE), {"features": {"x": Tensor([1.0])}}, "feature 'x': expected a number for each of 4 arcs"),
        (Fsa(SIMPLE), {"labels": Tensor([1.0] * 4)}, "labels: expected a whole number for each of 4 arcs"),
        (Fsa(SIMPLE), {"labels": Tensor([-2, 0, 0, -1])}, "lattice 0: label -2; expected −1, 0 or the number"),
        (Fsa(SIMPLE), {"words": {10: "a"}}, r"lattice 0: a label has no word \(20\)"),
        (Fsa(SIMPLE, aux_labels=RaggedTensor()), {}, "aux_labels: a ragged tensor"),
        (Fsa(SIMPLE, []), {}, "lattice 1: 0 states; expected a start state and a final one"),
        (Fsa([(0, 1, 5, 1.0), (1, 2, 6, 0.0)]), {}, "lattice 0: arc 1 from state 1 to 2 has label 6; expected"),
        (Fsa([(0, 1, -1, 1.0), (1, 2, -1, 0.0)]), {}, "lattice 0: arc 0 from state 0 to 1 has label -1"),
        (Fsa([(0, 1, 5, float("inf")), (1, 2, -1, 0.0)]), {}, "arc 0, from state 0 to 1: feature 'score' is inf"),
        (Fsa([(0, 1, 5, 1.0), (1, 0, 5, 1.0), (1, 2, -1, 0.0)]), {}, "lattice 0: the forest has a cycle"),
        (Fsa(OTHER, [(0, 1, 5, 1.0), (2, 3, -1, 0.0)]), {"names": ["a", "b"]}, r"lattice 1 \(b\): no path leads"),
    ],
)  # fmt: skip
def test_objects_at_fault(fsa: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(from_k2(fsa, **options))


def test_row_splits_at_fault() -> None:
    for splits in ([0, 3], [1, 4], [0, 5, 4], []):
        fsa = Fsa(SIMPLE)
        fsa.arcs = RaggedArc(np.zeros((4, 4), dtype=np.int32), splits)
        with pytest.raises(InputError, match=r"arcs\.row_splits: expected numbers of arcs that grow from 0 to 4"):
            list(from_k2(fsa))
    fsa.arcs = RaggedArc(np.zeros((4, 2), dtype=np.int32), [0, 4])
    with pytest.raises(InputError, match="arcs: expected rows of source, destination, label"):
        list(from_k2(fsa))


singles = st.floats(-1000, 1000, width=32)


@st.composite
def fsas(draw: st.DrawFn) -> list[Arc]:
    states = draw(st.integers(2, 6))
    pairs = [(state, state + 1) for state in range(states - 1)]
    pairs += draw(st.lists(st.sampled_from([(i, j) for j in range(states) for i in range(j)]), max_size=6))
    return [
        (source, target, -1 if target == states - 1 else draw(st.integers(0, 3)), draw(singles))
        for source, target in sorted(pairs)
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(fsas(), min_size=1, max_size=3))
def test_the_paths_are_those_of_the_arcs(several: list[list[Arc]]) -> None:
    forests = list(from_k2(Fsa(*several)))
    assert len(forests) == len(several)
    for named, arcs in zip(forests, several, strict=True):
        lattice = Lattice(0, finals={max(arc[1] for arc in arcs): (0.0,)})
        lattice.arcs = [(s, t, str(label) if label > 0 else None, (score,)) for s, t, label, score in arcs]
        assert forest_paths(named.forest) == lattice.paths()
