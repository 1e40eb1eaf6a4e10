"""Numbers of NumPy, and Decimal and Fraction, are numbers wherever one is given."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hulltune
from hulltune import Climb, Constraints, Forest, ForestBuilder, InputError
from hulltune.arrays import as_number, as_table, as_whole, plain_sum
from hulltune.metrics import Bleu, ChrF, FMeasure, Metric, PreparedMetric, Ter
from hulltune.metrics.given import ScoreTable

KINDS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "float": float,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "longdouble": np.longdouble,
    "int8": np.int8,
    "int64": np.int64,
    "uint16": np.uint16,
    "0-d array": np.array,
    "Decimal": Decimal,
    "Fraction": Fraction,
}
WHOLE = ("int", "int8", "int64", "uint16", "0-d array")

every = pytest.mark.parametrize("kind", list(KINDS))
whole = pytest.mark.parametrize("kind", WHOLE)


@every
def test_what_counts_as_a_number(kind: str) -> None:
    found = as_number(KINDS[kind](3))
    assert (type(found), found) == (float, 3.0)
    assert as_whole(KINDS[kind](3)) == (3 if kind in WHOLE else None)


@pytest.mark.parametrize(
    "value", [True, np.True_, "1", b"1", None, 1j, np.complex64(1), [1], np.array([1]), Decimal("sNaN"),
              np.datetime64(1, "s"), np.str_("1")]
)  # fmt: skip
def test_what_does_not(value: Any) -> None:
    assert as_number(value) is None
    assert as_whole(value) is None


def test_numbers_beyond_all_floats() -> None:
    assert as_number(10**400) is None
    assert as_whole(10**400) == 10**400


def test_tables_of_numbers() -> None:
    assert as_table([[1, 2]]).dtype.kind == "i"
    assert as_table([[Decimal("0.5"), 2], [Fraction(1, 4), np.float32(3)]]).tolist() == [[0.5, 2.0], [0.25, 3.0]]
    for wrong in ([["1"]], [[None]], [[1j]], [[Decimal(1), "2"]]):
        with pytest.raises(TypeError, match="got"):
            as_table(wrong)


def records(number: Callable[[int], Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": sentence,
            "refs": ["a b c"],
            "candidates": [
                {"text": "a b c", "features": {"x": number(3), "y": number(1)}, "score": number(1)},
                {"text": "a d", "features": {"x": number(1), "y": number(2)}, "score": number(2)},
            ],
        }
        for sentence in range(2)
    ]


@every
def test_features_and_scores_of_records(kind: str) -> None:
    found = hulltune.read(records(KINDS[kind]))
    expected = hulltune.read(records(float))
    np.testing.assert_array_equal(found.corpus.features.toarray(), expected.corpus.features.toarray())
    np.testing.assert_array_equal(found.scores, expected.scores)


@whole
def test_ids_of_records(kind: str) -> None:
    made = [{**record, "id": KINDS[kind](record["id"])} for record in records(float)]
    assert hulltune.read(made).ids == range(2)


@pytest.mark.parametrize("value", [np.float32("nan"), np.float64("inf"), np.True_, "1", None, np.zeros(2)])
def test_features_that_are_none(value: Any) -> None:
    made = records(float)
    made[1]["candidates"][0]["features"]["x"] = value
    with pytest.raises(InputError, match="x"):
        hulltune.read(made)


@pytest.mark.parametrize("name", [1, None, ("x",), np.str_("x")])
def test_names_of_features_are_texts(name: Any) -> None:
    made = records(float)
    made[0]["candidates"][0]["features"] = {name: 1.0, "y": 1.0}
    if isinstance(name, str):
        assert hulltune.read(made).feature_names == ("x", "y")
    else:
        with pytest.raises(InputError, match=r"records:0: candidate 0: .*name"):
            hulltune.read(made)


@every
def test_forests_by_hand(kind: str) -> None:
    number = KINDS[kind]
    builder = ForestBuilder()
    builder.add_edge("A", features={"x": number(3)}, output=["a"])
    builder.add_edge("A", features={"x": number(2)}, output=["b"])
    assert builder.build(root="A").features.toarray().tolist() == [[3.0], [2.0]]
    rows = [[number(3)], [number(2)]]
    assert Forest.from_nbest(["a", "b"], rows, feature_names=["x"]).features.toarray().tolist() == [[3.0], [2.0]]
    arcs = [(0, 1, "a", {"x": number(3)}), (0, 1, "b", {"x": number(2)})]
    lattice = Forest.from_lattice(arcs, start=0, finals={1: {"x": number(1)}})
    assert sorted(lattice.features.toarray().ravel().tolist()) == [0.0, 1.0, 2.0, 3.0]


@every
def test_weights(kind: str, tmp_path: Path) -> None:
    number = KINDS[kind]
    weights = {"x": number(1), "y": number(2)}
    dataset = hulltune.read(records(float))
    expected = hulltune.rerank(dataset, {"x": 1.0, "y": 2.0})
    assert hulltune.rerank(dataset, weights) == expected
    assert hulltune.rerank(dataset, [number(1), number(2)]) == expected
    for name in ("w.json", "w.ini", "w.txt"):
        hulltune.write_weights(weights, tmp_path / name)
        assert hulltune.read_weights(tmp_path / name) == {"x": 1.0, "y": 2.0}
    wrong: Any
    for wrong in (np.float32("nan"), np.True_, "1", None):
        with pytest.raises(InputError, match="the weight of 'x' is"):
            hulltune.write_weights({"x": wrong}, tmp_path / "w.json")


@every
def test_constraints_and_starts(kind: str) -> None:
    number = KINDS[kind]

    def weights(number: Callable[[int], Any]) -> dict[str, float]:
        constraints = Constraints(min={"x": number(1)}, max={"x": number(3)}, fix={"y": number(2)})
        found = hulltune.tune(
            records(float),
            metric="bleu",
            start={"x": number(2), "y": number(2)},
            constraints=constraints,
        )
        return dict(found.weights)

    assert weights(number) == weights(float)


@whole
def test_options_that_are_whole_numbers(kind: str) -> None:
    number = KINDS[kind]

    def tuned(number: Callable[[int], Any]) -> Any:
        search = Climb(restarts=number(2), directions=number(1), max_rounds=number(5))
        return hulltune.tune(
            records(float), metric="bleu", search=search, seed=number(3), threads=number(1),
            replicates=number(2), folds=number(2),
        )  # fmt: skip

    found, expected = tuned(number), tuned(int)
    assert found.weights == expected.weights
    same = {"timings": None, "seconds": None}
    assert json.dumps({**found.to_dict(), **same}) == json.dumps({**expected.to_dict(), **same})
    assert Bleu(max_ngram_order=number(2)).signature == Bleu(max_ngram_order=2).signature
    assert ChrF(char_order=number(4), beta=number(2)).signature == ChrF(char_order=4, beta=2).signature


@every
def test_options_that_are_numbers(kind: str) -> None:
    number = KINDS[kind]
    assert ChrF(beta=number(3)).signature == ChrF(beta=3).signature
    assert FMeasure(beta=number(3)).signature == FMeasure(beta=3).signature
    forest = Forest.from_nbest(["a", "b"], [[1.0], [2.0]], feature_names=["x"])
    assert hulltune.prune(forest, {"x": 1.0}, beam=number(1)).corpus.edges == 2
    assert ScoreTable([number(1)], ["a"], [number(2)])[1, "a"] == 2.0
    wrong: Any
    for wrong in (np.float32("nan"), np.float64("inf"), np.True_, "1"):
        with pytest.raises(InputError, match="beta is"):
            ChrF(beta=wrong)


def test_switches() -> None:
    assert Ter(normalized=np.True_).signature == Ter(normalized=True).signature  # type: ignore[arg-type]
    with pytest.raises(InputError, match="normalized is 1; expected True or False"):
        Ter(normalized=1)  # type: ignore[arg-type]


class Counting(Metric):
    """Answers with whatever ``number`` makes of a count."""

    name = "counting"
    higher_is_better = True
    columns = ("letters",)
    signature = "counting"

    def __init__(self, number: Callable[[int], Any]) -> None:
        self.number = number

    def prepare(self, references: Any, sources: Any = None) -> PreparedMetric:
        number = self.number

        class Prepared(PreparedMetric):
            def statistics(self, sentences: Any, outputs: Sequence[str]) -> Any:
                return [[number(output.count("a"))] for output in outputs]

        return Prepared()

    def score(self, statistics: Any) -> Any:
        return np.asarray(statistics[..., 0], dtype=np.float64)


@every
def test_statistics_of_a_metric(kind: str) -> None:
    found = hulltune.score(records(float), {"x": 1.0, "y": 0.0}, metric=Counting(KINDS[kind]))
    assert found == 2.0


def test_a_plain_sum_rounds_each_addition_with_every_python() -> None:
    assert plain_sum([0.1] * 10) == 0.9999999999999999  # sum() gives 1.0 since Python 3.12
    assert plain_sum(iter([1e308, 1e308])) == float("inf")
    assert plain_sum([]) == 0.0
