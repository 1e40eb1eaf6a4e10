"""Moses lists: what the kernel reads, and what it says of a line at fault."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Dataset, InputError, read
from hulltune.formats.moses import MosesReader
from hulltune.formats.streams import Problems
from tests.formats.moses_oracle import parse
from tests.lists import all_texts


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "nbest.txt"


def lists(file: Path, content: str | bytes, **options: Any) -> Dataset:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(file, format="moses", **options)


def test_dense_names_with_several_values_are_numbered(file: Path) -> None:
    read = lists(file, "0 ||| a b ||| LM0= -1.5 TM0= 1 2 3 ||| -2\n0 ||| c ||| LM0= 0 TM0= 4 5 6 ||| -1e-3\n")
    assert read.feature_names == ("LM0", "TM0_0", "TM0_1", "TM0_2")
    assert read.corpus.features.matrix().tolist() == [[-1.5, 1, 2, 3], [0, 4, 5, 6]]
    assert read.corpus.features.matrix().flags.f_contiguous
    assert all_texts(read) == ["a b", "c"]
    assert read.scores is not None
    assert read.scores.tolist() == [-2, -1e-3]
    assert read.omitted == {}


def test_sparse_names_left_out_are_zero_and_counted(file: Path) -> None:
    read = lists(file, "0 ||| a ||| x=1 y=2 ||| 0\n0 ||| b ||| y=3 ||| 0\n0 ||| c ||| z=4 x=-1 ||| 0\n")
    assert read.feature_names == ("x", "y", "z")
    assert read.corpus.features.matrix().tolist() == [[1, 2, 0], [0, 3, 0], [-1, 0, 4]]
    assert read.omitted == {"x": 1, "y": 1, "z": 2}


def test_ids_in_any_order_are_grouped_and_gaps_are_empty_lists(file: Path) -> None:
    read = lists(file, "3 ||| d ||| x=1\n0 ||| a ||| x=2\n3 ||| e ||| x=3\n1 ||| b ||| x=4\n0 ||| f ||| x=5\n")
    assert read.ids == range(4)
    assert read.corpus.sentence_edges.tolist() == [0, 2, 3, 3, 5]
    assert all_texts(read) == ["a", "f", "b", "d", "e"]
    assert read.corpus.features.matrix()[:, 0].tolist() == [2, 5, 4, 1, 3]
    assert read.empty_ids == (2,)


def test_names_as_ids_keep_the_order_of_first_appearance(file: Path) -> None:
    long = "u" * 400
    read = lists(file, f"utt-b ||| x ||| f=1\nutt-a ||| y ||| f=2\n{long} ||| w ||| f=0\nutt-b ||| z ||| f=3\n")
    assert read.ids == ("utt-b", "utt-a", long)
    assert all_texts(read) == ["x", "z", "y", "w"]


def test_numbers_far_apart_are_names(file: Path) -> None:
    read = lists(file, "20231112 ||| a ||| f=1\n7 ||| b ||| f=1\n")
    assert read.ids == (7, 20231112)
    assert read.corpus.sentence_edges.tolist() == [0, 1, 2]


def test_equal_hypotheses_collapse_and_distinct_ones_never_do(file: Path) -> None:
    read = lists(
        file,
        "0 ||| a ||| x=1 ||| 1\n0 ||| a ||| x=2 ||| 1\n0 ||| a ||| x=1 ||| 7\n1 ||| a ||| x=1 ||| 1\n"
        "0 ||| a ||| x=-0 ||| 1\n0 ||| a ||| x=0.0 ||| 1\n",
    )
    assert read.corpus.features.matrix()[:, 0].tolist() == [1, 2, 0, 1]
    assert read.corpus.edge_ids.tolist() == [0, 1, 3, 0]
    assert np.asarray(read.copies).tolist() == [2, 1, 2, 1]
    assert read.duplicates == 2
    assert read.scores is not None
    assert read.scores.tolist() == [7, 1, 1, 1]  # the best of equal ones


def test_missing_zero_fills_the_dense_style(file: Path) -> None:
    content = "0 ||| a ||| x= 1 y= 2 ||| 0\n0 ||| b ||| y= 3 4 ||| 0\n0 ||| c ||| x= 5 z= 6 ||| 0\n"
    read = lists(file, content, missing=0)
    assert read.feature_names == ("x", "y_0", "y_1", "z")
    assert read.corpus.features.matrix().tolist() == [[1, 2, 0, 0], [0, 3, 4, 0], [5, 0, 0, 6]]
    assert read.omitted == {"x": 1, "y_0": 1, "y_1": 2, "z": 2}


def test_a_file_without_hypotheses(file: Path) -> None:
    with pytest.raises(InputError, match="no candidate lists"):
        lists(file, "")
    with pytest.raises(InputError, match="skipped 2 lines"):
        lists(file, "\nx\n", on_error="skip")


def test_several_files_share_names(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("0 ||| a ||| x= 1 ||| 0\n1 ||| b ||| x= 2 ||| 0\n")
    two.write_text("0 ||| a ||| x= 1 ||| 0\n0 ||| c ||| w= 3 ||| 0\n")
    with pytest.raises(InputError, match=r"two:2: feature 'w' is not among those of the first hypothesis \(.*one:1\)"):
        read([one, two])


def test_names_that_become_equal_are_refused(file: Path) -> None:
    with pytest.raises(InputError, match="'x_0'"):
        lists(file, "0 ||| a ||| x= 1 2 x_0=3\n")


def test_float32(file: Path) -> None:
    assert lists(file, "0 ||| a ||| x=0.1\n", dtype="float32").corpus.features.matrix().dtype == np.float32
    with pytest.raises(InputError, match="too large for float32"):
        lists(file, "0 ||| a ||| x=1e300\n", dtype="float32")


def test_lines_longer_than_a_block_and_many_blocks(file: Path) -> None:
    long = "word " * 500_000
    content = f"0 ||| {long} ||| x= 1 ||| 0\n" + "".join(f"{i} ||| t{i} ||| x= {i}.5 ||| 0\n" for i in range(60_000))
    read = lists(file, content + "60000 ||| " + long + "||| x= 1 ||| 0")
    assert read.corpus.edges == 60_002
    assert read.text(0) == long.strip()
    assert read.text(read.corpus.edges - 1) == long.strip()
    assert read.corpus.features.matrix()[1:-1, 0].tolist() == [i + 0.5 for i in range(60_000)]


def rare_names() -> list[dict[str, str]]:
    """Few of many features in each line, of which no nearest double is certain."""
    rng = random.Random(3)
    return [{f"name{k}": f"0.{rng.getrandbits(90)}" for k in rng.sample(range(700), 12)} for _ in range(1500)]


def common_names() -> list[dict[str, str]]:
    """Lines that leave out some features, most or nearly all."""
    rng = random.Random(4)
    shares = [1.0, *([0.9] * 40), 1.0, *([0.5] * 40), *([0.02] * 40), *([0.7] * 40)]
    return [{f"f{k}": f"{rng.random() + 1}" for k in range(60) if rng.random() < share} for share in shares]


@pytest.mark.parametrize("missing", [None, 0])
@pytest.mark.parametrize("make", [rare_names, common_names])
def test_lines_that_leave_out_features(file: Path, make: Callable[[], list[dict[str, str]]], missing: Any) -> None:
    rows = make()
    content = "".join(f"0 ||| {i} ||| {' '.join(f'{k}={v}' for k, v in row.items())}\n" for i, row in enumerate(rows))
    found = lists(file, content, missing=missing)
    table = [[float(row.get(name, 0.0)) for name in found.feature_names] for row in rows]
    assert found.corpus.features.matrix().tolist() == table
    assert found.omitted == {name: sum(name not in row for row in rows) for name in found.feature_names}


names = st.sampled_from(["x", "y", "lm", "LM0", "a=", "é", "feature", "d:"])
numbers = st.one_of(
    st.sampled_from(
        ["0", "-1", "2.5", "1e3", ".5", "nan", "-inf", "1e400", "x", "1_0", "0.12345678901234567890123", "٣"]
    ),
    st.floats(-1e6, 1e6).map(repr),
)
dense = st.builds(lambda name, values: f"{name}= {' '.join(values)}", names, st.lists(numbers, max_size=3))
sparse = st.builds("{}={}".format, names, numbers)
feature_fields = st.one_of(
    st.sampled_from(["x= 1 y= 2", "x=1 y=2", "x= 1 2 y=2", "1 2", "lm: 1 2"]),
    st.lists(st.one_of(dense, sparse, numbers, st.sampled_from(["=", "=1", "d:", ":", "|", "||"])), max_size=4).map(
        " ".join
    ),
)
ids = st.sampled_from(["0", "1", "7", "007", "utt", "", " ", "-1", "1" * 25])
texts = st.sampled_from(["a b", "", "é ü", "a  b\t", "x=1", "|", "a || b", "\r"])
bars = st.sampled_from([" ||| ", "|||", " |||", "\t||| "])
good_lines = st.builds(
    lambda i, t, f, s: f"{i} ||| {t} ||| {f} ||| {s}", st.sampled_from("01"), texts, feature_fields, numbers
)
odd_lines = st.builds(
    lambda i, t, f, rest, bar: bar.join([i, t, f, *rest]),
    ids,
    texts,
    feature_fields,
    st.lists(numbers, max_size=2),
    bars,
)
any_lines = st.one_of(good_lines, odd_lines, st.text("01 |=x.é\t\r", max_size=20))


@settings(max_examples=600)
@given(st.lists(any_lines, min_size=1, max_size=8), st.booleans(), st.booleans())
def test_the_kernel_agrees_with_the_plain_parser(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], strict: bool, last_line_ends: bool
) -> None:
    content = "\n".join(lines) + ("\n" if last_line_ends else "")
    path = tmp_path_factory.getbasetemp() / "random.moses"
    path.write_bytes(content.encode())
    expected = parse(content, strict=strict)
    problems = Problems("skip")
    reader = MosesReader(problems=problems, missing=None if strict else 0)
    reader.read(path)
    found = reader.rows()
    assert [fault.line for fault in problems.skipped] == expected.faults
    assert len(found.keys) == len(expected.rows)
    ends = np.cumsum(found.text_lengths)
    text = found.text.tobytes()
    matrix = np.zeros((len(found.keys), len(found.feature_names)), order="F")
    found.fill(matrix, np.arange(len(found.keys)))
    widths = {name: 1 + max(k for row in expected.rows for n, k in row.features if n == name) for name in {
        name for row in expected.rows for name, _ in row.features}}  # fmt: skip
    for number, row in enumerate(expected.rows):
        as_number = row.id.isascii() and row.id.isdigit() and len(row.id) < 19
        assert found.ids[found.keys[number]] == (int(row.id) if as_number else row.id)
        assert text[ends[number] - found.text_lengths[number] : ends[number]].decode() == row.text
        named = {name if widths[name] == 1 else f"{name}_{k}": v for (name, k), v in row.features.items()}
        wanted = [named.get(name, 0.0) for name in found.feature_names]
        assert matrix[number].tolist() == wanted
        assert set(named) <= set(found.feature_names)
        assert (found.scores is None) == (row.score is None)
        if found.scores is not None:
            assert found.scores[number] == row.score


MARIAN = [("ein Haus", "F0= -1.5 F1= 2", "-0.75"), ("", "F0= -3 F1= 1", "-1.5"), ("Häuser", "F0= -2.5 F1= 0", "-1.25")]
HARD = ["0-0 1-1 2-2", "", "0-0"]
SOFT = ["0.9,0.1 0.25,0.75", "1,0", "1e-05,0.99999"]
SCORES = ["WordScores= -0.5 -0.25 -0.75", "WordScores= -3.00000", "WordScores="]
COUNTS = ["WordCounts=2,2", "WordCounts=2,0", "WordCounts=2,1"]


def marian(*further: list[str], line_end: str = "\n") -> str:
    """A list of Marian with further fields between text and features."""
    rows = zip(MARIAN, *further, strict=True)
    lines = [" ||| ".join(["0", text, *fields, values, score]) for (text, values, score), *fields in rows]
    return "".join(line + line_end for line in lines)


@pytest.mark.parametrize(
    "further",
    [[HARD], [SOFT], [SCORES], [HARD, SCORES], [SOFT, SCORES], [COUNTS], [COUNTS, HARD, SCORES], [HARD[::-1]]],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_alignments_and_word_scores_of_marian_are_passed_over(
    file: Path, further: list[list[str]], line_end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = lists(file, marian())
    read = lists(file, marian(*further, line_end=line_end))
    assert read.feature_names == ("F0", "F1")
    assert all_texts(read) == all_texts(plain) == [text for text, _, _ in MARIAN]
    assert read.corpus.features.matrix().tolist() == plain.corpus.features.matrix().tolist()
    assert read.scores is not None
    assert read.scores.tolist() == [-0.75, -1.5, -1.25]
    monkeypatch.setattr("hulltune.formats.streams.BLOCK", 30)
    sparse = lists(file, marian(*further).replace("F0= ", "F0=").replace(" F1= ", " F1="))
    assert sparse.corpus.features.matrix().tolist() == plain.corpus.features.matrix().tolist()


def test_lines_of_marian_that_lack_a_field(file: Path) -> None:
    content = marian(HARD) + "0 ||| x ||| F0= 1 F1= 2 ||| -1\n"
    with pytest.raises(InputError, match=r"nbest\.txt:4: "):
        lists(file, content)
    read = lists(file, content, on_error="skip")
    assert (len(all_texts(read)), [fault.line for fault in read.skipped]) == (3, [4])


@pytest.mark.parametrize(
    "line",
    [
        "a small house ||| LM= -1 TM= 2 3 ||| -7",
        "house ||| LM= -1 ||| -7.5",
        "a house ||| LM=-1 TM=2e-3 ||| 7",
        "a house ||| -1 .5 ||| -7",
        "a house ||| LM=1 ||| 1",
    ],
)
def test_lists_without_ids_are_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.nbest"
    path.write_text(f"{line}\nu1 ||| a ||| LM= 1 TM= 2 ||| 3\n")
    with pytest.raises(InputError) as caught:
        read(path, format="moses")
    assert str(caught.value) == (
        f"{path}:1: text, features and score, but no id before them; expected 'id ||| text ||| features ||| score'"
    )
    lists = read(path, on_error="skip")
    assert (lists.texts(), [fault.line for fault in lists.skipped]) == (["a"], [1])


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        ("u1 ||| 1 2 ||| -7", "u1", "1 2"),
        ("u1 ||| x=5 ||| -7", "u1", "x=5"),
        ("0 ||| LM= 1 ||| 3", 0, "LM= 1"),
        ("a name ||| LM= 1 ||| f= 3", "a name", "LM= 1"),
        ("u1 ||| a b ||| 3", "u1", "a b"),
        ("u1 |||  ||| 3", "u1", ""),
    ],
)
def test_names_before_texts_that_look_odd(tmp_path: Path, line: str, name: Any, text: str) -> None:
    path = tmp_path / "a.nbest"
    path.write_text(f"{line}\n")
    lists = read(path)
    assert (lists.ids[0], lists.text(0)) == (name, text)


@pytest.mark.parametrize("line", ["0 ||| a |||", "0 ||| a ||| "])
def test_a_first_line_that_is_cut_off_before_its_features(file: Path, line: str) -> None:
    message = rf"{file.name}:1: ends before its features; expected 'id \|\|\| text \|\|\| features \|\|\| score'"
    with pytest.raises(InputError, match=message):
        lists(file, line)


def test_a_dense_feature_of_the_first_line_is_asked_of_all_however_others_write_it(file: Path) -> None:
    dense, sparse = "0 ||| a ||| x= 1 y= 2\n", "0 ||| b ||| x=1 y= 2\n"
    with pytest.raises(InputError, match=r":4: lacks feature 'x'"):
        lists(file, f"{dense}{sparse}{sparse}0 ||| c ||| y= 2\n")
