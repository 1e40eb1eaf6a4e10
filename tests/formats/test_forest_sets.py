"""Forests from files, patterns and folders: which sentence is which, unions, and lists beside them."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Dataset, Forest, InputError, Vocabulary, read
from hulltune.data import Member
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.data.joining import Piece, joined, union, with_common_features
from hulltune.errors import Note
from hulltune.formats.found_files import natural_key
from hulltune.formats.packed import pack
from hulltune.formats.registry import sniff
from hulltune.formats.streams import names_in, suffix_of, without_suffix
from tests.oracles import derivations, output_of
from tests.strategies import forests


def forest_text(word: str, **features: float) -> str:
    """A forest with two derivations: ``word`` and ``word word``."""
    values = " ".join(f"{name}={value}" for name, value in features.items())
    return f"2 3\n1\n{word} ||| {values}\n2\n[0] ||| n=1\n[0] [0] ||| n=2\n"


def outputs(found: Dataset, sentence: int) -> list[str]:
    forest = found.corpus[sentence]
    return [" ".join(output_of(forest, edges)) for edges in derivations(forest)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    room = tmp_path / "forests"
    room.mkdir()
    for number in (2, 10, 1):
        (room / f"{number}.hg").write_text(forest_text(f"w{number}", a=float(number)))
    return room


def test_a_folder_is_read_in_natural_order(folder: Path) -> None:
    found = read(folder)
    assert [outputs(found, i)[0] for i in range(3)] == ["w1", "w2", "w10"]
    assert found.ids == (0, 1, 2)
    assert [Path(found.members_of(i)[0].file).name for i in range(3)] == ["1.hg", "2.hg", "10.hg"]


def test_threads_read_what_one_reads(folder: Path) -> None:
    """Words have the numbers, too, that they have if files are read one after the other."""
    for number in range(11, 30):
        (folder / f"{number}.hg").write_text(forest_text(f"w{40 - number}", a=float(number)))
    (folder / "31.txt").write_text("0 ||| w1 w99 ||| a=1 b=2 ||| 0\n")
    alone = read(folder, threads=1)
    expected = Vocabulary()
    expected.ids([f"w{k}" for k in (1, 2, 10, *(40 - number for number in range(11, 30)))])
    assert alone.corpus.vocabulary.tokens[: len(expected)] == expected.tokens
    for threads in (2, 3, 7):
        found = read(folder, threads=threads)
        assert found.corpus.vocabulary.tokens == alone.corpus.vocabulary.tokens
        assert found.corpus.labels.tolist() == alone.corpus.labels.tolist()
        assert found.corpus.features.toarray().tolist() == alone.corpus.features.toarray().tolist()
        assert (found.ids, found.members, found.provenance) == (alone.ids, alone.members, alone.provenance)


@pytest.mark.parametrize(("ids", "expected"), [("order", (0, 1, 2)), ("name", (1, 2, 10)), ("name1", (0, 1, 9))])
def test_ids(folder: Path, ids: str, expected: tuple[int, ...]) -> None:
    found = read(str(folder / "*.hg"), ids=ids)
    assert found.ids == expected
    assert [outputs(found, i)[0] for i in range(3)] == ["w1", "w2", "w10"]


def test_the_last_number_of_a_name_counts(tmp_path: Path) -> None:
    path = tmp_path / "run3.sent_0042.hg.gz"
    path.write_bytes(gzip.compress(forest_text("w", a=1.0).encode()))
    assert read(path, ids="name").ids == (42,)


def test_forests_of_one_file_go_by_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "all.7.txt"
    path.write_text(f"# name utt-4\n{forest_text('x', a=1.0)}# name utt-2\n{forest_text('y', a=1.0)}")
    assert read(path).ids == (0, 1)
    found = read(path, ids="name")
    assert found.ids == (2, 4)
    assert outputs(found, 0) == ["y", "y y"]


@pytest.mark.parametrize(
    ("name", "text", "ids", "message"),
    [
        ("x.hg", forest_text("a", f=1.0), "name", "no number in the name of the file"),
        ("0.hg", forest_text("a", f=1.0), "name1", "counts from 1"),
        ("3.hg", forest_text("a", f=1.0) * 2, "name", "2 forests, of which one has no number"),
        ("3.hg", forest_text("a", f=1.0), "nam", "did you mean 'name'"),
    ],
)
def test_ids_that_cannot_be(tmp_path: Path, name: str, text: str, ids: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / name, ids=ids)


def test_the_same_sentence_in_several_files_is_a_union(folder: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "2.hg").write_text(forest_text("other", b=1.0))
    found = read([folder, second], ids="name")
    assert found.ids == (1, 2, 10)
    assert outputs(found, 1) == ["w2", "w2 w2", "other", "other other"]
    assert [Path(member.file).parent.name for member in found.members_of(1)] == ["forests", "second"]
    assert found.feature_names == ("a", "n", "b")


def test_features_are_united_and_absent_ones_are_zero(folder: Path) -> None:
    (folder / "3.hg").write_text(forest_text("w3", z=5.0))
    found = read(folder)
    assert found.feature_names == ("a", "n", "z")
    third = found.corpus[2]
    assert third.features.toarray().tolist() == [[0, 0, 5], [0, 1, 0], [0, 2, 0]]
    assert isinstance(found.corpus.features, DenseFeatures)


def test_many_rare_features_stay_sparse(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number}.hg").write_text(forest_text("w", **{f"f{number}": 1.0}))
    assert isinstance(read(tmp_path).corpus.features, SparseFeatures)


def test_a_broken_forest_in_a_folder_is_an_error(folder: Path) -> None:
    (folder / "5.hg").write_text("nothing of the kind\n")
    with pytest.raises(InputError, match=r"5\.hg: cannot tell the format, but its name ends like"):
        read(folder)


def test_no_match_and_no_forests(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file matches"):
        read(str(tmp_path / "*.hg"))
    with pytest.raises(InputError, match="at least one file"):
        read([])
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none.hg")


def test_lists_are_not_forests_and_forests_no_lists(folder: Path, tmp_path: Path) -> None:
    assert sniff(folder) == sniff(folder / "1.hg") == "forest"
    with pytest.raises(InputError, match="features: chars is for lists; forests take words"):
        read(folder / "1.hg", features=["words", "chars"])
    srilm = tmp_path / "srilm"
    srilm.mkdir()
    (srilm / "u1").write_text("-10 -2 2 a b\n-11 -2 2 a c\n")
    assert sniff(srilm) == "srilm"
    with pytest.raises(InputError, match="negate: is for forests, and these are lists"):
        read(srilm, negate=True)


def test_lists_beside_forests(folder: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.txt"
    lists.write_text("0 ||| a  b ||| n=1 q=2 ||| 0.5\n0 ||| c ||| n=3 q=4 ||| 0.7\n2 ||| d ||| n=1 q=1 ||| 1\n")
    found = read([lists, folder], ids="name")
    assert found.ids == (0, 1, 2, 10)
    assert found.feature_names == ("n", "q", "a")
    assert found.corpus[0].is_list
    assert outputs(found, 0) == ["a  b", "c"]  # exactly as it was
    assert outputs(found, 2) == ["d", "w2", "w2 w2"]
    assert found.first_choices.tolist() == [1, -1, -1, -1]
    assert found.corpus[0].features.toarray().tolist() == [[1, 2, 0], [3, 4, 0]]


def test_references_by_line(folder: Path) -> None:
    lines = tuple((f"line {number}",) for number in range(12))
    with pytest.warns(Note, match="left out 9 of 12 reference lines, for which there is no forest"):
        by_name = read(folder, lines, ids="name")
    assert by_name.references == (lines[1], lines[2], lines[10])
    assert len(by_name) == 3
    assert read(folder).matched(lines[:3]).references == lines[:3]
    with pytest.raises(InputError, match="3 sentences, but 12 reference lines"):
        read(folder).matched(lines)
    with pytest.raises(InputError, match="3 sentences, but 2 reference lines"):
        read(folder).matched(lines[:2])
    (folder / "10.hg").rename(folder / "3.hg")
    assert read(folder).matched(lines).references == lines[:3]  # the names say the same as the order
    (folder / "3.hg").rename(folder / "10.hg")
    with pytest.raises(InputError, match="name1 counts from 1"):
        read(folder, ids="name").matched(lines[:10])
    with pytest.raises(InputError, match="the references have only 5 lines"):
        read(folder, ids="name1").matched(lines[:5])
    with pytest.raises(InputError, match="no references"):
        read(folder).matched(None)


def test_signs_change_on_request(folder: Path) -> None:
    assert read(folder / "2.hg", negate=True).corpus.features.toarray().min() < 0
    named = read(folder / "2.hg", negate=["a"]).corpus
    assert named.features.toarray()[:, named.feature_names.index("a")].tolist() == [-2, 0, 0]
    assert named.features.toarray()[:, named.feature_names.index("n")].min() == 0
    with pytest.raises(InputError, match="did you mean 'a'"):
        read(folder / "2.hg", negate=["A"])


def test_words_are_dropped_on_request(folder: Path) -> None:
    assert outputs(read(folder / "2.hg", drop=["w2"]), 0) == ["", ""]


@given(st.lists(st.text(alphabet="ab.019²", max_size=6), max_size=8))
def test_natural_order_is_that_of_texts_and_numbers_part_by_part(names: list[str]) -> None:
    def slow(name: str) -> list[tuple[bool, int, str]]:
        parts = re.findall("[0-9]+|[^0-9]+", name)
        parts = ["", *parts] if parts and parts[0][0] in "0123456789" else parts or [""]
        parts += [""] * (len(parts) % 2 == 0)
        return [(place % 2 == 1, int(part) if place % 2 else 0, part) for place, part in enumerate(parts)]

    assert sorted(names, key=natural_key) == sorted(names, key=slow)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["b.slf", "a.slf.gz", "notes"], "slf"),
        (["x.y.slf", "a."], "slf"),
        (["a..slf", "README.md"], "slf"),
        (["slf"], "slf"),
    ],
)
def test_a_folder_is_known_by_one_file_of_each_suffix(tmp_path: Path, names: list[str], kind: str) -> None:
    for name in names:
        is_forest = name.endswith(("slf", ".gz"))
        (tmp_path / name).write_text("VERSION=1.0\nN=2 L=1\nJ=0 S=0 E=1 W=a a=-1\n" if is_forest else "some text\n")
    assert sniff(tmp_path) == kind


@settings(deadline=None, max_examples=60)
@given(st.lists(forests(max_derivations=40), min_size=1, max_size=4))
def test_a_union_has_the_derivations_of_all(given: list[Forest]) -> None:
    found = union(given)
    expected = [output_of(forest, edges) for forest in given for edges in derivations(forest)]
    assert [output_of(found, edges) for edges in derivations(found)] == expected
    sums = [forest.features.toarray()[list(edges)].sum(axis=0) for forest in given for edges in derivations(forest)]
    mine = [found.features.toarray()[list(edges)].sum(axis=0) for edges in derivations(found)]
    assert np.allclose(np.reshape(mine, (-1, 3)), np.reshape(sums, (-1, 3)), rtol=1e-12, atol=0, equal_nan=True)
    assert len(Corpus.pack([found])) == 1


@settings(deadline=None, max_examples=40)
@given(forests(max_derivations=40), st.permutations(["f0", "f1", "f2", "new"]))
def test_features_move_by_name(forest: Forest, names: list[str]) -> None:
    (moved,) = with_common_features([forest], names)
    before, after = forest.features.toarray(), moved.features.toarray()
    for name in names:
        column = after[:, names.index(name)]
        expected = before[:, forest.feature_names.index(name)] if name != "new" else np.zeros(forest.edges)
        assert np.array_equal(column, expected)


def test_ids_from_a_file_of_names(folder: Path, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("10 spoken by ten\nnobody\n2\n1\n")
    found = read(folder, ids=str(names))
    assert found.ids == (0, 2, 3)
    assert [outputs(found, i)[0] for i in range(3)] == ["w10", "w2", "w1"]
    matched = found.matched((("ten",), ("none",), ("two",), ("one",)))
    assert matched.references == (("ten",), ("two",), ("one",))
    with pytest.raises(InputError, match="the file of names has 4 lines, but the references have 3;"):
        found.matched((("ten",), ("none",), ("two",)))


def test_names_with_blanks(tmp_path: Path) -> None:
    (tmp_path / "lat").write_text("".join(f"spk {n} \n0\t1\t{n}\t1,-10,3_4\n1\n\n" for n in (3, 1, 2)))
    (tmp_path / "names").write_text("spk 1\nspk 2\nnobody\nspk 3\n")
    found = read(tmp_path / "lat", ids=tmp_path / "names")
    assert found.ids == (0, 1, 3)
    assert [outputs(found, i) for i in range(3)] == [["1"], ["2"], ["3"]]
    (tmp_path / "names").write_text("spk 1\nspk 1\nspk 3\n")
    with pytest.raises(InputError, match="names:2: 'spk 1' again, after line 1"):
        read(tmp_path / "lat", ids=tmp_path / "names")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10\n2\n", r"1\.hg: .*names has no line for '1'"),
        ("1\n10\n2\n10\n", r"names:4: '10' again, after line 2"),
        ("10 a\n2\n1\n10 b\n", r"names:4: '10' again, after line 1"),
        ("10\n\n2\n", r"names:2: an empty line"),
    ],
)
def test_faults_in_a_file_of_names(folder: Path, tmp_path: Path, text: str, message: str) -> None:
    names = tmp_path / "names"
    names.write_text(text)
    with pytest.raises(InputError, match=message):
        read(folder, ids=str(names))


def test_a_folder_of_several_formats_is_read_whole(folder: Path, tmp_path: Path) -> None:
    (folder / "3.nbest").write_text("3 ||| w3 ||| a=1\n3 ||| w3 w3 ||| a=2\n")
    (folder / "4.slf").write_text("N=2 L=1\nI=0 W=!NULL\nI=1 W=w4\nJ=0 S=0 E=1 a=-1\n")
    (folder / "LICENCE").write_text("as you like\n")
    (folder / "refs").write_text("1 2 3\n4 5\n")  # looks like arcs
    (folder / "more").mkdir()
    found = read(folder, ids="name")
    assert {"w1", "w2", "w3", "w4", "w10"} == {outputs(found, i)[0] for i in range(len(found)) if outputs(found, i)}
    assert [Path(name).name for name in found.left_out] == ["more", "LICENCE", "refs"]


def test_a_table_of_words_that_is_not_there(folder: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file; expected a table of words"):
        read(folder, symbols="nowhere")


def test_a_lone_file_with_a_1_is_not_taken_for_the_first_of_many(folder: Path) -> None:
    lines = (("zero",), ("one",), ("two",))
    found = read(folder / "1.hg")
    assert found.matched(lines[:1]).references == lines[:1]
    with pytest.raises(InputError, match=r"1 sentence, but 3 reference lines; .*--ids name"):
        found.matched(lines)
    assert read(folder / "1.hg", ids="name").matched(lines).references == lines[1:2]
    (folder / "1.hg").rename(folder / "0.hg")
    assert read(folder / "0.hg").matched(lines).references == lines[:1]  # by name it is the same line
    (folder / "10.hg").rename(folder / "3.hg")
    with pytest.raises(InputError, match="--ids name"):  # 2 and 3 follow each other, but nobody counts from 2
        read([folder / "2.hg", folder / "3.hg"]).matched(lines)


def test_numbers_that_neither_lists_nor_forests_name_are_no_sentences(folder: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.txt"
    lists.write_text("4 ||| a ||| n=1 q=2 ||| 0.5\n")
    found = read([folder, lists], ids="name")
    assert found.ids == (1, 2, 4, 10)
    assert found.empty_ids == ()
    declared = tmp_path / "lists.jsonl"
    declared.write_text('{"id": 4, "candidates": [{"text": "a", "features": {"n": 1}}]}\n{"id": 3, "candidates": []}\n')
    assert read(declared).unnamed == (0, 1, 2)
    found = read([folder, declared], ids="name")
    assert found.ids == (1, 2, 3, 4, 10)
    assert found.empty_ids == (3,)


def test_packed_lists_remember_what_no_file_names(folder: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.txt"
    lists.write_text("4 ||| a ||| n=1 q=2 ||| 0.5\n")
    pack(read(lists), tmp_path / "lists.packed")
    assert read(tmp_path / "lists.packed").unnamed == (0, 1, 2, 3)
    assert read([folder, tmp_path / "lists.packed"], ids="name").ids == (1, 2, 4, 10)


@settings(deadline=None, max_examples=60)
@given(st.sets(st.integers(0, 7), min_size=1), st.integers(0, 3), st.data())
def test_sentences_without_a_forest_are_there_and_empty(numbers: set[int], further: int, data: st.DataObject) -> None:
    found = with_common_features([data.draw(forests(max_derivations=10)) for _ in numbers])
    pieces = [Piece(number, forest, Member("m")) for number, forest in zip(sorted(numbers), found, strict=True)]
    count = max(numbers) + 1 + further
    aligned = joined(pieces, ids_by="name").aligned_to(count)
    assert tuple(aligned.ids) == tuple(range(count))
    by_number = dict(zip(sorted(numbers), found, strict=True))
    for number in range(count):
        forest = by_number.get(number)
        mine = aligned.corpus[number]
        assert list(derivations(mine)) == ([] if forest is None else list(derivations(forest)))
        assert len(aligned.members_of(number)) == (forest is not None)
        if forest is not None:
            assert np.array_equal(mine.features.toarray(), forest.features.toarray())
    if count > 1:
        with pytest.raises(InputError, match="the references have only"):
            aligned.aligned_to(count - 1)


def test_forests_by_order_are_as_many_as_there_are_sentences(folder: Path) -> None:
    (folder / "10.hg").rename(folder / "3.hg")
    with pytest.raises(InputError, match=r"3 sentences, but 4 reference lines; .*--ids name"):
        read(folder).aligned_to(4)  # whatever their names say
    assert len(read(folder).aligned_to(3)) == 3
    (forest, *_) = read(folder).corpus
    assert read([forest, [], [forest, forest]]).empty_ids == (1,)


@given(st.text(alphabet="ab.gz", min_size=1, max_size=9).filter(lambda name: set(name) != {"."}))
def test_suffixes_are_those_of_paths(name: str) -> None:
    # Up to Python 3.13, a second dot at the beginning of a name begins the suffix of a Path; it never does in splitext.
    suffix = without_suffix(name if name[:2] != ".." else name.lstrip(".")).suffix
    assert suffix_of(name) == ("" if suffix == "." else suffix)  # Python 3.14 has "."
    assert suffix_of(f"{name}.slf.gz") == ".slf"


def test_the_names_in_a_folder(tmp_path: Path) -> None:
    for name in ("b.slf", ".hidden", "a"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "b.slf")
    (tmp_path / "to folder").symlink_to(tmp_path / "folder")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    os.mkfifo(tmp_path / "pipe")
    files, folders = names_in(tmp_path)
    assert sorted(files) == ["a", "b.slf", "link"]
    assert sorted(folders) == ["folder", "to folder"]


def test_names_of_files_are_as_paths_write_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert read(".").members_of(0)[0].file == "1.hg"
    (folder / "notes").mkdir()
    assert read(f"{folder}//").left_out == (f"{folder}/notes/",)
