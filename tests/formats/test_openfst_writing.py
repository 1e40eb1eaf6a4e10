"""OpenFst's text format, written and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError
from hulltune.data import Forest
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.openfst import read_openfst_text, write_openfst_text
from tests.formats.lattice_oracles import (
    forest_paths,
    read_all,
)
from tests.formats.lattice_strategies import lattices

NAMES: list[tuple[str, ...]] = [("score",), ("score_0", "score_1"), ("f1", "f2", "f3"), ("f1",), ("f300", "f7000"), ()]


doubles = st.one_of(st.sampled_from([0.0, 1.0, -2.5]), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_what_is_written_is_read_back_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, names: tuple[str, ...], data: st.DataObject
) -> None:
    words = st.sampled_from(data.draw(st.sampled_from([[None, "a", "é", "00"], [None, "1", "22"]])))
    lattice = data.draw(lattices(words, doubles, len(names)))
    forest = Forest.from_lattice(
        lattice.arcs, start=lattice.start, finals=dict(lattice.finals.items()), feature_names=names
    )
    folder = tmp_path_factory.mktemp("fst")
    write_openfst_text(folder / "a.txt", [NamedForest(forest)])
    (named,) = read_all(read_openfst_text, folder / "a.txt", drop=frozenset())
    assert named.forest.feature_names == names
    assert forest_paths(named.forest) == forest_paths(forest)
    write_openfst_text(folder / "b.txt", [named])
    (again,) = read_all(read_openfst_text, folder / "b.txt", drop=frozenset())
    write_openfst_text(folder / "c.txt", [again])
    assert (folder / "b.txt").read_bytes() == (folder / "c.txt").read_bytes()


def test_other_features_are_numbered(tmp_path: Path) -> None:
    forest = Forest.from_nbest(["a b", "c"], [[1.0, 0.0], [2.0, 3.0]], feature_names=("lm", "tm"))
    write_openfst_text(tmp_path / "a.txt", [NamedForest(forest)])
    (named,) = read_all(read_openfst_text, tmp_path / "a.txt")
    assert named.forest.feature_names == ("f1", "f2")
    assert forest_paths(named.forest) == forest_paths(forest)


def test_words_that_look_like_marks_of_hifst(tmp_path: Path) -> None:
    forest = Forest.from_lattice(
        [(0, 1, "999999991", [1.0]), (1, 2, None, [2.0])], start=0, finals=[2], feature_names=("score",)
    )
    write_openfst_text(tmp_path / "a.txt", [NamedForest(forest)])
    (named,) = read_all(read_openfst_text, tmp_path / "a.txt")
    assert {words for words, _ in forest_paths(named.forest)} == {("999999991",)}


def test_words_that_cannot_be_written(tmp_path: Path) -> None:
    for words in (["two words"], ["<eps>", "a"], ["0"], ["7", "999999991"]):
        forest = Forest.from_nbest([words], [[1.0]], feature_names=("score",))
        with pytest.raises(InputError, match=r"a\.txt: (the word .* cannot be written|all labels are numbers)"):
            write_openfst_text(tmp_path / "a.txt", [NamedForest(forest)])
    assert not (tmp_path / "a.txt").exists()
