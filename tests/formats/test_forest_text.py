"""Forest text and the dialect of Joshua: what is read, what is refused, and what is written and read back."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Forest, ForestBuilder, InputError, read, read_weights, rerank, write
from hulltune.data.features import SparseFeatures
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import ForestOptions, NamedForest
from hulltune.formats.forest_text import read_forest_text, read_joshua, write_forest_text
from tests.formats import forest_text_oracle as oracle
from tests.formats.edits import edited
from tests.formats.forest_text_files import JOSHUA, MOSES, SMALL, assert_agrees
from tests.formats.plain_forests import EVERYTHING, assert_same, outputs, plain, read_all
from tests.formats.refusals import assert_refused, refusal
from tests.strategies import forests


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "forest.hg"


def test_a_small_forest(file: Path) -> None:
    (named,) = read_all(read_forest_text, file, SMALL)
    assert named.name is None
    assert named.forest.feature_names == ("lm", "tm", "oov", "glue")
    assert named.forest.features.toarray().tolist() == [[-1, 0.5, 0, 0], [-2.25, 0, 0, 0], [-1, 0, 1, 0], [0, 0, 0, 1]]
    assert list(outputs(named.forest)) == [("the", "small", "house"), ("a", "small", "house")]


def test_comments_and_the_third_column_of_moses_are_passed_over(file: Path) -> None:
    (named,) = read_all(read_forest_text, file, MOSES, ForestOptions())
    assert list(outputs(named.forest)) == [("#", "big", "house")]
    assert named.forest.feature_names == ("LM0", "TM0_0", "TM0_1")
    (whole,) = read_all(read_forest_text, file, MOSES)
    assert list(outputs(whole.forest)) == [("<s>", "#", "big", "house", "</s>")]
    (other,) = read_all(read_forest_text, file, MOSES, ForestOptions(drop=frozenset({"big", "nowhere"})))
    assert list(outputs(other.forest)) == [("<s>", "#", "house", "</s>")]
    assert "big" not in other.forest.vocabulary


SHIFTED = """# target ||| features ||| source-covered
2 3
# node 0
1
<s> |||  ||| 0
# node 1
2
[0] good </s> ||| TM0_1=1 TM0_2=0 ||| 1
[0] bad </s> ||| TM0_1=0 TM0_2=1 ||| 1
"""


def decoded(path: Path, weights: str) -> str:
    path.with_name("moses.ini").write_text(f"[weight]\n{weights}\n")
    found = read_weights(path.with_name("moses.ini"))
    (text,) = rerank(path, found)
    return text


def test_weights_of_moses_ini_fit_its_hypergraphs_and_what_is_written_of_them(file: Path) -> None:
    file.write_text(SHIFTED)
    assert read(file).feature_names == ("TM0_0", "TM0_1")
    assert (decoded(file, "TM0= 0.1 1"), decoded(file, "TM0= 1 0.1")) == ("bad", "good")
    for name in ("again.hg", "again.hull"):
        write(read(file), file.with_name(name), "forest" if name.endswith("hg") else None)
        assert read(file.with_name(name)).feature_names == ("TM0_0", "TM0_1")
        assert (decoded(file.with_name(name), "TM0= 0.1 1"), decoded(file.with_name(name), "TM0= 1 0.1")) == (
            "bad",
            "good",
        )


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("T_1=1 T_2=2 T_3=3", "T_1=1 T_2=2 T_3=3", ("T_0", "T_1", "T_2")),
        ("T_1=1", "T_2=2", ("T_0", "T_1")),  # zeros left out
        ("T_2=1 U=1", "T_2=2 U=1", ("T_1", "U")),
        ("T_1=1 U=1", "U=1", ("T_1", "U")),  # a sparse feature whose name ends in a number
        ("T_0=1 T_1=1", "T_0=1 T_1=1", ("T_0", "T_1")),
        ("T_1=1 T_3=1 U=2", "U=1", ("T_1", "T_3", "U")),
        ("T_01=1 _1=2", "T_01=1 _1=2", ("T_01", "_1")),
        ("a_b_1=1 a_b_2=3 a=1", "a_b_1=1 a_b_2=3 a=1", ("a_b_0", "a_b_1", "a")),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_components_of_moses_count_from_0(
    file: Path, first: str, second: str, names: tuple[str, ...], line_end: str
) -> None:
    content = SHIFTED.replace("TM0_1=1 TM0_2=0", first).replace("TM0_1=0 TM0_2=1", second).replace("\n", line_end)
    (named,) = read_all(read_forest_text, file, content)
    assert named.forest.feature_names == names
    assert_agrees(read_forest_text, file, content, lambda: [each.build() for each in oracle.forest_text(content)])
    ours = "\n".join(line.rpartition("|||")[0] if line.count("|||") == 2 else line for line in content.splitlines()[1:])
    (named,) = read_all(read_forest_text, file, ours)  # only Moses counts from 1
    assert set(named.forest.feature_names) == {
        name for field in (first, second) for name in re.findall(r"(\S+)=", field)
    }


def test_features_are_negated_where_asked(file: Path) -> None:
    (all_of_them,) = read_all(read_forest_text, file, SMALL, ForestOptions(negate=True))
    assert all_of_them.forest.features.toarray()[0].tolist() == [1, -0.5, 0, 0]
    (one,) = read_all(read_forest_text, file, SMALL, ForestOptions(negate=frozenset({"lm", "elsewhere"})))
    assert one.forest.features.toarray()[0].tolist() == [1, 0.5, 0, 0]


def test_several_forests_with_names(file: Path) -> None:
    first, second, third = read_all(
        read_forest_text, file, f"# name utt 1\n{SMALL}\n\n{SMALL}# name z\n# more\n1 0\n0\n"
    )
    assert [first.name, second.name, third.name] == ["utt 1", None, "z"]
    assert_same(second.forest, first.forest)
    assert third.forest.edges == 0


def test_a_forest_without_derivations(file: Path) -> None:
    for content in ("0 0\n", "1 0\n0\n", "2 0\n0\n0\n"):
        (named,) = read_all(read_forest_text, file, content)
        assert (named.forest.nodes, named.forest.edges) == (1, 0)


def test_a_node_without_edges_is_a_leaf(file: Path) -> None:
    (named,) = read_all(read_forest_text, file, "3 2\n0\n1\n[0] a ||| x=1\n1\n[1] b ||| x=2\n")
    assert list(outputs(named.forest)) == [("a", "b")]


def test_values_to_the_bit(file: Path) -> None:
    """Also where a sum of values has no double, and where a name has what Python would take as part of a number."""
    (named,) = read_all(read_forest_text, file, "1 1\n1\na ||| x_0=-0 x_1=1e308 x_2=1e308 x_3=4.9e-324 x_4=+.5\n")
    values = named.forest.features.toarray()[0].tolist()
    assert [value.hex() for value in values] == [value.hex() for value in (-0.0, 1e308, 1e308, 5e-324, 0.5)]


def test_nodes_in_any_order(file: Path) -> None:
    (named,) = read_all(read_forest_text, file, "3 3\n1\n[1] a |||\n1\nb |||\n1\n[0] [1] |||\n")
    assert list(outputs(named.forest)) == [("b", "a", "b")]


def test_many_features_are_sparse(file: Path) -> None:
    lines = [f"w{k} ||| shared=1 own{k}={k}.5" for k in range(200)]
    (named,) = read_all(read_forest_text, file, "1 200\n200\n" + "\n".join(lines))
    assert isinstance(named.forest.features, SparseFeatures)
    assert named.forest.feature_names[:3] == ("shared", "own0", "own1")
    assert [edge.features[f"own{k}"] for k, edge in enumerate(plain(named.forest).edges)] == [
        k + 0.5 for k in range(200)
    ]


def test_long_lines(file: Path) -> None:
    words = [f"w{k}" for k in range(1000)]
    names = [f"n{k}=0.1{k:030d}" for k in range(300)]  # more digits than a double has
    line = f"{' '.join(words)} [0] ||| {' '.join(names)}"
    content = f"2 3\n1\nx |||\n2\n{line}\n{line.replace('[0]', ' '.join(['[0]'] * 100))}\n"
    (named,) = read_all(read_forest_text, file, content)
    (expected,) = oracle.forest_text(content)
    assert_same(named.forest, expected.build())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1: no forest in the file"),
        ("\n# nothing\n", ":1: no forest in the file"),
        ("x\n", ":1: 'x'; expected the numbers of nodes and edges"),
        ("3\n", ":1: '3'; expected the numbers"),
        ("-3 4\n", ":1: '-3 4'; expected the numbers"),
        (SMALL.replace("3 4", "999999999999 4"), ":1: 999,999,999,999 nodes and 4 edges, but only "),
        (SMALL.replace("3 4", "3 999999999999"), ":1: 3 nodes and 999,999,999,999 edges, but only "),
        (SMALL.replace("3 4", "3 999999999999999999999"), ":1: '3 999999999999999999999'; expected the numbers"),
        (SMALL.replace("3 4", "4 4"), ":8: the file ends within a forest, after 4 of 4 edges"),
        (SMALL.replace("3 4", "3 5"), ":8: 4 edges into all nodes, fewer than the 5"),
        (SMALL.replace("3 4", "3 3"), ":7: more edges than the 3"),
        (SMALL.replace("\n2\n", "\n3\n"), ":5: no '|||'"),
        (SMALL.replace("\n2\n", "\n1\n"), ":4: 'a ||| lm=-2.25'; expected the number of edges into the next node"),
        (SMALL.replace("\n2\n", "\nthree\n"), ":2: 'three'; expected the number of edges"),
        (SMALL.replace("\n2\n", "\n\n"), ":2: ''; expected the number of edges"),
        (SMALL.replace("\n2\n", "\n99999999999999999999\n"), ":2: more edges than the 4"),
        (SMALL.replace("a |||", "a"), ":4: no '|||'"),
        (SMALL.replace("[1]", "[3]"), ":8: no node '[3]'; expected [0] to [2]"),
        (SMALL.replace("[1]", "[99999999999999999999999]"), ":8: no node '[99999999999999999999999]'"),
        (SMALL.replace("[1]", "[2]"), ":1: the forest has a cycle: 2 → 2"),
        (SMALL.replace("the |||", "[2] |||"), ":1: the forest has a cycle"),
        (SMALL.replace("oov=1", "oov"), ":6: 'oov' is no feature; expected 'name=value'"),
        (SMALL.replace("oov=1", "=1"), ":6: '=1' is no feature"),
        (SMALL.replace("oov=1", "lm=1"), ":6: feature 'lm' occurs twice"),
        (SMALL.replace("oov=1", "oov="), ":6: feature 'oov' is ''; expected a finite number"),
        (SMALL.replace("oov=1", "oov= 1"), ":6: '1' is no feature"),
        (SMALL.replace("oov=1", "oov=-inf"), ":6: feature 'oov' is '-inf'"),
        (SMALL.encode().replace(b"oov", b"\xff"), ":6: not UTF-8 (byte 0xff)"),
        (SMALL.encode().replace(b"3 4", b"\xff"), ":1: not UTF-8 (byte 0xff)"),
        (SMALL + "and more\n", ":9: 'and more'; expected the numbers of nodes and edges"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(file: Path, content: str | bytes, message: str) -> None:
    assert_refused(lambda: read_all(read_forest_text, file, content), f"{file}{message}")


@settings(max_examples=400)
@given(st.sampled_from([SMALL, MOSES, SMALL + "# name x\n" + SMALL]).flatmap(edited))
def test_the_reader_agrees_with_a_plain_parser(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.hg"
    assert_agrees(read_forest_text, path, content, lambda: [forest.build() for forest in oracle.forest_text(content)])


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("0 0\n", [0]),
        ("0 0", [0]),
        ("0 0\n0 0\n", [0, 0]),
        ("# name 7\n0 0\n" + SMALL, [0, 4]),
        (SMALL + "0 0\n" + SMALL, [4, 0, 4]),
        ("0 0\n0 0\n" + SMALL, [0, 0, 4]),
    ],
)
def test_a_forest_without_a_node_has_no_derivation_and_stays_in_its_place(
    tmp_path: Path, text: str, edges: list[int]
) -> None:
    (tmp_path / "forest.hg").write_text(text)
    found = read(tmp_path / "forest.hg")
    assert np.diff(found.corpus.sentence_edges).tolist() == edges
    assert found.empty_ids == tuple(place for place, count in enumerate(edges) if not count)


# Joshua's dialect.


def test_a_hypergraph_of_joshua(file: Path) -> None:
    (named,) = read_all(read_joshua, file, JOSHUA, ForestOptions())
    assert list(outputs(named.forest)) == [
        ("the", "house"), ("a", "house"), ("house", "of", "the"), ("house", "of", "a"),
    ]  # fmt: skip
    assert named.forest.feature_names == ("lm_0", "tm_pt_0", "OOVPenalty")
    two_tops = JOSHUA.replace("[2] of [1]", "[2] of it").replace("[1] [2]", "[2]")
    (named,) = read_all(read_joshua, file, two_tops, ForestOptions())
    assert list(outputs(named.forest)) == [("the",), ("a",), ("house",), ("house", "of", "it")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1: no forest in the file"),
        ("#SENT: 0 5 3 4\n#I 1 0 1 X 1 ST nullstate\n", ":1: a hypergraph of an old Joshua"),
        (JOSHUA.replace("\n4\n", "\n2\n"), ":8: node 2 after a node with no smaller number"),
        (JOSHUA.replace("\n1\n", "\n0\n"), ":3: node 0 after a node with no smaller number"),
        (JOSHUA.replace("\n1\n", "\n"), ":3: 'the ||| lm_0=-1.500 tm_pt_0=-3.000'; expected the number"),
        (JOSHUA.replace("3 5", "2 5"), ":8: more nodes than the 2"),
        (JOSHUA.replace("3 5", "4 5"), ":10: the file ends within a forest, after 5 of 5 edges"),
        (JOSHUA.replace("3 5", "3 4"), ":10: more edges than the 4"),
        (JOSHUA.replace("3 5", "3 6"), ":10: the file ends within a forest, after 5 of 6 edges"),
        (JOSHUA.replace("of [1]", "of [3]"), ":10: no node [3]; expected one that has edges"),
        (JOSHUA.replace("of [1]", "of [7]"), ":10: no node [7]; expected one that has edges"),
        (JOSHUA.replace("of [1]", "of [4]"), ":2: the forest has a cycle"),
        (JOSHUA.replace("=-1.500", "=NaN"), ":4: feature 'lm_0' is 'NaN'"),
    ],
)
def test_what_is_wrong_with_a_hypergraph_of_joshua(file: Path, content: str, message: str) -> None:
    said = refusal(lambda: read_all(read_joshua, file, content))
    assert said is not None
    assert said.startswith(f"{file}{message}")


@settings(max_examples=300)
@given(edited(JOSHUA))
def test_the_reader_of_joshua_agrees_with_a_plain_parser(
    tmp_path_factory: pytest.TempPathFactory, content: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.joshua"
    assert_agrees(read_joshua, path, content, lambda: [oracle.joshua(content).build()])


# Writing.


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
