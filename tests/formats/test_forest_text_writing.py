"""Forest text as it is written: it reads back to the bit, or is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import Forest, ForestBuilder, InputError
from hulltune.data.features import SparseFeatures
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.forest_text import read_forest_text, write_forest_text
from tests.formats.forest_text_files import SMALL
from tests.formats.plain_forests import EVERYTHING, assert_same, outputs, plain, read_all
from tests.formats.refusals import refusal
from tests.strategies import forests


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "forest.hg"


def written(forest: Forest, path: Path) -> Forest:
    write_forest_text(path, [NamedForest(forest)])
    (named,) = read_forest_text(path, EVERYTHING, Vocabulary())
    return named.forest


@given(forests())
def test_what_is_written_reads_back_to_the_bit(tmp_path_factory: pytest.TempPathFactory, forest: Forest) -> None:
    path = tmp_path_factory.getbasetemp() / "written.hg"
    in_order = all(
        [item for item in edge.output if isinstance(item, int)] == list(range(len(edge.tails)))
        for edge in plain(forest).edges
    )
    each_once = all(
        sorted(item for item in edge.output if isinstance(item, int)) == list(range(len(edge.tails)))
        for edge in plain(forest).edges
    )
    if not each_once:
        assert "tails once" in str(refusal(lambda: written(forest, path)))
        return
    back = written(forest, path)
    if forest.edges:
        assert back.feature_names == forest.feature_names
        assert np.array_equal(back.features.toarray(), forest.features.toarray())
        assert np.array_equal(np.signbit(back.features.toarray()), np.signbit(forest.features.toarray()))
    assert np.array_equal(back.edge_offsets, forest.edge_offsets)
    if in_order:
        assert_same(back, forest)
    assert sorted(outputs(back)) == sorted(outputs(forest))


words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n"), min_size=1, max_size=4
)  # also white space that only Unicode knows


@given(
    st.lists(st.tuples(words, words, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=4),
    st.one_of(st.none(), words),
)
def test_odd_words_names_and_values(
    tmp_path_factory: pytest.TempPathFactory, edges: list[tuple[str, str, float]], name: str | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.hg"
    builder = ForestBuilder()
    for word, feature, value in edges:
        builder.add_edge(0, features={feature: value}, output=[word])
    forest = builder.build(root=0)
    said = refusal(lambda: write_forest_text(path, [NamedForest(forest, name)]))
    if said is None:
        (back,) = read_forest_text(path, EVERYTHING, Vocabulary())
        assert_same(back.forest, forest)
        assert (back.name, back.forest.feature_names) == (name, forest.feature_names)
    else:
        assert "it cannot be written as forest text" in said


@pytest.mark.parametrize(
    ("word", "feature", "message"),
    [
        ("", "x", "forest 'u': the word '' is empty, or has white space or '|||' in it; it cannot be written"),
        ("a b", "x", "the word 'a b' is empty, or has white space"),
        ("a|||b", "x", "the word 'a|||b' is empty, or has white space or '|||'"),
        ("[12]", "x", "the word '[12]' would be read as a node"),
        ("a", "x y", "the feature name 'x y' is empty"),
        ("\ud800", "x", "a lone surrogate"),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_no_file(file: Path, word: str, feature: str, message: str) -> None:
    builder = ForestBuilder()
    builder.add_edge(0, features={feature: 1}, output=[word])
    with pytest.raises(InputError) as error:
        write_forest_text(file, [NamedForest(builder.build(root=0), "u")])
    assert message in str(error.value)
    assert list(file.parent.iterdir()) == []


def test_several_forests_are_written_with_their_names_and_compressed(tmp_path: Path) -> None:
    plain_file = tmp_path / "two.hg"
    forests_of_file = read_all(read_forest_text, tmp_path / "a", f"# name u1\n{SMALL}{SMALL}")
    write_forest_text(plain_file, forests_of_file)
    for suffix, magic in ((".gz", b"\x1f\x8b"), (".bz2", b"BZh"), (".xz", b"\xfd7z"), ("", b"# name u1")):
        path = tmp_path / f"packed.hg{suffix}"
        write_forest_text(path, forests_of_file)
        assert path.read_bytes().startswith(magic)
        back = list(read_forest_text(path, EVERYTHING, Vocabulary()))
        assert [named.name for named in back] == ["u1", None]
        assert_same(back[1].forest, forests_of_file[0].forest)
    assert "zstd" in str(refusal(lambda: write_forest_text(tmp_path / "x.zst", forests_of_file)))


def test_sparse_rows_that_name_a_column_twice(file: Path) -> None:
    (named,) = read_all(read_forest_text, file, SMALL)
    twice = SparseFeatures(np.arange(0, 10, 2), np.zeros(8, dtype=np.int32), np.arange(8.0), 4)
    back = written(replace(named.forest, features=twice), file)
    assert back.features.toarray()[:, 0].tolist() == [1, 5, 9, 13]
