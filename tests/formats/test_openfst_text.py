"""OpenFst's text format: what is read, what is refused, and what is written and read back."""

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
    Lattice,
    forest_paths,
    read_all,
    slow_fst_text,
)
from tests.formats.lattice_strategies import lattices, numerals
from tests.formats.openfst_files import SMALL_PATHS, text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.fst"


def test_acceptors_and_transducers(file: Path) -> None:
    assert forest_paths(text(file, "0 1 5 0.5\n0 2 6 1\n1 2 0 2\n2 0.25\n")) == SMALL_PATHS
    assert forest_paths(text(file, "0\t1\t9 5\t0.5\r\n0 2 9 6 1\r\n\r\n1 2 8 0 2\r\n2 .25")) == SMALL_PATHS
    words = text(file, "3 1 a\n3 2 b 1.5\n1 2 <eps> 2\n2\n")
    assert forest_paths(words) == {(("a",), ((-2.0,),)): 1, (("b",), ((-1.5,),)): 1}
    unweighted = text(file, "0 1 in out\n1 2 in 0\n2 3 in <eps>\n3\n")
    assert unweighted.feature_names == ()
    assert forest_paths(unweighted) == {(("out", "0"), ()): 1}


def test_zero_is_a_word_among_words_and_epsilon_among_numbers(file: Path) -> None:
    assert {words for words, _ in forest_paths(text(file, "0 1 0 1\n1 2 7 1\n2\n"))} == {("7",)}
    assert {words for words, _ in forest_paths(text(file, "0 1 0 1\n1 2 x 1\n2\n"))} == {("0", "x")}
    kept = text(file, "0 1 <s> 1\n1 2 <eps> 1\n2\n", drop=frozenset())
    assert {words for words, _ in forest_paths(kept)} == {("<s>",)}


def test_pairs_tuples_and_states_that_are_not_final(file: Path) -> None:
    pair = text(file, "0 1 a 1,2\n1 Infinity,Infinity\n1 2 b 3,-4\n2 0,5\n")
    assert pair.feature_names == ("score_0", "score_1")
    assert forest_paths(pair) == {(("a", "b"), ((-1.0, -2.0), (-3.0, 4.0), (0.0, -5.0))): 1}
    sparse = text(file, "0 1 a 0,1,0.5,3,-1\n0 1 b 0\n1 0,3,3\n")
    assert sparse.feature_names == ("f1", "f2", "f3")
    last = (0.0, 0.0, -3.0)
    assert forest_paths(sparse) == {(("a",), ((-0.5, 0.0, 1.0), last)): 1, (("b",), (last,)): 1}


def test_states_with_large_numbers(file: Path) -> None:
    forest = text(file, "99999999999999999 5 a 1\n5 7 b 2\n7\n")
    assert forest_paths(forest) == {(("a", "b"), ((-1.0,), (-2.0,))): 1}
    assert forest.nodes == 3


def test_symbols_of_text(file: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("<eps> 0\nfive 5\nsix 6\n")
    forest = text(file, "0 1 5 0.5\n0 2 6 1\n1 2 0 2\n2 0.25\n", symbols=tmp_path / "words.txt")
    assert {words for words, _ in forest_paths(forest)} == {("five",), ("six",)}
    with pytest.raises(InputError, match=r"a\.fst:2: label 'b' is no number; leave out the symbol table"):
        text(file, "0 1 5 1\n1 2 b 1\n2\n", symbols=tmp_path / "words.txt")
    with pytest.raises(InputError, match=r"a\.fst: label 8 is not in the symbol table"):
        text(file, "0 1 5 1\n1 2 8 1\n2\n", symbols=tmp_path / "words.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"a\.fst: the file is empty"),
        ("\n \n", r"a\.fst: the file is empty"),
        ("0 1 a 1\n1 2 b c d e\n2\n", r"a\.fst:2: got .*; expected 'from to label \[weight\]', or 'state"),
        ("0 1 a b 1\n1 2 b\n2\n", r"a\.fst:2: got .*; expected 'from to input output \[weight\]'"),
        ("0 1 a 1\n1 x b 2\n2\n", r"a\.fst:2: got '1 x b 2'; expected 'from to label \[weight\]'"),
        ("-1 1 a 1\n1 2 b 2\n2\n", r"a\.fst:1: got '-1 1 a 1'; expected .* states from 0"),
        ("0 1 a 1\n1 9999999999999999999 b 2\n2\n", r"a\.fst:2: got '1 9999999999999999999 b 2'"),
        ("0 1 a 1\n1 2 b Infinity\n2\n", r"a\.fst:2: the weight 'Infinity'; expected a finite number"),
        ("0 1 a 1\n1 -Infinity\n", r"a\.fst:2: the weight '-Infinity'"),
        ("0 1 a 1\n1 zwei\n", r"a\.fst:2: the weight 'zwei'; expected a finite number"),
        ("0 1 a 1,2\n1 3\n", r"a\.fst:2: got '1 3'; expected .* as weights numbers with commas"),
        ("0 1 a 1,2\n1 2 b 1,\n2\n", r"a\.fst:2: the weight ''; expected a finite number"),
        ("0 1 a 0,2,5\n1 2 b 0,2\n2\n", r"a\.fst:2: got .* as weights '0,key,value"),
        ("0 1 a 0,2,5\n1 2 b 0,x,2\n2\n", r"a\.fst:2: got"),
        ("0 1 a 0,2,5\n1 2 b 0,0,2\n2\n", r"a\.fst:2: got"),
        (
            "0 1 a 0,2,5\n1 2 b 1,3,2\n2\n",
            r"a\.fst:2: the weight begins with 1.0, the value of features that are left out",
        ),
        ("0 1 a 1\n1 2 b 1\n", r"a\.fst: no final state; expected a line 'state"),
        ("0 1 a 1\n1 Infinity\n", r"a\.fst: no final state"),
        ("0 1 a 1\n1 2\n1 3\n", r"a\.fst:3: state 1 is final for a second time"),
        ("0 1 a 1\n1 0 b 1\n1\n", r"a\.fst: the forest has a cycle: 0 → 1 → 0"),
        ("9999 1 a 1\n1 7777 b 1\n7777 1 b 1\n7777\n", r"a\.fst: the forest has a cycle: 1 → 7777 → 1"),
        ("0 1 a 1\n2 3 b 1\n3\n", r"a\.fst: no path leads from the start state"),
    ],
)
def test_text_files_at_fault(file: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        text(file, content)


@settings(max_examples=80, deadline=None)
@given(lattices(st.sampled_from(["a", "b", "<eps>", "é"]), st.just(0.0), 0), st.data())
def test_the_same_paths_as_a_slow_reader(
    tmp_path_factory: pytest.TempPathFactory, lattice: Lattice, data: st.DataObject
) -> None:
    transducer, width = data.draw(st.booleans()), data.draw(st.integers(1, 2))
    weight = st.lists(numerals, min_size=width, max_size=width).map(",".join)
    first = [arc for arc in lattice.arcs if arc[0] == lattice.start]
    arcs = first + [arc for arc in lattice.arcs if arc[0] != lattice.start]
    lines = [f"{s} {t} {'in ' if transducer else ''}{word} {data.draw(weight)}" for s, t, word, _ in arcs]
    lines += [f"{state} {data.draw(weight)}" for state in lattice.finals]
    content = "\n".join(lines)
    if not arcs:
        return
    file = tmp_path_factory.mktemp("fst") / "a.txt"
    slow = slow_fst_text(content, transducer=transducer, width=width, nothing="<eps>")
    assert forest_paths(text(file, content)) == slow.paths()


def test_the_marks_of_hifst_are_no_words(file: Path, tmp_path: Path) -> None:
    lines = "".join(f"{k} {k + 1} {999_999_990 + k} 0.5\n" for k in range(11)) + "11\n"
    for content in (lines, lines.replace("\n", "\r\n"), lines.replace(" 0.5", " 0,3,0.5")):
        assert {words for words, _ in forest_paths(text(file, content))} == {("999999990", "1000000000")}
    (tmp_path / "words.txt").write_text("a 999999990\nb 1000000000\n")
    forest = text(file, lines, symbols=tmp_path / "words.txt")
    assert {words for words, _ in forest_paths(forest)} == {("a", "b")}
    spelled = text(file, lines.replace("999999990", "word"))  # where labels are words, so are these
    assert len(next(words for words, _ in forest_paths(spelled))) == 11


# Writing.


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
