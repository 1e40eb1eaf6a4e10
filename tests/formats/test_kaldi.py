"""Kaldi's lattices: Lattice and CompactLattice, text and binary, alone and in archives."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError, read
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats import kaldi
from hulltune.formats.forest_files import ForestOptions
from hulltune.formats.fst_binary import MAGIC
from hulltune.formats.kaldi import looks_like, read_kaldi
from hulltune.formats.openfst import read_openfst
from hulltune.formats.registry import sniff
from tests.formats.lattice_oracles import (
    BinaryArc,
    BinaryState,
    Lattice,
    binary_fst,
    compact,
    floats,
    forest_paths,
    read_all,
    slow_fst_text,
)
from tests.formats.lattice_strategies import lattices, numerals
from tests.formats.refusals import refusal

INFINITY = float("inf")
COMPACT_TEXT = "0 1 5 0.5,-20.25,1_2_3\n0 2 6 1,-30,\n1 2 0\n2 0.25,-1,4_4\n"
LATTICE_TEXT = "0 1 17 5 0.5,-20.25\n0 2 17 6 1,-30\n1 2 18 0\n2 0.25,-1\n"
PATHS = {
    (("5",), ((-0.5, 20.25), (-0.25, 1.0))): 1,
    (("6",), ((-1.0, 30.0), (-0.25, 1.0))): 1,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lat.1"


def compact_binary() -> bytes:
    nowhere = compact(INFINITY, INFINITY)
    return binary_fst(
        "compactlattice44",
        [
            BinaryState(nowhere, [BinaryArc(5, compact(0.5, -20.25, [1, 2, 3]), 1), BinaryArc(6, compact(1, -30), 2)]),
            BinaryState(nowhere, [BinaryArc(0, compact(0, 0), 2)]),
            BinaryState(compact(0.25, -1, [4, 4])),
        ],
    )


def lattice_binary(*, double: bool = False) -> bytes:
    weight = partial(floats, double=double)
    nowhere = weight(INFINITY, INFINITY)
    return binary_fst(
        "lattice8" if double else "lattice4",
        [
            BinaryState(nowhere, [BinaryArc(5, weight(0.5, -20.25), 1), BinaryArc(6, weight(1, -30), 2)]),
            BinaryState(nowhere, [BinaryArc(0, weight(0, 0), 2)]),
            BinaryState(weight(0.25, -1)),
        ],
    )


ALL = {
    "compact text": COMPACT_TEXT.encode(),
    "text": LATTICE_TEXT.encode(),
    "compact binary": compact_binary(),
    "binary": lattice_binary(),
    "binary doubles": lattice_binary(double=True),
}


@pytest.mark.parametrize("kind", ALL)
def test_a_lattice_alone(file: Path, kind: str) -> None:
    (named,) = read_all(read_kaldi, file, ALL[kind])
    assert named.name is None
    assert named.forest.feature_names == ("graph", "acoustic")
    assert forest_paths(named.forest) == PATHS
    costs = read_all(read_kaldi, file, negate=False)[0].forest
    assert costs.features.values.max() == 1.0


def archive(content: bytes, keys: list[str], mark: bytes = b"") -> bytes:
    if content.startswith(MAGIC):
        return b"".join(key.encode() + b" " + mark + content for key in keys)
    return b"".join(key.encode() + b" \n" + content + b"\n" for key in keys)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("mark", [b"", b"\0B"])
def test_archives_plain_and_compressed(file: Path, kind: str, mark: bytes) -> None:
    keys = ["utt-1", "0", "ütt", "103-1240-0000"]
    for pack in (bytes, gzip.compress):
        forests = read_all(read_kaldi, file, pack(archive(ALL[kind], keys, mark)))
        assert [named.name for named in forests] == keys
        assert all(forest_paths(named.forest) == PATHS for named in forests)


def test_archives_larger_than_a_block(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"u{number}" for number in range(60)]
    for block in (1, 7, 200, 5000):
        monkeypatch.setattr(kaldi, "BLOCK", block)
        monkeypatch.setattr("hulltune.formats.streams.BLOCK", block)
        for content in ALL.values():
            forests = read_all(read_kaldi, file, archive(content, keys))
            assert [named.name for named in forests] == keys
            assert all(forest_paths(named.forest) == PATHS for named in forests)


def test_the_openfst_reader_takes_a_lattice_alone_too(file: Path) -> None:
    (named,) = read_all(read_openfst, file, compact_binary())
    assert forest_paths(named.forest) == PATHS


def test_words_and_what_is_no_word(file: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("<eps> 0\n!SIL 5\nhello 6\n")
    for content in ALL.values():
        (named,) = read_all(read_kaldi, file, content, symbols=tmp_path / "words.txt")
        assert {words for words, _ in forest_paths(named.forest)} == {(), ("hello",)}
    (named,) = read_all(read_kaldi, file, COMPACT_TEXT.replace(" 5 ", " [noise] ").replace("2 0\n", "2 <eps>\n"))
    assert {words for words, _ in forest_paths(named.forest)} == {(), ("6",)}
    with pytest.raises(InputError, match=r"lat\.1: u: label 7 is not in the symbol table"):
        read_all(read_kaldi, file, b"u\n" + COMPACT_TEXT.replace(" 6 ", " 7 ").encode(), symbols=tmp_path / "words.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"lat\.1: the file is empty"),
        (b"u1\n\n", r"lat\.1: u1: no states"),
        (b"u1\n" + COMPACT_TEXT.encode() + b"\nu2\n\n", r"lat\.1: u2: no states"),
        (b"u1\n" + COMPACT_TEXT.encode() + b"\n" + COMPACT_TEXT.encode(), r"lat\.1:7: expected an utterance id"),
        (b"u1\n" + COMPACT_TEXT.replace("1,-30,", "1,-30,x").encode(), r"lat\.1:3: got '0 2 6 1,-30,x'; expected"),
        (b"u1\n" + COMPACT_TEXT.replace("1,-30,", "1").encode(), r"lat\.1:3: got .* as weights 'graph,acoustic"),
        (b"u1\n" + LATTICE_TEXT.replace("17 5 ", "17 ").encode(), r"lat\.1:2: got .*; expected 'from to input output"),
        (b"u1\n" + COMPACT_TEXT.replace("1 2 0", "1 0 0").encode(), r"lat\.1: u1: the forest has a cycle: 0 → 1 → 0"),
        (b"\xff\n" + COMPACT_TEXT.encode(), r"lat\.1:1: not UTF-8"),
        (b"u1 " + compact_binary() + b"u2 garbage that is no FST" + bytes(5000), r"lat\.1: byte 229: expected"),
        (b"u1 " + compact_binary().replace(struct.pack("<i3i", 3, 1, 2, 3), struct.pack("<i3i", -3, 1, 2, 3)),
         r"lat\.1: u1: byte 113: a negative count in state 0"),
        (b"u1 " + compact_binary().replace(struct.pack("<i3i", 3, 1, 2, 3), struct.pack("<i3i", 2**31 - 1, 1, 2, 3)),
         r"lat\.1: byte 229: the file ends within a lattice"),
        (b"u1 " + compact_binary().replace(floats(1, -30), floats(1, float("nan"))),
         r"lat\.1: u1: arc 1, from state 0 to 2: feature 'acoustic' is nan"),
    ],
)  # fmt: skip
def test_files_at_fault(file: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_all(read_kaldi, file, content)


@settings(max_examples=80, deadline=None)
@given(lattices(st.sampled_from(["3", "0", "17"]), st.just(0.0), 0), st.booleans(), st.data())
def test_the_same_paths_as_a_slow_reader(
    tmp_path_factory: pytest.TempPathFactory, lattice: Lattice, transducer: bool, data: st.DataObject
) -> None:
    weight = st.tuples(numerals, numerals).map(",".join)
    ids = st.just("") if transducer else st.sampled_from([",", ",5_6", ",1"])
    first = [arc for arc in lattice.arcs if arc[0] == lattice.start]
    lines = [
        f"{source}\t{target}\t{'9 ' if transducer else ''}{word}\t{data.draw(weight)}{data.draw(ids)}"
        for source, target, word, _ in first + [arc for arc in lattice.arcs if arc[0] != lattice.start]
    ]
    if not lines:
        return
    lines += [f"{state} {data.draw(weight)}{data.draw(ids)}" for state in lattice.finals]
    content = "\n".join(lines) + "\n"
    file = tmp_path_factory.mktemp("kaldi") / "lat"
    slow = slow_fst_text(content, transducer=transducer, width=2, nothing="0")
    first_forest, second = read_all(read_kaldi, file, f"u1 \n{content}\nu2 \n{content}")
    assert forest_paths(first_forest.forest) == slow.paths() == forest_paths(second.forest)


singles = st.floats(-(2.0**100), 2.0**100, width=32)


@settings(max_examples=100, deadline=None)
@given(lattices(st.sampled_from([None, "3", "17"]), singles, 2), st.data())
def test_binary_paths_are_those_of_the_lattice(
    tmp_path_factory: pytest.TempPathFactory, lattice: Lattice, data: st.DataObject
) -> None:
    ends = [state for arc in lattice.arcs for state in arc[:2]]
    ids = st.lists(st.integers(1, 99), max_size=3)
    states = []
    for state in range(1 + max([lattice.start, *ends])):
        graph, acoustic = lattice.finals.get(state, (INFINITY, INFINITY))
        states.append(BinaryState(compact(graph, acoustic, data.draw(ids))))
    for source, target, word, (graph, acoustic) in lattice.arcs:
        states[source].arcs.append(BinaryArc(int(word or 0), compact(graph, acoustic, data.draw(ids)), target))
    file = tmp_path_factory.mktemp("kaldi") / "lat"
    fst = binary_fst("compactlattice44", states, start=lattice.start)
    (named,) = read_all(read_kaldi, file, b"key " + fst)
    negated = Lattice(
        lattice.start,
        [(source, target, word, (0 - row[0], 0 - row[1])) for source, target, word, row in lattice.arcs],
        {state: (0 - row[0], 0 - row[1]) for state, row in lattice.finals.items()},
    )
    assert forest_paths(named.forest) == negated.paths()


BARE = b"u2 \n0\t1\t6\t1,-10,3_4\n1\n"


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_lattice_whose_final_state_has_no_weight(file: Path, line_end: bytes) -> None:
    for content in (BARE, b"\n" + BARE + b"\n", b"\xef\xbb\xbf" + BARE):
        content = content.replace(b"\n", line_end)
        assert looks_like(content)
        file.write_bytes(content)
        assert sniff(file) == "kaldi"
        (named,) = read_all(read_kaldi, file, content)
        assert (named.name, forest_paths(named.forest)) == ("u2", {(("6",), ((-1.0, 10.0),)): 1})
    assert read(file).model == {"graph": 1.0, "acoustic": 1.0}


@pytest.mark.parametrize("key", ["", "utt \n", "utt\n", "spk 1 utt 2 \n", "spk 1 utt 2\n"])
def test_a_lattice_whose_final_state_comes_late(file: Path, key: str) -> None:
    arcs = "".join(f"{state}\t{state + 1}\t{1 + state % 7}\t{state}.5,-1,1_2\n" for state in range(3000))
    file.write_text(f"{key}{arcs}3000\n")
    assert looks_like(file.read_bytes()[:8192])
    dataset = read(file)
    assert dataset.members_of(0)[0].name == (key.strip() or None)
    assert dataset.corpus.edges == 3001


@pytest.mark.parametrize("kind", ALL)
def test_keys_that_hold_blanks(file: Path, kind: str) -> None:
    keys = ["speaker 1 utterance 2", "12 0.5", "a\tb"] if not ALL[kind].startswith(MAGIC) else ["a b", "c  d e"]
    content = archive(ALL[kind], keys)
    assert looks_like(content)
    for line_end in (b"\n", b"\r\n"):
        forests = read_all(
            read_kaldi, file, content if content[-40:].count(b"\0") else content.replace(b"\n", line_end)
        )
        assert [named.name for named in forests] == keys
        assert all(forest_paths(named.forest) == PATHS for named in forests)


def test_blanks_at_the_ends_of_all_lines_make_no_key(file: Path) -> None:
    for end in (" \n", "\t\n", " \r\n"):
        content = COMPACT_TEXT.replace("\n", end)
        assert looks_like(content.encode())
        (named,) = read_all(read_kaldi, file, content)
        assert (named.name, forest_paths(named.forest)) == (None, PATHS)
        (named,) = read_all(read_kaldi, file, f"u1{end}{content}")
        assert (named.name, forest_paths(named.forest)) == ("u1", PATHS)


PLAIN_TEXT = "0\t1\t5\t7\t0.5\n0\t2\t5\t6\n1\t2\t0\t0\t1\n2\t0.25\n"
PLAIN_PATHS = {(("7",), ((-0.5,), (-1.0,), (-0.25,))): 1, (("6",), ((-0.25,),)): 1}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_archives_of_plain_fsts(file: Path, pack: Callable[[bytes], bytes]) -> None:
    keys = ["u1", "17", "u3"]
    binary = binary_fst(
        "standard",
        [
            BinaryState(floats(INFINITY), [BinaryArc(7, floats(0.5), 1), BinaryArc(6, floats(0), 2)]),
            BinaryState(floats(INFINITY), [BinaryArc(0, floats(1), 2)]),
            BinaryState(floats(0.25)),
        ],
    )
    for content in (archive(PLAIN_TEXT.encode(), keys), archive(binary, keys)):
        assert looks_like(content)
        file.write_bytes(pack(content))
        dataset = read(file)
        assert dataset.provenance[0].format == "kaldi"
        assert dataset.feature_names == ("score",)
        assert dataset.model == {"score": 1.0}
        forests = read_all(read_kaldi, file)
        assert [named.name for named in forests] == keys
        for named in forests:
            paths = {
                (words, tuple(row for row in rows if row != (0.0,))): count
                for (words, rows), count in forest_paths(named.forest).items()
            }
            assert paths == PLAIN_PATHS


def test_an_archive_of_acceptors_without_weights(file: Path) -> None:
    (named,) = read_all(read_kaldi, file, "u1 \n0\t1\t5\n1\t2\t6\n2\n\n")
    assert {words for words, _ in forest_paths(named.forest)} == {("5", "6")}


def test_lattices_without_weights_in_an_archive_of_lattices(file: Path) -> None:
    content = archive(b"0 1 5\n1\n", ["u0"]) + archive(COMPACT_TEXT.encode(), ["u1"]) + archive(b"0 1 5\n1\n", ["u2"])
    assert [named.forest.feature_names for named in read_all(read_kaldi, file, content)] == [("graph", "acoustic")] * 3


def scp(folder: Path, content: bytes, keys: list[str], *, pack: bytes = b"") -> Path:
    """An archive of the content under each key, and a list of places in it."""
    lines, whole = [], b""
    for key in keys:
        before = key.encode() + b" "
        lines.append(f"{key} lat.ark:{len(whole) + len(before)}\n")
        whole += before + pack + content if content.startswith(MAGIC) else before + b"\n" + content + b"\n"
    (folder / "lat.ark").write_bytes(whole)
    (folder / "lat.scp").write_text("".join(lines))
    return folder / "lat.scp"


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("name", ["lat.scp", "lattices"])
def test_lists_of_places_in_archives(tmp_path: Path, kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ["utt-1", "0", "ütt", "103-1240-0000"]
    for mark in (b"", b"\0B"):
        path = scp(tmp_path, ALL[kind], keys, pack=mark).rename(tmp_path / name)
        for step in (20, 1 << 16):
            monkeypatch.setattr(kaldi, "_LISTED_STEP", step)
            forests = list(read_kaldi(path, ForestOptions(), Vocabulary()))
            assert [named.name for named in forests] == keys
            assert all(forest_paths(named.forest) == PATHS for named in forests)
        lines = path.read_text().splitlines()
        path.write_bytes("\r\n".join([lines[2], lines[0], ""]).encode())  # in any order, and not all
        assert [member.name for each in read(path).members or () for member in each] == ["ütt", "utt-1"]


def test_lists_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.lat").write_bytes(ALL["compact binary"])
    (tmp_path / "b.gz").write_bytes(gzip.compress(ALL["compact text"]))
    (tmp_path / "lat.scp").write_text(f"x a.lat\ny {tmp_path}/b.gz\n")
    monkeypatch.chdir(tmp_path.parent)
    dataset = read(tmp_path / "lat.scp")
    assert [member.name for each in dataset.members or () for member in each] == ["x", "y"]
    assert all(forest_paths(forest) == PATHS for forest in dataset.corpus)


def test_a_list_beside_its_archive_is_left_out_of_a_folder(tmp_path: Path) -> None:
    scp(tmp_path, ALL["compact text"], ["u1", "u2"])
    dataset = read(tmp_path)
    assert (len(dataset), [Path(name).name for name in dataset.left_out]) == (2, ["lat.scp"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("u1", r"lat\.scp:1: got 'u1'; expected 'key file' or 'key archive:offset'"),
        ("u1 lat.ark:1000000", r"lat\.ark: byte 1000000 is asked for, but the file has 122; is it cut off"),
        ("u1 lat.ark:4", r"lat\.scp:1: .*lat\.ark: byte 4: expected a lattice there, got b'"),
        ("u1 gone.ark:4", r"lat\.scp:1: gone\.ark: no such file, neither here nor beside"),
        ("u1 gunzip -c lat.gz |", r"lat\.scp:1: a command, 'gunzip -c lat\.gz \|', which hulltune does not run; write"),
        ("u1 lat.ark:3[0:5]", r"lat\.scp:1: a range, 'lat\.ark:3\[0:5\]'"),
        ("u1 lat.ark:3\nu1 lat.ark:3", r"lat\.scp:2: 'u1' again"),
        ("u1 lat.ark", r"lat\.scp:1: .*lat\.ark has several lattices; expected one, or an offset"),
        ("u1 lat.scp", r"lat\.scp:1: .*lat\.scp is a list itself; expected a lattice"),
        ("u1 lat.ark:121", r"lat\.ark: byte 121: expected a lattice there, got nothing"),
        ("\n\n", r"lat\.scp: the file is empty"),
    ],
)
def test_lists_at_fault(tmp_path: Path, line: str, message: str) -> None:
    path = scp(tmp_path, ALL["compact text"], ["u1", "u2"])
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        read_all(read_kaldi, path)


def test_archives_of_lists_cut_off_at_any_byte(tmp_path: Path) -> None:
    for kind in ("compact binary", "compact text"):
        path = scp(tmp_path, ALL[kind], ["u1", "u2"])
        whole = (tmp_path / "lat.ark").read_bytes()
        for length in range(len(whole) // 2, len(whole) - 1):
            (tmp_path / "lat.ark").write_bytes(whole[:length])
            reason = refusal(partial(read_all, read_kaldi, path))
            assert (reason is None and kind == "compact text") or (reason is not None and "lat." in reason)
