"""Forest text and Joshua's variant of it: what the kernel reads, what it refuses, and what is written."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Forest, ForestBuilder, InputError
from hulltune.forest.features import SparseFeatures
from hulltune.forest.vocabulary import Vocabulary
from hulltune.io import forest_text, joshua, read_forests
from hulltune.io.forest_files import ForestOptions, ForestReader, NamedForest
from hulltune.io.forest_text import read_forest_text, write_forest_text
from hulltune.io.joshua import read_joshua
from tests.io import forest_text_oracle as oracle
from tests.io.edits import edited
from tests.io.plain_forests import EVERYTHING, FaultError, assert_same, outputs, plain, read_all
from tests.io.refusals import assert_refused, refusal
from tests.strategies import forests

SMALL = """3 4
2
the ||| lm=-1 tm=0.5
a ||| lm=-2.25
1
house ||| lm=-1 oov=1
1
[0] small [1] ||| glue=1
"""
MOSES = """# target ||| features ||| source-covered
3 3
# node 0
1
<s>  |||  ||| 0
# node 1
1
[0] # big house  ||| LM0=-3.5 TM0_1=0.25 TM0_2=1 ||| 2
# node 2
1
[1] </s> |||  ||| 2
"""
JOSHUA = """# target ||| features
3 5
1
the ||| lm_0=-1.500 tm_pt_0=-3.000
a ||| lm_0=-2.000
2
house ||| lm_0=-1.000
4
<s> [1] [2] </s> ||| lm_0=-1.000
[2] of [1] ||| OOVPenalty=1.000
"""


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
    assert named.forest.feature_names == ("LM0", "TM0_1", "TM0_2")
    (whole,) = read_all(read_forest_text, file, MOSES)
    assert list(outputs(whole.forest)) == [("<s>", "#", "big", "house", "</s>")]
    (other,) = read_all(read_forest_text, file, MOSES, ForestOptions(drop=frozenset({"big", "nowhere"})))
    assert list(outputs(other.forest)) == [("<s>", "#", "house", "</s>")]
    assert "big" not in other.forest.vocabulary


def test_features_are_negated_where_asked(file: Path) -> None:
    (all_of_them,) = read_all(read_forest_text, file, SMALL, ForestOptions(negate=True))
    assert all_of_them.forest.features.toarray()[0].tolist() == [1, -0.5, 0, 0]
    (one,) = read_all(read_forest_text, file, SMALL, ForestOptions(negate=frozenset({"lm", "elsewhere"})))
    assert one.forest.features.toarray()[0].tolist() == [1, 0.5, 0, 0]


def test_windows_line_ends_tabs_no_last_line_end_and_a_byte_order_mark(file: Path) -> None:
    (expected,) = read_all(read_forest_text, file, SMALL)
    odd = "\ufeff" + SMALL.replace("\n", "\r\n").replace(" ", "\t ").removesuffix("\r\n")
    (named,) = read_all(read_forest_text, file, odd)
    assert_same(named.forest, expected.forest)


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


def test_long_lines_make_tables_grow(file: Path) -> None:
    words = [f"w{k}" for k in range(1000)]
    names = [f"n{k}=0.1{k:030d}" for k in range(300)]  # more digits than the kernel reads by itself
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
        (SMALL.replace("oov=1", "=1"), ":6: no name before '=' in '=1'"),
        (SMALL.replace("oov=1", "lm=1"), ":6: feature 'lm' occurs twice"),
        (SMALL.replace("oov=1", "oov="), ":6: feature 'oov' is ''; expected a finite number"),
        (SMALL.replace("oov=1", "oov= 1"), ":6: '1' is no feature"),
        (SMALL.replace("oov=1", "oov=nan"), ":6: feature 'oov' is 'nan'; expected a finite number"),
        (SMALL.replace("oov=1", "oov=-inf"), ":6: feature 'oov' is '-inf'"),
        (SMALL.replace("oov=1", "oov=1e999"), ":6: feature 'oov' is '1e999'"),
        (SMALL.replace("oov=1", "oov=1_0"), ":6: feature 'oov' is '1_0'"),
        (SMALL.encode().replace(b"house", b"h\xe4user"), ":6: not UTF-8 (byte 0xe4)"),
        (SMALL.encode().replace(b"oov", b"\xff"), ":6: not UTF-8 (byte 0xff)"),
        (SMALL.encode().replace(b"3 4", b"\xff"), ":1: not UTF-8 (byte 0xff)"),
        (SMALL + "and more\n", ":9: 'and more'; expected the numbers of nodes and edges"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(file: Path, content: str | bytes, message: str) -> None:
    assert_refused(lambda: read_all(read_forest_text, file, content), f"{file}{message}")


def test_a_file_that_is_cut_off_anywhere_is_refused(file: Path) -> None:
    for reader, content in ((read_forest_text, SMALL), (read_forest_text, MOSES), (read_joshua, JOSHUA)):
        last_line = content.rindex("\n", 0, -1)
        for length in range(content.index("|||", last_line) + 3):
            assert refusal(partial(read_all, reader, file, content[:length])) is not None


def test_compressed_files(tmp_path: Path) -> None:
    packed = tmp_path / "forest.hg.gz"
    (named,) = read_all(read_forest_text, packed, gzip.compress(SMALL.encode()))
    assert named.forest.edges == 4
    assert "cut off or damaged" in str(refusal(lambda: read_all(read_forest_text, packed, packed.read_bytes()[:-20])))


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


def test_the_two_formats_are_told_apart() -> None:
    for content in (SMALL, MOSES, SMALL[: SMALL.index("[0]")], "1 0\n0\n", "0 0\n"):
        assert forest_text.looks_like(content.encode())
        assert not joshua.looks_like(content.encode())
    assert joshua.looks_like(JOSHUA.encode())
    assert not forest_text.looks_like(JOSHUA.encode())
    for content in ("", "\n", "0 ||| a ||| x=1", "12 34\n5 6\n", "(((", '{"nodes": []}', "0 hyp=0 stack=0\n"):
        assert not forest_text.looks_like(content.encode())
        assert not joshua.looks_like(content.encode())


# Writing


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


# Against the plain parsers


@settings(max_examples=400)
@given(st.sampled_from([SMALL, MOSES, SMALL + "# name x\n" + SMALL]).flatmap(edited))
def test_the_kernel_agrees_with_a_plain_parser(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.hg"
    assert_agrees(read_forest_text, path, content, lambda: [forest.build() for forest in oracle.forest_text(content)])


@settings(max_examples=300)
@given(edited(JOSHUA))
def test_the_kernel_agrees_on_joshua(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.joshua"
    assert_agrees(read_joshua, path, content, lambda: [oracle.joshua(content).build()])


def assert_agrees(reader: ForestReader, path: Path, content: str, parse: Callable[[], list[Forest]]) -> None:
    """The reader refuses what the plain parser refuses, and reads the same forests of all else."""
    try:
        expected = parse()
    except (FaultError, InputError):
        assert refusal(partial(read_all, reader, path, content)) is not None
    else:
        for named, forest in zip(read_all(reader, path, content), expected, strict=True):
            assert_same(named.forest, forest)


@settings(max_examples=200)
@given(st.binary(max_size=40), st.integers(0, len(SMALL)))
def test_any_bytes_give_forests_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, garbage: bytes, place: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage.hg"
    for reader in (read_forest_text, read_joshua):
        for content in (garbage, SMALL.encode()[:place] + garbage + SMALL.encode()[place:]):
            said = refusal(partial(read_all, reader, path, content))
            assert said is None or said.startswith(f"{path}:")


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
    found = read_forests(tmp_path / "forest.hg")
    assert np.diff(found.corpus.sentence_edges).tolist() == edges
    assert found.empty_ids == tuple(place for place, count in enumerate(edges) if not count)
