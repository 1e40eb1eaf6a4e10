"""Records: tables, frames, JSON lines with and without candidates; columns by name, and ids of any type."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hulltune import InputError, read
from hulltune.formats import sniff
from hulltune.formats.numbers import json_id
from hulltune.formats.table import tsv_rows
from tests.formats.list_files import fault, rows, write
from tests.pages import Page

HEADER = "prompt_id,response,lm,meta_model,answer_1,answer_2,prompt"
NAMED: dict[str, Any] = {
    "id_column": "prompt_id", "text_column": "response", "ref_column": "answer_*", "source_column": "prompt",
    "ignore": ["meta_*"],
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
def test_a_table_with_names_of_its_own(tmp_path: Path, suffix: str) -> None:
    lines = [HEADER, "a,x,1,big,r,s,p", "a,y,2,small,r,s,p"]
    if suffix == "tsv":
        lines = [line.replace(",", "\t") for line in lines]
    path = write(tmp_path / f"t.{suffix}", *lines)
    lists = read(path, **NAMED)
    assert rows(lists) == [("a", "x", [1.0]), ("a", "y", [2.0])]
    assert (lists.feature_names, lists.references, lists.sources) == (("lm",), (("r", "s"),), ("p",))


def test_flat_json_lines(tmp_path: Path) -> None:
    record = {"prompt_id": 7, "response": "x", "lm": 1, "meta_model": {"a": []}, "answer_1": ["r", "s"], "prompt": "p"}
    path = write(tmp_path / "t.jsonl", json.dumps(record), json.dumps({**record, "response": "y", "lm": True}))
    assert sniff(path) == "jsonl"
    lists = read(path, **NAMED)
    assert rows(lists)[-2:] == [(7, "x", [1.0]), (7, "y", [1.0])]
    assert lists.references is not None
    assert (lists.references[7], (lists.sources or ())[7]) == (("r", "s"), "p")
    assert rows(read([record, {**record, "response": "z"}], **NAMED))[-1] == (7, "z", [1.0])
    plain = write(tmp_path / "p.jsonl", '{"id": "u", "text": "a", "features": {"lm": 1}, "tm": 2, "score": 3}')
    assert rows(read(plain)) == [("u", "a", [1.0, 2.0])]


def test_nested_json_lines_with_names_of_their_own(tmp_path: Path) -> None:
    candidate = {"response": "x", "features": {"lm": 1}}
    record = {"prompt_id": "q", "prompt": "p", "answer_1": "r", "answer_2": ["s", "t"], "candidates": [candidate]}
    lists = read(write(tmp_path / "t.jsonl", json.dumps(record)), **{**NAMED, "ignore": ()})
    assert (lists.ids, lists.texts(), lists.references, lists.sources) == (("q",), ["x"], (("r", "s", "t"),), ("p",))
    assert 'no "prompt_id"' in fault(write(tmp_path / "u.jsonl", '{"candidates": []}'), id_column="prompt_id")
    wrong = write(tmp_path / "v.jsonl", '{"candidates": [], "answer": {"a": 3}}')
    assert "key 'answer' is {'a': 3}; expected a string or a list of strings" in fault(wrong, ref_column="answer")


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            ["prompt_id,text,lm", "0,a,1"],
            {},
            "t.csv:1: no column 'id' (columns: 'prompt_id, text, lm'); name the column that has it with --id-column",
        ),
        (["id,response,lm", "0,a,1"], {}, "no column 'text'"),
        (["id,text,lm", "0,a,1"], {"id_column": "qid"}, "no column 'qid'"),
        (["id,text,lm", "0,a,1"], {"ignore": ["meta_*"]}, "unknown column of"),
        (["id,text,lm", "0,a,1"], {"ref_column": "anser"}, "unknown column of"),
        (["id,text,lm", "0,a,1"], {"source_column": "prompt"}, "unknown column of"),
        (["id,text,lm,model", "0,a,1,big"], {}, "and no metric reads it, leave it out with --ignore model (ignore)"),
    ],
)  # fmt: skip
def test_messages_say_which_option_helps(
    tmp_path: Path, lines: list[str], options: dict[str, Any], message: str
) -> None:
    assert message in fault(write(tmp_path / "t.csv", *lines), **options)


def test_flat_json_lines_at_fault(tmp_path: Path) -> None:
    line = '{"id": 0, "text": "a", "lm": 1}'
    for other, message in [
        ('{"id": 0, "lm": 1}', ":2: no 'text'; expected an id and a text"),
        ('{"text": "b", "lm": 1}', ":2: no 'id'; expected an id and a text: 'text' beside features is one candidate"),
        ('{"id": 0, "text": "b", "lm": [1]}', ":2: key 'lm' is [1]; expected a finite number"),
('{"id": 0, "text": [["a"]], "lm": 1}', ":2: text is [['a']]; expected a string"),
        ('{"id": 0, "text": "b", "lm": 1, "lm": 2}', ":2: key 'lm' occurs twice"),
        ('{"id": 0, "text": "b", "lm": 1, "features": {"lm": 1}}', ":2: feature 'lm' is there twice, in 'features'"),
        ('{"id": 0, "text": "b", "lm": null}', ":2: lacks feature 'lm'"),
        ('{"id": 0, "candidates": []}', ":2: key 'candidates' is []"),
        ('{"id": 0, "text": "b", "lm": 1, "ref": {"a": 1}}', ":2: key 'ref' is {'a': 1}; expected a string or a list"),
    ]:  # fmt: skip
        path = write(tmp_path / "t.jsonl", line, other)
        assert message in fault(path)
        lists = read(path, on_error="skip")
        assert (rows(lists), [each.line for each in lists.skipped]) == ([(0, "a", [1.0])], [2])
    unnamed = write(tmp_path / "u.jsonl", '{"qid": 0, "text": "a", "lm": 1}')
    assert ":1: no 'id'; expected an id and a text" in fault(unnamed)


def test_null_references_are_none(tmp_path: Path) -> None:
    some: list[dict[str, Any]] = [
        {"refs": None, "candidates": [{"text": text, "features": {"lm": 1}}]} for text in "ab"
    ]
    lists = read(write(tmp_path / "a.jsonl", *map(json.dumps, some)))
    assert lists.references is None
    assert read(lists, ["a", "b"]).references == (("a",), ("b",))
    some[0]["refs"] = ["a"]
    assert read(write(tmp_path / "b.jsonl", *map(json.dumps, some))).references == (("a",), ())


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("a.jsonl", '{"beams": [{"text": "a"}]}', "\"candidates\" is None (keys: 'beams'); expected a list of objects"),
        ("a.jsonl", '{"text": "a", "lm": 1}', "id says of which sentence (another name: --id-column)"),
        ("a.tsv", "a b\t1.5", "cannot tell where an utterance ends"),
    ],
)
def test_a_format_that_was_guessed_is_named(tmp_path: Path, name: str, line: str, message: str) -> None:
    path = write(tmp_path / name, line)
    kind = "nemo" if name == "a.tsv" else "jsonl"
    said = fault(path)
    assert message in said
    assert said.endswith(f"(read as {kind}, by its content; --format names another format)")
    assert "--format" not in fault(path, format=kind)
    assert "--format" not in fault(write(tmp_path / "b.jsonl", *['{"id": 0, "text": "a", "lm": 1}'] * 3, "{}"))


def test_a_folder_of_hugging_face_is_named(tmp_path: Path) -> None:
    for name in ("dataset_info.json", "state.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "data-00000-of-00001.arrow").write_bytes(b"\xff" * 9)
    assert "a folder of Hugging Face's save_to_disk; give a file of its to_json or to_parquet" in fault(tmp_path)


def test_features_of_records_that_are_ignored(tmp_path: Path) -> None:
    candidate = {"text": "a", "features": {"lm": 1, "tm": 2, "tm2": 3}, "meta": "x", "good": 1}
    path = write(tmp_path / "a.jsonl", json.dumps({"id": 0, "candidates": [candidate]}))
    for found in (read(path, ignore=["tm*", "meta"]), read([{"candidates": [candidate]}], ignore=["tm*", "good"])):
        assert found.feature_names == ("lm",)
    assert list(read(path, ignore=["good"]).qualities) == []
    assert "unknown column of" in fault(path, ignore=["tn*"])


def test_names_of_columns_are_for_lists_that_have_some(tmp_path: Path) -> None:
    path = write(tmp_path / "a.moses", "0 ||| a ||| lm= 1 tm= 2 ||| 0")
    assert "id_column: is for tables and JSON lines, and this is moses" in fault(path, id_column="qid")
    assert read(path, ignore=["t*"]).feature_names == ("lm",)
    assert "unknown column of" in fault(path, ignore=["x*"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3), (np.int32(3), 3), (3.0, 3), (3.5, "3.5"), (-1, "-1"), (True, "True"), ("7", 7), ("a b", "a b"),
        ("two\nlines", "two\\nlines"), (10**30, str(10**30)), (datetime.date(2020, 1, 2), "2020-01-02"),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))), (("a", 1), "('a', 1)"), ("nan", "nan"),
        (None, None), (math.nan, None), ("  ", None), ([1], None), ({"a": 1}, None), (np.zeros(2), None),
    ],
)  # fmt: skip
def test_ids_of_any_type(value: Any, expected: Any) -> None:
    assert json_id(value) == expected


def test_one_name_makes_all_ids_names() -> None:
    lists = read({"id": [0, "x", 2.0], "text": ["a", "b", "c"], "f": [1, 2, 3]})
    assert lists.ids == ("0", "x", "2")


def frames(columns: dict[str, list[Any]]) -> list[Any]:
    """The columns as a frame or table of every library that is here."""
    found: list[Any] = [columns]
    makers: list[tuple[str, Callable[[Any], Any]]] = [
        ("pandas", lambda module: module.DataFrame(columns)),
        ("polars", lambda module: module.DataFrame(columns)),
        ("polars", lambda module: module.DataFrame(columns).lazy()),
        ("pyarrow", lambda module: module.table(columns)),
        ("pyarrow", lambda module: module.RecordBatch.from_pydict(columns)),
        ("datasets", lambda module: module.Dataset.from_dict(columns)),
        ("datasets", lambda module: module.Dataset.from_dict(columns).with_format("numpy")),
    ]
    for library, make in makers:
        try:
            module = __import__(library)
        except ImportError:
            continue
        found.append(make(module))
    return found


def test_frames_of_all_libraries() -> None:
    columns: dict[str, list[Any]] = {
        "q": ["a", "a", "b"], "text": ["x", "y", "z"], "lm": [1.0, 2.0, 3.0], "right": [True, False, True],
        "refs": [["r"], ["r"], ["s", "t"]], "note": ["n", "", "m"],
    }  # fmt: skip
    for frame in frames(columns):
        lists = read(frame, id_column="q", ref_column="refs", ignore="note")
        assert rows(lists) == [("a", "x", [1.0, 1.0]), ("a", "y", [2.0, 0.0]), ("b", "z", [3.0, 1.0])], type(frame)
        assert lists.references == (("r",), ("s", "t"))
        with pytest.raises(InputError, match="data frame:1: no column 'id'"):
            read(frame)


def test_frames_of_records() -> None:
    columns: dict[str, list[Any]] = {
        "id": ["a", "b"],
        "candidates": [[{"text": "x", "features": {"lm": 1.0}}], [{"text": "y", "features": {"lm": 2.0}}]],
    }
    for frame in frames(columns):
        assert rows(read(frame)) == [("a", "x", [1.0]), ("b", "y", [2.0])], type(frame)


def test_rows_with_all_candidates_of_a_sentence(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "id": ["p", "q"], "text": [["x", "y"], ["z"]], "lm": [[1.0, 2.0], [3.0]], "right": [[True, False], [True]],
        "length": [7, 8], "ref": [["r", "s"], ["t"]],
    }  # fmt: skip
    expected = [("p", "x", [1.0, 1.0, 7.0]), ("p", "y", [2.0, 0.0, 7.0]), ("q", "z", [3.0, 1.0, 8.0])]
    for frame in frames(columns):
        assert rows(read(frame)) == expected, type(frame)
        assert read(frame).references == (("r", "s"), ("t",))
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path = write(tmp_path / "a.jsonl", *map(json.dumps, records), '{"id": "empty", "text": [], "ref": "u"}')
    found = read(path)
    assert (rows(found), found.empty_ids, (found.references or ())[2]) == (expected, ("empty",), ("u",))
    wrong = write(tmp_path / "b.jsonl", '{"id": 0, "text": ["a", "b"], "lm": [1]}')
    assert ":1: key 'lm' has 1 values for 2 texts; expected as many" in fault(wrong)
    for line, message in (('{"text": []}', "no 'id'"), ('{"id": null, "text": ["a"], "lm": [1]}', "id is None")):
        assert f":1: {message}; expected" in fault(write(tmp_path / "d.jsonl", line))
    worse = write(tmp_path / "c.jsonl", '{"id": 0, "text": ["a", null], "lm": [1, 2]}')
    assert ":1: text is None; expected a string" in fault(worse)
    assert rows(read(worse, on_error="skip")) == [(0, "a", [1.0])]


def test_splits_of_a_dataset_are_named() -> None:
    columns = {"id": [0], "text": ["a"], "f": [1.0]}
    with pytest.raises(InputError, match=r"a frame for each of 'train', 'test'; give one of them"):
        read({"train": columns, "test": columns})
    with pytest.raises(InputError, match="column 'id' has 1 values, and another 2; expected as many"):
        read({"id": [0], "text": ["a"], "f": [1.0, 2.0]})


def test_missing_references_and_numbers_as_texts() -> None:
    lists = read({"id": [0, 1], "text": [42, 1.5], "ref": [None, "r"], "f": [1, 2]})
    assert (lists.texts(), lists.references) == (["42", "1.5"], ((), ("r",)))


# Quoted cells of TSV files.


def test_a_tsv_file_as_pandas_writes_it(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    texts = ['say "hi"', "a\tb", "two\nlines", '"', "plain", '"all"', 'x"', "", 'a\n\n"b"\n']
    frame = pandas.DataFrame({"id": range(len(texts)), "text": texts, "f": [1.5] * len(texts)})
    for order in (["id", "text", "f"], ["id", "f", "text"], ["text", "id", "f"]):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC):
            frame[order].to_csv(tmp_path / "a.tsv", sep="\t", index=False, quoting=quoting)
            assert read(tmp_path / "a.tsv").texts() == texts


cells = st.text(alphabet='ab"\t\n ', max_size=6)


@given(st.lists(st.tuples(cells, cells), max_size=6))
@example([("\t\t\n\t", "")])  # both of its lines could be rows
def test_quoted_rows_are_read_as_the_csv_module_writes_them(table: list[tuple[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("id", "one", "two", "f"), *((str(k), *row, "1") for k, row in enumerate(table))])
    lines = text.getvalue().removesuffix("\n").split("\n")
    found = [row for _, row in tsv_rows(enumerate(lines, 1))]
    assert found[1:] == [[str(k), *row, "1"] for k, row in enumerate(table)]


plain = st.text(alphabet='ab" ', max_size=5).map(lambda text: text.replace('""', '"a'))


@given(st.lists(st.tuples(plain, plain), max_size=6))
def test_rows_without_quoting_stay_as_they_are(table: list[tuple[str, str]]) -> None:
    lines = ["one\ttwo\tf", *(f"{one}\t{two}\t1" for one, two in table)]
    assert [row for _, row in tsv_rows(enumerate(lines, 1))][1:] == [[one, two, "1"] for one, two in table]


# Tables.


def test_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text,lm,tm,score,ref,source", '0,"a, ""b""",1,2,3,r,s', "1,,-1e-2,0,3,r2,s2")
    lists = read(path)
    assert rows(lists) == [(0, 'a, "b"', [1.0, 2.0]), (1, "", [-0.01, 0.0])]
    assert lists.feature_names == ("lm", "tm")
    assert lists.references == (("r",), ("r2",))
    assert lists.sources == ("s", "s2")


def test_tsv_has_no_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "text\tid\tlm\tref_0\tref_1", '"a\tu1\t1\tr\tq')
    lists = read(path)
    assert rows(lists) == [("u1", '"a', [1.0])]
    assert lists.references == (("r", "q"),)


def test_a_first_row_that_lacks_a_feature_does_not_make_it_disappear(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text,lm,tm", "0,a,1,", "0,b,1,2")
    assert "lacks feature 'tm'" in fault(path)
    assert rows(read(path, missing=0)) == [(0, "a", [1.0, 0.0]), (0, "b", [1.0, 2.0])]


def test_missing_and_nan_say_what_is_possible(tmp_path: Path) -> None:
    """Only 0 can be filled in by reading; the page shows how to fill in the least of a list before."""
    lines = ["0,a,1,", "0,b,2,-3", "0,c,3,-5", "1,d,1,-7"]
    path = write(tmp_path / "a.csv", "id,text,lm,tm", *lines)
    advice = r"take what is missing as 0 \(--missing 0; in Python missing=0\)"
    with pytest.raises(InputError, match=rf"a.csv:2: lacks feature 'tm'; give it, or {advice}"):
        read(path)
    assert read(path, missing=0).corpus.features.toarray()[:, 1].tolist() == [0, -3, -5, -7]
    with pytest.raises(InputError, match=r"least is for scores of rankers; expected 0 \(fill in other values"):
        read(path, missing="least")
    broken = write(tmp_path / "b.csv", "id,text,lm,tm", "0,a,1,nan", *lines[1:])
    with pytest.raises(
        InputError, match=rf"feature 'tm' is nan; expected a finite number; leave it out there, and {advice}"
    ):
        read(broken, missing=0)
    pandas = pytest.importorskip("pandas")
    frame, scores = pandas.read_csv(path), ["lm", "tm"]
    page = Page("docs/formats.md").text
    exec(page[page.index("frame[scores] = ") :].partition("`")[0], {"frame": frame, "scores": scores})
    assert read(frame).corpus.features.toarray()[:, 1].tolist() == [-5, -3, -5, -7]


def test_headers(tmp_path: Path) -> None:
    assert "no column 'id'" in fault(write(tmp_path / "a.csv", "text,lm"), format="csv")
    assert "two columns are called 'lm'" in fault(write(tmp_path / "a.csv", "id,text,lm,lm"))
    assert "no candidate lists" in fault(write(tmp_path / "a.csv", "id,text,lm"))


def test_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"id": [0, 0, 2], "text": ["a", "b", "é"], "lm": [1.5, 2.5, -1.0], "n": [1, 2, 3]}
    parquet.write_table(arrow.table(columns), tmp_path / "a.parquet")
    assert sniff(tmp_path / "a.parquet") == "parquet"
    assert rows(read(tmp_path / "a.parquet")) == [(0, "a", [1.5, 1.0]), (0, "b", [2.5, 2.0]), (2, "é", [-1.0, 3.0])]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_at_fault(library: str) -> None:
    frame = pytest.importorskip(library).DataFrame
    columns: dict[str, list[Any]] = {"id": [0, 0, 2], "text": ["a", "b", "é"], "lm": [1.5, math.nan, -1.0]}
    with pytest.raises(InputError, match=r"data frame:3: (feature 'lm' is nan|lacks feature 'lm')"):
        read(frame(columns))
    with pytest.raises(InputError, match="data frame:4: text is"):
        read(frame({**columns, "text": ["a", "b", None], "lm": [1.5, 0.0, -1.0]}))


def test_a_column_twice_in_tables_of_libraries(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pandas = pytest.importorskip("pandas")
    names, columns = ["id", "text", "lm", "lm"], [[0, 0], ["a", "b"], [1.0, 2.0], [3.0, 4.0]]
    table = arrow.Table.from_arrays([arrow.array(column) for column in columns], names=names)
    parquet.write_table(table, tmp_path / "a.parquet")
    nested = pandas.DataFrame([[0, [{"text": "a"}], [{"text": "b"}]]], columns=["id", "candidates", "candidates"])
    for name, source in (
        ("lm", table), ("lm", pandas.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)),
        ("candidates", nested), ("lm", tmp_path / "a.parquet"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f":1: two columns are called '{name}'"):
            read(source)


def test_what_is_missing_in_data_frames_is_missing() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns: dict[str, list[Any]] = {"id": [0, 0], "text": ["a", "b"], "n": [1, None], "right": [None, True]}
    typed = pandas.DataFrame(columns).astype({"n": "Int64", "right": "boolean"})
    for frame in (typed, typed.astype(object), polars.DataFrame(columns)):
        assert rows(read(frame, missing=0)) == [(0, "a", [1.0, 0.0]), (0, "b", [0.0, 1.0])]
        with pytest.raises(InputError, match="data frame:2: lacks feature 'right'"):
            read(frame)
    with pytest.raises(InputError, match="data frame:3: text is <NA>; expected a string"):
        read(typed.assign(text=pandas.array(["a", None], dtype="string")), missing=0)


def test_features_in_a_column_of_objects() -> None:
    polars = pytest.importorskip("polars")
    columns = {"id": [0, 0], "text": ["a", "b"], "features": [{"f": 1.0, "g": 2.0}, {"f": 3.0, "g": 4.0}]}
    for frame in (columns, polars.DataFrame(columns)):
        assert rows(read(frame)) == [(0, "a", [1.0, 2.0]), (0, "b", [3.0, 4.0])]


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    assert "no readable Parquet file" in fault(tmp_path / "a.parquet")


# Lines with candidates.

LINE = '{"id": 1, "refs": ["a b"], "source": "x", "candidates": [{"text": "a", "features": {"lm": -1}, "score": 2}]}'


def test_lines_without_ids_are_numbered(tmp_path: Path) -> None:
    line = '{"candidates": [{"text": "a"}]}'
    assert rows(read(write(tmp_path / "a", line, line))) == [(0, "a", []), (1, "a", [])]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "blank line"),
        ("[1]", "got [1]"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": 2}', '"candidates" is None'),
        ('{"id": [1], "candidates": []}', "id is [1]"),
        ('{"id": null, "candidates": []}', "id is None"),
        ('{"id": "", "candidates": []}', "id is ''"),
        ('{"id": 1, "refs": ["other"], "candidates": []}', "other references"),
        ('{"id": 2, "refs": {"a": 1}, "candidates": []}', "key 'refs' is"),
        ('{"id": 2, "id": 3, "candidates": []}', "key 'id' occurs twice in an object; expected each once"),
        ('{"id": 2, "candidates": [{"text": "a"}], "candidates": []}', "key 'candidates' occurs twice"),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1, "lm": 2}, "score": 1}]}', "key 'lm' occurs"),
        ('{"id": 2, "candidates": ["a"]}', "candidate 0: got 'a'"),
        ('{"id": 2, "candidates": [{"features": {}}]}', 'candidate 0: "text" is None'),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": "1"}, "score": 1}]}', "'lm' is '1'"),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": true}, "score": 1}]}', "'lm' is True"),
        ('{"id": 2, "candidates": [{"text": "a", "features": {}, "score": 1}]}', "lacks feature 'lm'"),
        (
            '{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1, "b": 2}, "score": 1}]}',
            "feature 'b' is not",
        ),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1}}]}', "no score"),
        ('{"id": 2, "candidates": [{"text": "\\ud800", "features": {"lm": 1}, "score": 1}]}', "surrogate"),
    ],
)
def test_a_line_at_fault(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", LINE, line)
    assert message in fault(path)
    assert fault(path).startswith(f"{path}:2: ")
    lists = read(path, on_error="skip")
    assert rows(lists) == [(1, "a", [-1.0])]
    assert message in lists.skipped[0].reason


def test_numbers_and_names_as_ids(tmp_path: Path) -> None:
    """Once one id is a name, all are, and references stay with theirs."""
    path = write(tmp_path / "a", LINE, '{"id": "u", "refs": ["r"], "candidates": []}')
    lists = read(path)
    assert lists.ids == ("1", "u")
    assert lists.references == (("a b",), ("r",))
    assert lists.sources == ("x", None)


@pytest.mark.parametrize("field", ["refs", "source", "features"])
def test_half_a_character(tmp_path: Path, field: str) -> None:
    values = {"refs": '["\\ud800"]', "source": '"\\udfff"', "features": '{"\\ud800": 1}'}
    where = f'"candidates": [{{"text": "a", "features": {values["features"]}}}]'
    line = where if field == "features" else f'"{field}": {values[field]}, "candidates": []'
    assert "lone surrogate" in fault(write(tmp_path / "a", '{"id": 0, ' + line + "}"))


def test_what_is_missing_can_be_taken_as_zero(tmp_path: Path) -> None:
    other = '{"id": 2, "candidates": [{"text": "b", "features": {"tm": 4}, "score": 1}]}'
    lists = read(write(tmp_path / "a", LINE, other), missing=0)
    assert rows(lists) == [(1, "a", [-1.0, 0.0]), (2, "b", [0.0, 4.0])]
    assert lists.omitted == {"lm": 1, "tm": 1}
