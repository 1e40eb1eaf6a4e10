"""Binary FSTs of OpenFst, and their symbol tables."""

from __future__ import annotations

import gzip
import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Forest, InputError, read
from hulltune.data import SparseFeatures
from hulltune.formats.openfst import read_openfst
from tests.formats.lattice_oracles import (
    BinaryArc,
    BinaryState,
    Lattice,
    binary_const,
    binary_fst,
    floats,
    forest_paths,
    read_all,
    sparse_tuple,
    symbol_table,
)
from tests.formats.lattice_strategies import lattices
from tests.formats.openfst_files import INFINITY, SMALL_PATHS, binary, patched, small, tuple_states
from tests.formats.refusals import refusal


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.fst"


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


def test_sparse_tuples(file: Path) -> None:
    forest = binary(file, binary_fst("tropicalsparsetuple", tuple_states({2: 0.5, 5: -1.0})))
    assert forest.feature_names == ("f1", "f2", "f3", "f4", "f5")
    first, last = (0.0, -0.5, 0.0, 0.0, 1.0), (0.0, -8.0, 0.0, 0.0, 0.0)
    assert forest_paths(forest) == {((), (last,)): 1, (("9",), (first, last)): 1}
    everything = binary(file, file.read_bytes(), drop=frozenset())
    assert {words for words, _ in forest_paths(everything)} == {("1",), ("9",)}


def test_sparse_tuples_with_large_keys_have_the_features_that_occur(file: Path) -> None:
    forest = binary(file, binary_fst("tropicalsparsetuple", tuple_states({2_000_000_000: 0.5, 300: 1.0})))
    assert forest.feature_names == ("f2", "f300", "f2000000000")
    assert forest_paths(forest) == {((), ((-8.0, 0, 0),)): 1, (("9",), ((0, -1.0, -0.5), (-8.0, 0, 0))): 1}


def test_many_features_of_sparse_tuples_stay_sparse(file: Path) -> None:
    states = [BinaryState(sparse_tuple({}, INFINITY)) for _ in range(100)] + [BinaryState(sparse_tuple({}))]
    for number, state in enumerate(states[:-1]):
        costs = {10 * number + key: 0.5 + key for key in (1, 2, 3)}
        state.arcs.append(BinaryArc(7, sparse_tuple(costs), number + 1))
    forest = binary(file, binary_fst("tropicalsparsetuple", states))
    assert isinstance(forest.features, SparseFeatures)
    assert len(forest.feature_names) == 300
    assert forest.features.toarray()[1, :4].tolist() == [-1.5, -2.5, -3.5, 0]


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
        (states_of(0, 0, arcs=[BinaryArc(5, floats(1), 2)]), "from state 0 to 2 .*; expected states from 0 to 1"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(1), -1)]), "an arc from state 0 to -1"),
        (states_of(0, 0, arcs=[BinaryArc(-1, floats(1), 1)]), "an arc from state 0 to 1 with label -1"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(float("nan")), 1)]), "arc 0, from state 0 to 1: .* is nan"),
        (states_of(0, 0, arcs=[BinaryArc(5, floats(INFINITY), 1)]), "arc 0, from state 0 to 1: .* is -inf"),
        (states_of(-INFINITY, 0, arcs=[BinaryArc(5, floats(1), 1)]), "final state 0: feature 'score' is inf"),
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


SPECIAL = [str(label) for label in range(999_999_991, 1_000_000_000)]


@pytest.mark.parametrize("arc_type", ["standard", "tropicalsparsetuple", "tropical_LT_tropical"])
def test_the_marks_of_hifst_are_no_words(file: Path, tmp_path: Path, arc_type: str) -> None:
    weights = {
        "standard": (floats(0), floats(INFINITY)),
        "tropicalsparsetuple": (sparse_tuple({}), sparse_tuple({}, INFINITY)),
        "tropical_LT_tropical": (floats(0, 0), floats(INFINITY, INFINITY)),
    }
    zero, nowhere = weights[arc_type]
    labels = [999_999_990, *map(int, SPECIAL), 1_000_000_000]
    states = [BinaryState(nowhere, [BinaryArc(label, zero, k + 1)]) for k, label in enumerate(labels)]
    content = binary_fst(arc_type, [*states, BinaryState(zero)])
    assert segment_words(binary(file, content)) == {("999999990", "1000000000")}
    assert segment_words(binary(file, content, drop=frozenset())) == {("999999990", "1000000000")}
    (tmp_path / "words.txt").write_text("a 999999990\nb 1000000000\n<dr> 999999999\n")
    assert segment_words(binary(file, content, symbols=tmp_path / "words.txt")) == {("a", "<dr>", "b")}


def segment_words(forest: Forest) -> set[tuple[str, ...]]:
    return {words for words, _ in forest_paths(forest)}


def test_archives_and_compact_fsts_get_a_hint(file: Path) -> None:
    for magic, kind in ((2125656924, "sttable"), (5656924, "stlist")):
        content = struct.pack("<iii", magic, 1, 0) + b"u1" + small()
        file.write_bytes(content)
        with pytest.raises(InputError, match=rf"a\.fst: an archive of OpenFst \(FAR, {kind}\).*farextract"):
            read(file)
        file.write_bytes(content[:4])
        with pytest.raises(InputError, match="farextract"):
            read(file)
    for kind in ("compact_acceptor", "compact8_weighted_string", "ngram", "edit"):
        vector = struct.pack("<i", 6) + b"vector"
        file.write_bytes(patched(small(), vector, struct.pack("<i", len(kind)) + kind.encode()))
        with pytest.raises(InputError, match=rf"an FST of type '{kind}'; .*fstconvert --fst_type=vector"):
            read(file)
