"""Documents that rankers scored, from tables, data frames, records, JSON and answers of search engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Dataset, InputError, read, score
from hulltune.errors import OptionError

pd: Any = pytest.importorskip("pandas")

ROWS: list[dict[str, Any]] = [
    {"qid": "07", "docid": "d1", "bm25": 9.0, "dense": 0.2, "grade": 0},
    {"qid": "07", "docid": "d2", "bm25": 8.0, "grade": 1},
    {"qid": "08", "docid": "d2", "bm25": 5.0, "dense": 0.7},
    {"qid": "08", "docid": "d9", "dense": 0.9, "grade": 2},
]
"""Documents of two queries; some were not returned by a ranker, and one is not judged."""
SOURCES = ["records", "frame", "arrow", "columns", "csv", "tsv", "jsonl", "parquet"]


def source(kind: str, folder: Path, rows: list[dict[str, Any]]) -> Any:
    """The rows as data of some kind."""
    frame, path = pd.DataFrame(rows), folder / f"documents.{kind}"
    if kind == "records":
        return rows
    if kind == "frame":
        return frame
    if kind == "columns":
        return {name: [row.get(name) for row in rows] for name in frame.columns}
    if kind == "arrow":
        return pytest.importorskip("pyarrow").Table.from_pandas(frame)
    if kind in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if kind == "csv" else "\t")
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    return path


def rows_of(data: Dataset) -> dict[tuple[str, str], list[float]]:
    """The features of each document of each query."""
    edges = data.corpus.sentence_edges.tolist()
    matrix = data.corpus.features.matrix()
    return {
        (str(name), data.text(edge)): matrix[edge].tolist()
        for name, first, last in zip(data.ids, edges, edges[1:], strict=False)
        for edge in range(first, last)
    }


@pytest.mark.parametrize("kind", SOURCES)
def test_columns_of_documents_are_recognised(kind: str, tmp_path: Path) -> None:
    data = read(source(kind, tmp_path, ROWS), normalise="minmax")
    assert (data.ids, data.feature_names) == (("07", "08"), ("bm25", "dense"))
    assert rows_of(data) == {
        ("07", "d2"): [0.0, 0.0],
        ("07", "d1"): [1.0, 1.0],
        ("08", "d9"): [0.0, 1.0],
        ("08", "d2"): [1.0, 0.0],
    }
    assert data.references == (("1 d2", "0 d1"), ("2 d9",))
    assert data.normalisation == "minmax missing=0"


@pytest.mark.parametrize("kind", SOURCES)
def test_missing_scores_get_what_is_said(kind: str, tmp_path: Path) -> None:
    given = source(kind, tmp_path, ROWS)
    with pytest.raises(InputError, match=r"1 documents? .* not returned .* \(--missing 0, --missing least\)"):
        read(given)
    assert rows_of(read(given, missing=-3.0))["08", "d9"] == [-3.0, 0.9]
    assert rows_of(read(given, missing="least"))["08", "d9"] == [5.0, 0.9]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_document_twice_in_a_query_is_an_error(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="document d1 of query 07 again; expected each once"):
        read(source(kind, tmp_path, [*ROWS, ROWS[0]]), missing=0.0)


@pytest.mark.parametrize(
    "names", [("query", "doc", "label"), ("query_id", "document", "relevance"), ("q_id", "docno", "rel")]
)
def test_usual_names_of_columns(names: tuple[str, str, str]) -> None:
    data = read([dict(zip((*names, "score"), row, strict=True)) for row in [("q", "a", 1, 2.0), ("q", "b", 0, 3.0)]])
    assert (data.feature_names, data.references) == (("score",), (("0 b", "1 a"),))
    assert score(data, {"score": 1.0}, metric="mrr") == 0.5


def test_columns_of_lists_stay_lists() -> None:
    data = read([{"id": 0, "text": "a", "grade": 1.0, "lm": 2.0, "qid": 3.0}])
    assert data.feature_names == ("grade", "lm", "qid")


def test_options_name_other_columns_of_documents() -> None:
    rows = [{"topic": "q1", "url": "d1", "s": 3.0, "grade": 1}, {"topic": "q1", "url": "d2", "s": 1.0}]
    data = read(rows, id_column="topic", text_column="url", normalise="rrf")
    assert rows_of(data) == {("q1", "d2"): [1 / 62], ("q1", "d1"): [1 / 61]}


def test_the_window_counts_only_the_best_documents() -> None:
    rows = [{"qid": "q", "docid": f"d{k}", "s": float(k)} for k in range(5)]
    assert sorted(value for (value,) in rows_of(read(rows, normalise="minmax", window=2)).values()) == [0, 0, 0, 0, 1]


def test_what_only_documents_have_is_refused_for_lists(tmp_path: Path) -> None:
    (tmp_path / "dev.nbest").write_text("0 ||| a ||| lm=-2 ||| -2\n")
    for options in ({"normalise": "minmax"}, {"window": 3}, {"missing": "least"}):
        with pytest.raises(OptionError, match=f"{next(iter(options))}: .*scores of rankers"):
            read(tmp_path / "dev.nbest", **options)
    with pytest.raises(OptionError, match=r"normalise: .*scores of rankers"):
        read([{"candidates": [{"text": "a", "features": {"lm": 1.0}}]}], normalise="minmax")


def test_documents_without_scores_are_an_error() -> None:
    with pytest.raises(InputError, match="no scores; expected a column for each ranker"):
        read([{"qid": "q", "docid": "d", "grade": 1}])


# Search engines.


def elasticsearch(hits: dict[str, dict[str, float | None]], **more: Any) -> dict[str, Any]:
    """An answer with logged features; one without a value did not match."""
    found = [
        {
            "_id": name,
            "_score": 1.0,
            "fields": {
                "_ltrlog": [
                    {"log1": [{"name": n} if v is None else {"name": n, "value": v} for n, v in features.items()]}
                ]
            },
        }
        for name, features in hits.items()
    ]
    return {"took": 3, "hits": {"total": {"value": len(found)}, "hits": found}, **more}


def vespa(hits: dict[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """An answer with match features."""
    found = [
        {"id": f"id:shop:item::{name}", "relevance": 0.5, "fields": {"matchfeatures": features}}
        for name, features in hits.items()
    ]
    return {"root": {"id": "toplevel", "relevance": 1.0, "children": found}, **more}


def test_features_that_did_not_match_are_missing(tmp_path: Path) -> None:
    answers = [
        elasticsearch({"d1": {"title": 2.5, "body": None}, "d2": {"title": None, "body": -1.0}}, query_id="q1"),
        elasticsearch({"d1": {"title": 1.0, "body": 1.0}}, query_id=7),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, answers)))
    with pytest.raises(InputError, match="not returned by some ranker"):
        read(path)
    data = read(path, missing=-9.0)
    assert [each.format for each in data.provenance] == ["hits"]
    assert rows_of(data) == {("q1", "d2"): [-9.0, -1.0], ("q1", "d1"): [2.5, -9.0], ("7", "d1"): [1.0, 1.0]}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_for_each_answer_is_named_by_its_query(indent: int | None, tmp_path: Path) -> None:
    files = [tmp_path / "q1.json", tmp_path / "q2.json"]
    files[0].write_text(json.dumps(vespa({"d1": {"bm25(title)": 2.0}, "d2": {"bm25(title)": 3.0}}), indent=indent))
    files[1].write_text(json.dumps(vespa({"d3": {"bm25(title)": 1.0}}), indent=indent))
    data = read(files)
    assert data.feature_names == ("bm25(title)",)
    assert rows_of(data) == {("q1", "d2"): [3.0], ("q1", "d1"): [2.0], ("q2", "d3"): [1.0]}


def test_answers_without_a_query_among_several_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(vespa({'d1': {'x': 1.0}}, qid='q1'))}\n{json.dumps(vespa({'d1': {'x': 1.0}}))}\n")
    with pytest.raises(InputError, match=r"log.jsonl:2: no query_id; expected the id of the query beside the hits"):
        read(path)


def test_tensors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "q1.json"
    path.write_text(json.dumps(vespa({"d1": {"x": {"type": "tensor<float>(x[2])", "values": [1, 2]}}})))
    with pytest.raises(InputError, match=r"q1.json:1: hit 0 of query q1: feature 'x' is .*; expected a number"):
        read(path)


def test_features_of_frames_are_finite() -> None:
    for value in (np.inf, -np.inf):
        with pytest.raises(InputError, match="expected a finite number"):
            read(pd.DataFrame([{"qid": "q", "docid": "d", "s": value}]))


# Runs and judgements of ranx: it is not needed, as its objects are told by what they have.


class TheirRun:
    """What a Run or Qrels of ranx has."""

    def __init__(self, numbers: dict[str, dict[str, float]], name: str | None = None) -> None:
        self.name, self.run = name, numbers

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The numbers of documents by query."""
        return self.run


BM25 = {"q1": {"d1": 9.0, "d2": 8.0}, "q2": {"d1": 3.0}}
DENSE = {"q1": {"d2": 0.5}, "q2": {"d1": 0.25, "d3": 0.75}}
QRELS = {"q1": {"d2": 2}, "q2": {"d3": 1, "d1": 0}}
FUSED = {("q1", "d2"): [0.0, 1.0], ("q1", "d1"): [1.0, 0.0], ("q2", "d3"): [0.0, 1.0], ("q2", "d1"): [1.0, 0.0]}


def test_runs_and_judgements_from_memory() -> None:
    by_name = read({"bm25": BM25, "dense": DENSE}, QRELS)
    assert (by_name.feature_names, rows_of(by_name)) == (("bm25", "dense"), FUSED)
    assert by_name.references == (("2 d2",), ("1 d3", "0 d1"))
    theirs = read([TheirRun(BM25, "bm25"), TheirRun(DENSE)], TheirRun(QRELS))  # type: ignore[arg-type]
    assert (theirs.feature_names, rows_of(theirs)) == (("bm25", "run2"), FUSED)
    assert theirs.references == by_name.references
    assert score(by_name, {"dense": 1.0}, metric="mrr") == 1.0
    alone = read(BM25, normalise="none")
    assert rows_of(alone) == {("q1", "d2"): [8.0], ("q1", "d1"): [9.0], ("q2", "d1"): [3.0]}


@pytest.mark.parametrize("indent", [None, 4])
def test_runs_and_judgements_in_json(indent: int | None, tmp_path: Path) -> None:
    for name, numbers in (("bm25", BM25), ("dense", DENSE), ("qrels", QRELS)):
        (tmp_path / f"{name}.json").write_text(json.dumps(numbers, indent=indent))
    data = read([tmp_path / "bm25.json", tmp_path / "dense.json"], tmp_path / "qrels.json")
    assert (data.feature_names, rows_of(data)) == (("bm25", "dense"), FUSED)
    assert data.references == (("2 d2",), ("1 d3", "0 d1"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None])
def test_numbers_of_runs_are_finite(value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"bm25: document d1 of query q1 has .*; expected a number"):
        read({"bm25": {"q1": {"d1": value}}})
    (tmp_path / "run.json").write_text(json.dumps({"q1": {"d0": 1, "d1": value}}))
    with pytest.raises(InputError, match=r"run.json: document d1 of query q1 has .*; expected a number"):
        read(tmp_path / "run.json")
