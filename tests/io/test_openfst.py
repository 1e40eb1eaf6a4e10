"""OpenFst: binary FSTs, the text format, symbol tables."""

from __future__ import annotations

import gzip
import struct
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError
from hulltune.forest import Forest, SparseFeatures
from hulltune.io.forest_files import NamedForest
from hulltune.io.openfst import looks_like, looks_like_text, read_openfst, read_openfst_text, write_openfst_text
from tests.io.lattice_oracles import (
    BinaryArc,
    BinaryState,
    Lattice,
    binary_const,
    binary_fst,
    floats,
    forest_paths,
    read_all,
    slow_fst_text,
    sparse_tuple,
    symbol_table,
)
from tests.io.lattice_strategies import lattices, numerals
from tests.io.refusals import refusal

INFINITY = float("inf")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.fst"


def binary(file: Path, content: bytes, **options: object) -> Forest:
    (named,) = read_all(read_openfst, file, content, **options)
    assert named.name is None
    return named.forest


def text(file: Path, content: str, **options: object) -> Forest:
    (named,) = read_all(read_openfst_text, file, content, **options)
    return named.forest


def small(arc_type: str = "standard", **options: object) -> bytes:
    """0 -5/0.5-> 1 -0/2-> 2, and 0 -6/1-> 2; the final weight of 2 is 0.25."""
    arcs = [BinaryArc(5, floats(0.5), 1), BinaryArc(6, floats(1), 2)]
    states = [
        BinaryState(floats(INFINITY), arcs),
        BinaryState(floats(INFINITY), [BinaryArc(0, floats(2), 2)]),
        BinaryState(floats(0.25)),
    ]
    return binary_fst(arc_type, states, **options)  # type: ignore[arg-type]


SMALL_PATHS = {(("5",), ((-0.5,), (-2.0,), (-0.25,))): 1, (("6",), ((-1.0,), (-0.25,))): 1}


# Binary.


@pytest.mark.parametrize("arc_type", ["standard", "log"])
def test_one_cost_becomes_one_score(file: Path, arc_type: str) -> None:
    forest = binary(file, small(arc_type))
    assert forest.feature_names == ("score",)
    assert forest.features.values.dtype == np.float32
    assert forest_paths(forest) == SMALL_PATHS
    assert forest_paths(binary(file, small(), negate=False)) == {
        (words, tuple((-value,) for (value,) in rows)): 1 for words, rows in SMALL_PATHS
    }


def test_doubles_and_pairs(file: Path) -> None:
    states = [
        BinaryState(floats(INFINITY, double=True), [BinaryArc(5, floats(0.1, double=True), 1)]),
        BinaryState(floats(0, double=True)),
    ]
    assert forest_paths(binary(file, binary_fst("log64", states))) == {(("5",), ((-0.1,),)): 1}
    pairs = [
        BinaryState(floats(INFINITY, INFINITY), [BinaryArc(5, floats(1, -2), 1)]),
        BinaryState(floats(0, 4)),
    ]
    for arc_type in ("tropical_LT_tropical", "log_X_tropical"):
        forest = binary(file, binary_fst(arc_type, pairs))
        assert forest.feature_names == ("score_0", "score_1")
        assert forest_paths(forest) == {(("5",), ((-1.0, 2.0), (0.0, -4.0))): 1}


def tuple_states(keys: dict[int, float]) -> list[BinaryState]:
    arcs = [BinaryArc(1, sparse_tuple({}), 1), BinaryArc(9, sparse_tuple(keys), 1)]
    return [BinaryState(sparse_tuple({}, INFINITY), arcs), BinaryState(sparse_tuple({2: 8.0}))]


def test_sparse_tuples(file: Path) -> None:
    forest = binary(file, binary_fst("tropicalsparsetuple", tuple_states({2: 0.5, 5: -1.0})))
    assert forest.feature_names == ("f1", "f2", "f3", "f4", "f5")
    first, last = (0.0, -0.5, 0.0, 0.0, 1.0), (0.0, -8.0, 0.0, 0.0, 0.0)
    assert forest_paths(forest) == {((), (last,)): 1, (("9",), (first, last)): 1}
    everything = binary(file, file.read_bytes(), drop=frozenset())
    assert {words for words, _ in forest_paths(everything)} == {("1",), ("9",)}


def test_sparse_tuples_with_large_keys_stay_sparse(file: Path) -> None:
    forest = binary(file, binary_fst("tropicalsparsetuple", tuple_states({2_000_000_000: 0.5, 300: 1.0})))
    assert isinstance(forest.features, SparseFeatures)
    assert forest.feature_names == ("f2", "f300", "f2000000000")
    assert forest_paths(forest) == {((), ((-8.0, 0, 0),)): 1, (("9",), ((0, -1.0, -0.5), (-8.0, 0, 0))): 1}


@pytest.mark.parametrize("aligned", [False, True])
def test_const_fsts(file: Path, aligned: bool) -> None:
    states = [
        BinaryState(floats(INFINITY), [BinaryArc(5, floats(0.5), 1), BinaryArc(6, floats(1), 2)]),
        BinaryState(floats(INFINITY), [BinaryArc(0, floats(2), 2)]),
        BinaryState(floats(0.25)),
    ]
    data = binary_const(states, aligned=aligned)
    assert forest_paths(binary(file, data)) == SMALL_PATHS
    for length in range(1, len(data)):
        assert "ends within an FST" in str(refusal(partial(binary, file, data[:length])))
    wrong = data.replace(struct.pack("<IIII", 0, 2, 0, 0), struct.pack("<IIII", 0, 3, 0, 0))
    with pytest.raises(InputError, match="the states do not divide the 3 arcs among them"):
        binary(file, wrong)


def test_symbol_tables_within_and_beside_the_file(file: Path, tmp_path: Path) -> None:
    tables = symbol_table({0: "<eps>", 7: "in"}) + symbol_table({0: "<eps>", 5: "five", 6: "sechs é"})
    with_tables = small(flags=3, tables=tables)
    assert {words for words, _ in forest_paths(binary(file, with_tables))} == {("five",), ("sechs é",)}
    assert {words for words, _ in forest_paths(binary(file, small(flags=1, tables=symbol_table({7: "in"}))))} == {
        ("5",),
        ("6",),
    }
    beside = tmp_path / "words.txt"
    beside.write_text("<eps> 0\nfive\t5\n</s> 6\n\n")
    assert {words for words, _ in forest_paths(binary(file, with_tables, symbols=beside))} == {("five",), ()}
    beside.write_bytes(symbol_table({5: "V", 6: "VI"}))
    assert {words for words, _ in forest_paths(binary(file, small(), symbols=beside))} == {("V",), ("VI",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "words.txt: the symbol table is empty"),
        (b"a 0\nb\n", "words.txt:2: expected a word and its number, got 'b'"),
        (b"a 0\nb one\n", "words.txt:2: expected a word and its number"),
        (b"a 0\nb 0\n", "words.txt:2: the number 0 is that of 'a' already"),
        (b"a 0\n\xff 1\n", "words.txt:2: not UTF-8"),
        (b"<eps> 0\nfive 5\n", "a.fst: label 6 is not in the symbol table, which has 2 words numbered 0 to 5"),
        (
            symbol_table({5: "a"})[:-1],
            f"words.txt: byte {len(symbol_table({5: 'a'})) - 1}: the file ends within the symbol table",
        ),
        (symbol_table({5: "a"}) + b"x", "words.txt: 1 bytes after the end of the symbol table"),
    ],
)
def test_symbol_tables_at_fault(file: Path, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(InputError, match=message):
        binary(file, small(), symbols=tmp_path / "words.txt")
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        binary(file, small(), symbols=tmp_path / "none.txt")


def test_a_changed_symbol_table_is_read_again(file: Path, tmp_path: Path) -> None:
    table = tmp_path / "words.txt"
    for words in ({("x",), ("y",)}, {("xx",), ("yyy",)}):
        (first,), (second,) = sorted(words)
        table.write_text(f"{first} 5\n{second} 6\n")
        assert {words for words, _ in forest_paths(binary(file, small(), symbols=table))} == words


def test_several_fsts_and_an_unknown_number_of_states(file: Path) -> None:
    both = read_all(read_openfst, file, gzip.compress(small() + small(count=-1)))
    assert [forest_paths(named.forest) for named in both] == [SMALL_PATHS, SMALL_PATHS]


@pytest.mark.parametrize("data", [
    small(), small(flags=3, tables=2 * symbol_table({5: "a", 6: "b"})),
    binary_fst("tropicalsparsetuple", tuple_states({2: 0.5, 5: -1.0})),
])  # fmt: skip
def test_cut_off_at_any_byte(file: Path, data: bytes) -> None:
    for length in range(1, len(data)):
        assert f"byte {length}: the file ends within an FST" in str(refusal(partial(binary, file, data[:length])))
    for extra in (b"x", b"\0" * 40):
        assert f"byte {len(data)}" in str(refusal(partial(binary, file, data + extra)))


def patched(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new, 1)


def states_of(*finals: float, arcs: list[BinaryArc] | None = None) -> bytes:
    first, *others = finals
    return binary_fst("standard", [BinaryState(floats(first), arcs or []), *(BinaryState(floats(w)) for w in others)])


HUGE = struct.pack("<q", 2**62)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"hello world", "byte 0: expected an FST .* got 68656c6c"),
        (small()[3::-1] + small()[4:], "written on a big-endian machine"),
        (small("real"), "unknown arc type 'real'; expected one of standard, log"),
        (small(fst_type="compact_acceptor"), "an FST of type 'compact_acceptor'; expected 'vector' or 'const'"),
        (small("log64", fst_type="const"), "a const FST of arc type log64"),
        (small(start=-1), "no start state, of 3 states"),
        (small(start=3), "start state 3, of 3 states"),
        (small(count=0), "start state 0, of 0 states"),
        (small(count=-7), "the header says -7 states"),
        (small(count=2**62), f"byte {len(small())}: the file ends within an FST"),
        (patched(small(), struct.pack("<qi", 2, 7), HUGE + b"\7\0\0\0"), "the file ends within an FST"),
        (patched(small(), struct.pack("<qi", 2, 7), struct.pack("<qi", -2, 7)), "byte 70: a negative count in state 0"),
        (patched(small(), b"\6\0\0\0vector", struct.pack("<i", 2**31 - 1) + b"vector"), "a type name of 2147483647"),
        (patched(small(), b"\6\0\0\0vector", struct.pack("<i", -1) + b"vector"), "a type name of -1 bytes"),
        (small(flags=2), "byte 66: expected a symbol table here"),
        (small(flags=2, tables=patched(symbol_table({5: "a"}), struct.pack("<qq", 1, 1), struct.pack("<qq", 1, 2**60))),
         "the file ends within an FST|is damaged|not UTF-8"),
        (states_of(INFINITY, INFINITY, arcs=[BinaryArc(5, floats(1), 1)]), "none of the 2 states is final"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(1), 2)]), "an arc from state 0 to 2, but the states are 0 to 1"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(1), -1)]), "an arc from state 0 to -1"),
        (states_of(0, 0, arcs=[BinaryArc(-1, floats(1), 1)]), "label -1 on an arc of state 0"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(float("nan")), 1)]), "arc 0: feature 'score' is nan"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(INFINITY), 1)]), "arc 0: feature 'score' is -inf"),
        (states_of(-INFINITY, 0, arcs=[BinaryArc(5, floats(1), 1)]), "feature 'score' is inf"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(1), 0)]), "a cycle: 0 → 0"),
        (states_of(INFINITY, 0), "no path leads from the start state to a final one"),
        (binary_fst("tropicalsparsetuple", tuple_states({0: 1.0})), "feature number 0 in a sparse tuple"),
        (binary_fst("tropicalsparsetuple", [BinaryState(sparse_tuple({}, 0.5))]), "final state 0 has 0.5 as the value"),
        (patched(binary_fst("tropicalsparsetuple", tuple_states({2: 1.0, 3: 1.0})),
                 struct.pack("<fq", 1.0, 1), struct.pack("<fq", 1.0, -1)), "a negative count in state 0"),
        (patched(binary_fst("tropicalsparsetuple", tuple_states({2: 1.0, 3: 1.0})),
                 struct.pack("<fq", 1.0, 1), struct.pack("<fq", 1.0, 2**62)), "the file ends within an FST"),
    ],
)  # fmt: skip
def test_binary_files_at_fault(file: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"a\.fst: .*({message})"):
        binary(file, data)


singles = st.floats(-(2.0**100), 2.0**100, width=32)


@settings(max_examples=80, deadline=None)
@given(lattices(st.sampled_from([None, "3", "4", "17"]), singles, 1))
def test_binary_paths_are_those_of_the_lattice(tmp_path_factory: pytest.TempPathFactory, lattice: Lattice) -> None:
    count = 1 + max(
        [lattice.start, *lattice.finals, *(arc[0] for arc in lattice.arcs), *(arc[1] for arc in lattice.arcs)]
    )
    states = [BinaryState(floats(*lattice.finals.get(state, (INFINITY,)))) for state in range(count)]
    for source, target, word, row in lattice.arcs:
        states[source].arcs.append(BinaryArc(int(word or 0), floats(*row), target))
    file = tmp_path_factory.mktemp("fst") / "a.fst"
    forest = binary(file, binary_fst("standard", states, start=lattice.start))
    negated = Lattice(
        lattice.start,
        [(source, target, word, (0 - row[0],)) for source, target, word, row in lattice.arcs],
        {state: (0 - row[0],) for state, row in lattice.finals.items()},
    )
    assert forest_paths(forest) == negated.paths()


# Text.


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
        ("0 1 a 1\n1 2 b c d e\n2\n", r"a\.fst:2: 6 fields; expected 'from to label \[weight\]', or 'state"),
        ("0 1 a b 1\n1 2 b\n2\n", r"a\.fst:2: 3 fields; expected 'from to input output \[weight\]'"),
        ("0 1 a 1\n1 x b 2\n2\n", r"a\.fst:2: state 'x'; expected a whole number from 0"),
        ("-1 1 a 1\n1 2 b 2\n2\n", r"a\.fst:1: state '-1'; expected a whole number"),
        ("0 1 a 1\n1 9999999999999999999 b 2\n2\n", r"a\.fst:2: state '9999999999999999999'"),
        ("0 1 a 1\n1 2 b nan\n2\n", r"a\.fst:2: the weight 'nan'; expected a finite number"),
        ("0 1 a 1\n1 2 b Infinity\n2\n", r"a\.fst:2: the weight 'Infinity'; expected a finite number"),
        ("0 1 a 1\n1 2 b 1e999\n2\n", r"a\.fst:2: the weight '1e999'; expected a finite number"),
        ("0 1 a 1\n1 -Infinity\n", r"a\.fst:2: the weight '-Infinity'"),
        ("0 1 a 1\n1 zwei\n", r"a\.fst:2: the weight 'zwei'; expected a finite number"),
        ("0 1 a 1,2\n1 3\n", r"a\.fst:2: the weight '3'; expected numbers with commas"),
        ("0 1 a 1,2\n1 2 b 1,\n2\n", r"a\.fst:2: the weight ''; expected a finite number"),
        ("0 1 a 0,2,5\n1 2 b 0,2\n2\n", r"a\.fst:2: the weight '0,2'; expected '0,key,value"),
        ("0 1 a 0,2,5\n1 2 b 0,x,2\n2\n", r"a\.fst:2: the weight '0,x,2'; expected '0,key,value"),
        ("0 1 a 0,2,5\n1 2 b 0,0,2\n2\n", r"a\.fst:2: the weight '0,0,2'; expected '0,key,value"),
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


def test_text_that_is_no_utf8(file: Path) -> None:
    with pytest.raises(InputError, match=r"a\.fst:2: not UTF-8"):
        read_all(read_openfst_text, file, b"0 1 a 1\n1 2 \xe9 1\n2\n")


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


def test_words_that_cannot_be_written(tmp_path: Path) -> None:
    for words in (["two words"], ["<eps>", "a"], ["0"]):
        forest = Forest.from_nbest([words], [[1.0]], feature_names=("score",))
        with pytest.raises(InputError, match=r"a\.txt: (the word .* cannot be written|all labels are numbers)"):
            write_openfst_text(tmp_path / "a.txt", [NamedForest(forest)])
    assert not (tmp_path / "a.txt").exists()


def test_which_files_look_like_it() -> None:
    assert looks_like(small())
    assert not looks_like(small("compactlattice44"))
    assert not looks_like(b"0 1 a 0.5\n")
    assert looks_like_text(b"0 1 a 0.5\n1 0.5\n")
    assert looks_like_text(b"0\t1\tin\tout\n1\n")
    assert not looks_like_text(b"5 7\n0\n1\na b ||| x=1\n")
    assert not looks_like_text(b"0 ||| a ||| x=1 ||| 2\n")
    assert not looks_like_text(small())
    assert not looks_like_text(b"")


def test_large_counts_cost_neither_time_nor_memory(file: Path) -> None:
    start = time.perf_counter()
    for data in (small(count=2**62), patched(small(), struct.pack("<qi", 2, 7), HUGE + b"\7\0\0\0")):
        assert refusal(partial(binary, file, data)) is not None
    assert time.perf_counter() - start < 5
