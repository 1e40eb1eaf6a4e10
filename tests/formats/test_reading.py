"""Features of all formats: sniffing, compression, added scores, built-in features, alignment with references."""

from __future__ import annotations

import gzip
import io
import math
import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Dataset, InputError, envelopes, read
from hulltune.errors import Note
from hulltune.formats import add_builtin_features, pack, read_references, sniff
from hulltune.formats.streams import open_bytes
from hulltune.formats.writing import folder_written_atomically, written_atomically
from tests.lists import all_texts, hypothesis

MOSES = "0 ||| a b ||| x= 1 ||| 3\n0 ||| c ||| x= 2 ||| 2\n0 ||| a b ||| x= 1 ||| 1\n1 ||| d e f ||| x= 5 ||| 0\n"


@pytest.fixture
def moses(tmp_path: Path) -> Path:
    path = tmp_path / "nbest"
    path.write_text(MOSES)
    return path


def column(lists: Dataset, name: str) -> list[float]:
    values: list[float] = lists.corpus.features.matrix()[:, lists.feature_names.index(name)].tolist()
    return values


def test_zstd_without_a_module_says_what_to_install(moses: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    def absent(name: str) -> object:
        raise ImportError(name)

    moses.write_bytes(b"\x28\xb5\x2f\xfd....")
    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(InputError, match="pip install zstandard"):
        read(moses)


def test_what_cannot_be_sniffed_or_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("just words\n")
    with pytest.raises(InputError, match="cannot tell the format"):
        read(tmp_path / "a")
    (tmp_path / "a.csv").write_text("text;lm\n")
    assert sniff(tmp_path / "a.csv") == "csv"  # where the content tells nothing, the name may
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "b")
    with pytest.raises(InputError, match="did you mean 'moses'"):
        read(tmp_path / "a", format="mose")
    with pytest.raises(InputError, match="at least one file"):
        read([])
    with pytest.raises(InputError, match="expected the name of a file"):
        read([3])
    with pytest.raises(InputError, match=r"missing: 1\.0 is for scores of rankers; expected 0"):
        read([{"id": 0, "candidates": [{"text": "a", "features": {"f": 1.0}}]}], missing=1.0)
    with pytest.raises(InputError, match="dtype"):
        read(tmp_path / "a", dtype=np.int32)
    with pytest.raises(InputError, match="unknown way to handle errors"):
        read(tmp_path / "a", on_error="ignore")


def test_different_formats_together(moses: Path, tmp_path: Path) -> None:
    (tmp_path / "j").write_text('{"id": 0, "candidates": []}')
    with pytest.raises(InputError, match="different formats"):
        read([moses, tmp_path / "j"])


def test_scores_are_added_by_line_before_duplicates_collapse(moses: Path, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("0.1\n0.2\n0.1\n0.4\n")
    lists = read(moses, add=[(tmp_path / "s", "comet")])
    assert column(lists, "comet") == [0.1, 0.2, 0.4]
    (tmp_path / "s").write_text("0.1\n0.2\n0.3\n0.4\n")
    assert read(moses, add=[(tmp_path / "s", "comet")]).duplicates == 0


def test_scores_are_added_by_id_and_rank(moses: Path, tmp_path: Path) -> None:
    for base in (0, 1):
        (tmp_path / "s").write_text(
            "".join(f"{i} {r + base} {v}\n" for i, r, v in [(1, 0, 9), (0, 2, 3), (0, 0, 1), (0, 1, 2)])
        )
        assert column(read(moses, add=[(tmp_path / "s", "s")]), "s") == [1, 2, 3, 9]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("1\n2\n3\n", "3 scores, but the lists have 4 hypotheses"),
        ("1\n2\n3\n4\n5\n", "5 scores, but the lists have 4"),
        ("1\nx\n3\n4\n", "s:2: got 'x'"),
        ("1\n\n3\n4\n", "s:2: got ''"),
        ("1\nnan\n3\n4\n", "s:2: got 'nan'"),
        ("1 2\n", "s:1: got '1 2'"),
        ("0 0 1\n0 0 2\n", "occurs twice"),
        ("0 0 1\n0 1 2\n1 0 3\n", "no score for id 0 rank 2"),
        ("0 0 1\n0 1 2\n0 2 2\n1 0 3\n7 0 1\n", "a score for id 7 rank 0"),
        ("0 a 1\n", "expected 'id rank value'"),
    ],
)
def test_added_scores_at_fault(moses: Path, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s").write_text(content)
    with pytest.raises(InputError) as caught:
        read(moses, add=[(tmp_path / "s", "s")])
    assert message in str(caught.value)


def test_added_scores_stay_with_their_hypotheses_when_lines_are_skipped(moses: Path, tmp_path: Path) -> None:
    moses.write_text("0 ||| a ||| x= 1\nbroken\n0 ||| b ||| x= nan\n\n0 ||| c ||| x= 2\n")
    (tmp_path / "s").write_text("1\n2\n3\n4\n5\n")
    assert column(read(moses, add=[(tmp_path / "s", "s")], on_error="skip"), "s") == [1, 5]
    (tmp_path / "j").write_text('{"candidates": [{"text": "a"}]}\nbroken\n')
    with pytest.raises(InputError, match="an unknown number of hypotheses was skipped"):
        read(tmp_path / "j", add=[(tmp_path / "s", "s")], on_error="skip")


def test_built_in_features(moses: Path) -> None:
    lists = read(moses, features=["words", "chars", "rank", "consensus", "log_length"])
    assert lists.feature_names == ("x", "words", "chars", "rank", "consensus", "log_length")
    assert column(lists, "words") == [2, 1, 3]
    assert column(lists, "chars") == [3, 1, 5]
    assert column(lists, "rank") == [1, 2, 1]
    assert column(lists, "consensus") == [2, 1, 1]
    assert column(lists, "log_length") == pytest.approx([math.log(3), math.log(2), math.log(4)], rel=1e-15)
    assert lists.corpus.features.matrix().flags.f_contiguous
    with pytest.raises(InputError, match="already have a feature 'words'"):
        add_builtin_features(lists, ["words"])
    with pytest.raises(InputError, match="unknown built-in feature 'word'; did you mean 'words'"):
        add_builtin_features(lists, ["word"])


def test_consensus_counts_texts_whatever_their_features(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0 ||| é ||| x=1\n0 ||| é ||| x=2\n0 ||| é ||| x=1\n0 ||| a ||| x=1\n1 ||| é ||| x=1\n")
    lists = read(tmp_path / "n", features=["consensus", "chars"])
    assert column(lists, "consensus") == [3, 3, 1, 1]
    assert column(lists, "chars") == [1, 1, 1, 1]


def test_the_corpus_has_a_node_a_sentence_and_an_edge_a_row(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0 ||| a ||| x=1 y=0\n2 ||| b ||| x=2 y=1\n2 ||| c ||| x=3 y=0\n")
    lists = read(tmp_path / "n")
    corpus = lists.corpus
    assert (len(corpus), corpus.nodes, corpus.edges) == (3, 3, 3)
    assert [forest.edges for forest in corpus] == [1, 0, 2]
    assert corpus[2].edge_ids.tolist() == [0, 1]
    assert corpus.features.values is lists.corpus.features.matrix()
    found = envelopes(corpus, [0, 1], [[1, 0]])
    assert len(found.envelope(0)) == 1
    assert [segment.slope for segment in found.envelope(2)] == [2, 3]
    assert hypothesis(lists, 2, 1) == "c"
    with pytest.raises(IndexError):
        hypothesis(lists, 1, 0)


def test_references_belong_to_ids(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("3 ||| d ||| x=1\n0 ||| a ||| x=1\n1 ||| b ||| x=1\n")
    (tmp_path / "r").write_text("ref 0\n\nref 2\nref 3\nref 4\n")
    with pytest.warns(Note, match="2 of 5 reference lines have no list, and count as empty outputs: are these the ref"):
        lists = read(tmp_path / "n", tmp_path / "r")
    references = lists.references
    assert references is not None
    assert [hypothesis(lists, i, 0) if i in (0, 1, 3) else None for i in range(5)] == ["a", "b", None, "d", None]
    assert lists.empty_ids == (2, 4)
    assert references[1] == ("",)
    assert references[3] == ("ref 3",)


def test_too_few_references_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0 ||| a ||| x=1\n3 ||| b ||| x=1\n")
    (tmp_path / "r").write_text("1\n2\n3\n")
    with pytest.raises(
        InputError, match="up to sentence id 3, but there are only 3 reference lines; expected at least 4"
    ):
        read(tmp_path / "n", tmp_path / "r")
    (tmp_path / "n").write_text("1 ||| a ||| x=1\n3 ||| b ||| x=1\n")
    with pytest.raises(InputError, match="ids count from 0, these start at 1"):
        read(tmp_path / "n", tmp_path / "r")
    (tmp_path / "n").write_text("u ||| a ||| x=1\nv ||| b ||| x=1\n")
    with pytest.raises(InputError, match="2 sentences, but the references 3 lines"):
        read(tmp_path / "n", tmp_path / "r")


def test_far_flung_ids_are_aligned_too(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("150000 ||| b ||| x=1\n2 ||| a ||| x=1\n")
    lists = read(tmp_path / "n")
    assert len(lists) == 2
    aligned = lists.aligned_to(150_001)
    assert hypothesis(aligned, 2, 0) == "a"
    assert hypothesis(aligned, 150_000, 0) == "b"


def test_reference_files_must_agree(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_bytes(gzip.compress(b"x\r\ny"))
    assert read_references([tmp_path / "a", tmp_path / "b"]) == (("1", "x"), ("2", "y"))
    (tmp_path / "b").write_text("x\n")
    with pytest.raises(InputError, match=r"b has 1 line, but .*a has 2"):
        read_references([tmp_path / "a", tmp_path / "b"])
    (tmp_path / "b").write_bytes(b"x\n\xe9\n")
    with pytest.raises(InputError, match="b:2: not UTF-8"):
        read_references(tmp_path / "b")
    with pytest.raises(InputError, match="at least one file"):
        read_references([])
    (tmp_path / "b").write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        read_references(tmp_path / "b")


def test_references_within_the_lists(tmp_path: Path) -> None:
    (tmp_path / "j").write_text('{"id": 1, "refs": ["r"], "candidates": [{"text": "a"}]}\n')
    lists = read(tmp_path / "j")
    assert lists.references == ((), ("r",))
    assert (lists.matched().references, lists.matched().ids) == ((("r",),), (1,))  # nothing is known of sentence 0
    (tmp_path / "j").write_text(
        '{"id": 1, "refs": ["r"], "candidates": [{"text": "a"}]}\n{"id": 0, "candidates": [{"text": "a"}]}\n'
    )
    with pytest.raises(InputError, match="sentence 0 has hypotheses but no reference"):
        read(tmp_path / "j").matched()
    (tmp_path / "n").write_text(MOSES)
    with pytest.raises(InputError, match="no references"):
        read(tmp_path / "n").matched()
    assert len(lists) == 2


@pytest.mark.parametrize("compressed", [False, True])
def test_a_pipe_is_read_like_a_file(tmp_path: Path, compressed: bool) -> None:
    data = b"0 ||| a ||| f=1\n0 ||| b ||| f=2\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(data) if compressed else data))
    writer.start()
    lists = read(pipe)
    writer.join()
    assert all_texts(lists) == ["a", "b"]


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"0 ||| a ||| f=1\n", gzip.compress(b"0 ||| a ||| f=1\n")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert all_texts(read("-")) == ["a"]


def test_a_folder_is_no_file_to_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; expected the name of a file"), written_atomically(tmp_path):
        pass


def test_a_dash_is_the_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with written_atomically("-") as file:
        file.write(b"all of it")
    assert capfdbinary.readouterr().out == b"all of it"
    assert not Path("-").exists()


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    with written_atomically(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").read_bytes() == b"new"
    assert [entry.name for entry in (tmp_path / "folder").iterdir()] == ["file"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with written_atomically(pipe) as file:
        file.write(b"all of it")
    reader.join()
    assert read == [b"all of it"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\x02\x01\x01\x00", bytes(range(256)), b"\x1b[31m red\n", b"\xff\xfe\x00\n", "a\u202eb".encode(), b"\x00"],
)
def test_bytes_that_are_no_text_are_not_shown_as_such(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "junk").write_bytes(data)
    with pytest.raises(
        InputError, match=r"cannot tell the format from the bytes [0-9a-f ]+ …, which are no text"
    ) as caught:
        read(tmp_path / "junk")
    assert str(caught.value).isprintable()


def test_a_small_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large one twice, to recognise its format and to read it: no more than one is open at a time."""
    moses, forest = "0 ||| a ||| f=1\n", "2 2\n1\na ||| x=1\n1\n[0] b ||| x=1\n"
    (tmp_path / "a").write_text(moses)
    (tmp_path / "b.gz").write_bytes(gzip.compress(moses.encode()))
    (tmp_path / "c.csv").write_text("id,text,x\n0,a,1\n")
    (tmp_path / "d").write_text(forest)
    pack(read(tmp_path / "c.csv"), tmp_path / "e")
    (tmp_path / "f").write_text(moses * 10_000)
    opened: list[str] = []
    original = open

    def counting(file: Any, *arguments: Any, **options: Any) -> Any:
        if tmp_path in Path(file).parents:  # and no part of a kernel
            opened.append(Path(file).name)
        return original(file, *arguments, **options)

    monkeypatch.setattr("builtins.open", counting)
    for name in ("a", "b.gz", "c.csv", "d", "e", "f"):
        read(tmp_path / name)
    assert opened == ["a", "b.gz", "c.csv", "d", "e", "f", "f"]


def test_faults_of_whoever_reads_are_not_those_of_the_file(tmp_path: Path) -> None:
    """A kernel whose cache is damaged raises EOFError too, and the user's file has nothing to do with it."""
    (tmp_path / "a").write_text("a")
    with pytest.raises(EOFError, match="cache"), open_bytes(tmp_path / "a"):
        raise EOFError("the cache of a kernel is cut off")


def test_a_folder_that_another_run_has_made_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "lattices"
    with ExitStack() as stack:
        draft = stack.enter_context(folder_written_atomically(target))
        (draft / "mine").write_text("1")
        target.mkdir()
        (target / "theirs").write_text("2")
        with pytest.raises(InputError, match="another run has made this folder in the meantime; run it again"):
            stack.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["lattices"]
    assert [entry.name for entry in target.iterdir()] == ["theirs"]
