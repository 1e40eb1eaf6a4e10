from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune.errors import InputError
from hulltune.metrics.ask import Ask
from hulltune.metrics.base import PreparedMetric, Statistics
from hulltune.metrics.combination import Combination
from hulltune.metrics.given import ScoreTable
from hulltune.metrics.memory import TextMemory
from hulltune.metrics.questions import NotYet, Question, Unanswered, export_questions, import_answers
from hulltune.metrics.store import Store
from tests.metrics.fake_metrics import Length

REFERENCES = [["good"], ["better", "best"]]
SOURCES = ["gut", "besser"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


def fill_in(path: Path, answers: dict[str, Any]) -> None:
    """Answer the questions of a file, by output."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["answer"] = answers.get(line["output"])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_a_person_is_the_metric(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    metric = Ask(question="fluent?")

    def run() -> list[list[float]]:
        memory = TextMemory(metric, REFERENCES, SOURCES, store=store, questions=path, batch_size=2)
        rows: list[list[float]] = memory.statistics(np.array([0, 1, 1, 0]), ["a", "b", "ü", "a"]).tolist()
        return rows

    with pytest.raises(Unanswered) as stop:
        run()
    assert stop.value.exit_code == 3
    assert str(stop.value) == (
        f'3 outputs have no answer yet; the questions are in {path}: put a number at each "answer", then run: '
        f"hulltune answers {path} --store {store.path}, and this again"
    )
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {
            "id": question.id,
            "metric": metric.signature,
            "sentence": number,
            "source": SOURCES[number],
            "references": REFERENCES[number],
            "output": output,
            "answer": None,
        }
        for question, (number, output) in zip(stop.value.questions, [(0, "a"), (1, "b"), (1, "ü")], strict=True)
    ]
    assert {question.output for question in store.questions()} == {"a", "b", "ü"}

    fill_in(path, {"a": 3, "ü": 4.5})
    imported = import_answers(store, path)
    assert (imported.answered, imported.still_open) == (2, 1)
    with pytest.raises(Unanswered, match="1 output has no answer yet"):
        run()
    assert [json.loads(line)["output"] for line in path.read_text(encoding="utf-8").splitlines()] == ["b"]

    fill_in(path, {"b": 1})
    import_answers(store, path)
    assert run() == [[3, 1], [1, 1], [4.5, 1], [3, 1]]
    assert store.questions() == []
    assert float(metric.score(np.array([9.0, 3.0]))) == 3.0


def test_answers_are_kept_under_the_question(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    for question in ("fluent?", "right?"):
        memory = TextMemory(Ask(question=question), REFERENCES, store=store, questions=path)
        with pytest.raises(Unanswered):
            memory.rows_of(np.array([0]), ["a"])
        fill_in(path, {"a": 1})
        import_answers(store, path)
        assert memory.statistics(np.array([0]), ["a"]).tolist() == [[1, 1]]


def test_what_is_answered_is_kept_and_the_rest_is_still_tried(store: Store) -> None:
    metric = Length(unanswered="?")
    memory = TextMemory(metric, REFERENCES, store=store, batch_size=2)
    outputs = ["a?", "bb", "ccc", "d?d"]
    with pytest.raises(Unanswered, match="2 outputs have no answer yet; name a file for the questions") as stop:
        memory.rows_of(np.zeros(4, dtype=np.int64), outputs)
    assert [question.output for question in stop.value.questions] == ["a?", "d?d"]
    assert [question.source for question in stop.value.questions] == [None, None]
    assert len(metric.asked) == 2
    assert memory.statistics(np.array([0, 0]), ["ccc", "bb"]).tolist() == [[3, 1], [2, 1]]
    assert len(metric.asked) == 2
    assert store.count(metric.signature) == 2
    metric.unanswered = ""
    assert memory.statistics(np.zeros(4, dtype=np.int64), outputs)[:, 0].tolist() == [2, 2, 3, 3]
    assert store.questions() == []  # the metric itself has answered them


def test_without_a_store() -> None:
    memory = TextMemory(Length(unanswered="?"), REFERENCES)
    with pytest.raises(Unanswered, match="answers are kept in a store: give one, and run again"):
        memory.rows_of(np.array([0]), ["a?"])


def test_a_person_as_a_part_of_a_combination(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    metric = Combination([(1.0, Ask()), (0.5, Length())])
    memory = TextMemory(metric, REFERENCES, store=store, questions=path)
    with pytest.raises(Unanswered) as stop:
        memory.rows_of(np.array([0, 1]), ["a", "bb"])
    assert {question.metric for question in stop.value.questions} == {Ask().signature}
    fill_in(path, {"a": 2, "bb": 3})
    import_answers(store, path)
    assert memory.statistics(np.array([0, 1]), ["a", "bb"]).tolist() == [[2, 1, 1, 1], [3, 1, 2, 1]]
    # The same answers serve the metric alone.
    assert TextMemory(Ask(), REFERENCES, store=store).statistics(np.array([1]), ["bb"]).tolist() == [[3, 1]]


def test_stored_and_open_outputs_in_one_batch(store: Store) -> None:
    TextMemory(Length(), REFERENCES, store=store).rows_of(np.array([0]), ["known"])
    metric = Length(unanswered="?")
    memory = TextMemory(metric, REFERENCES, store=store)
    with pytest.raises(Unanswered) as stop:
        memory.rows_of(np.zeros(3, dtype=np.int64), ["x?", "known", "new"])
    assert [question.output for question in stop.value.questions] == ["x?"]
    assert metric.asked == [[(0, "x?"), (0, "new")]]
    assert memory.statistics(np.array([0, 0]), ["known", "new"])[:, 0].tolist() == [5, 3]


def open_questions(store: Store, path: Path, **options: Any) -> list[str]:
    """Ask two questions of a metric with the statistics (characters, count); their ids."""
    memory = TextMemory(Length(unanswered="?", **options), REFERENCES, store=store, questions=path)
    with pytest.raises(Unanswered) as stop:
        memory.rows_of(np.array([0, 0]), ["?", "??"])
    return [question.id for question in stop.value.questions]


@pytest.mark.parametrize(
    ("answer", "expected"), [([7, 1], [7, 1]), ({"count": 1, "characters": 7}, [7, 1]), ([10**30, 1], [1e30, 1.0])]
)
def test_answers_with_several_statistics(store: Store, tmp_path: Path, answer: Any, expected: list[float]) -> None:
    path = tmp_path / "questions.jsonl"
    open_questions(store, path)
    fill_in(path, {"?": answer})
    import_answers(store, path)
    rows = TextMemory(Length(unanswered="?"), REFERENCES, store=store).statistics(np.array([0]), ["?"])
    assert rows.tolist() == [expected]
    assert rows.dtype == np.array(expected).dtype


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (5, r":2: the answer is 5; expected a list of the statistics \['characters', 'count'\]"),
        ([1, 2, 3], ":2: the answer has 3 numbers; expected 2"),
        ({"characters": 1}, r":2: the answer has \['characters'\]; expected the statistics"),
        (["a", 1], ":2: 'a' is not an answer; expected a finite number"),
        ([True, 1], ":2: True is not an answer"),
        ([10**400, 1], ":2: 10{59} is not an answer"),
        ([float("nan"), 1], ":2: nan is not an answer"),
    ],
)
def test_a_wrong_answer_imports_nothing(store: Store, tmp_path: Path, answer: Any, message: str) -> None:
    path = tmp_path / "questions.jsonl"
    open_questions(store, path)
    fill_in(path, {"?": [1, 1], "??": answer})
    with pytest.raises(InputError, match=message):
        import_answers(store, path)
    assert store.count() == 0
    assert len(store.questions()) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "answers.jsonl:1: is not JSON"),
        pytest.param("[" * 100_000, "answers.jsonl:1: is not JSON", id="deep"),
        pytest.param('{"id": ' + "9" * 5000 + "}", "answers.jsonl:1: is not JSON", id="many digits"),
        ("[]", 'answers.jsonl:1: expected an object with an "id"'),
        ('{"answer": 1}', 'answers.jsonl:1: expected an object with an "id"'),
        ('{"id": "00ff", "answer": 1}', "answers.jsonl:1: id '00ff' is not a question of"),
        ('{"id": "not hexadecimal", "answer": 1}', "is not a question of"),
    ],
)
def test_wrong_files(store: Store, tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        import_answers(store, path)
    if "is not JSON" in message:
        with pytest.raises(InputError, match=message):
            ScoreTable.read(path)
    with pytest.raises(InputError, match=r"nowhere\.jsonl: no such file"):
        import_answers(store, tmp_path / "nowhere.jsonl")


def test_importing_twice_and_correcting(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    name, _ = open_questions(store, path)
    for value in (1, 1, 2):
        path.write_text(json.dumps({"id": name, "answer": [value, 1]}))
        assert import_answers(store, path).answered == 1
        rows = TextMemory(Length(unanswered="?"), REFERENCES, store=store).statistics(np.array([0]), ["?"])
        assert rows.tolist() == [[value, 1]]


def test_an_export_never_loses_answers(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    open_questions(store, path)
    fill_in(path, {"?": [1, 1]})
    content = path.read_text()
    with pytest.raises(
        InputError,
        match=r":1: has an answer that is not imported; .* run: hulltune answers .* --store .*store\.sqlite",
    ):
        TextMemory(Length(unanswered="?"), REFERENCES, store=store, questions=path).rows_of(np.array([0]), ["?"])
    with pytest.raises(InputError, match="not imported"):
        export_questions(store.questions(), path)
    assert path.read_text() == content
    import_answers(store, path)
    assert export_questions(store.questions(), path, store=store) == 1
    assert [p.name for p in tmp_path.glob("questions*")] == ["questions.jsonl"]


def test_questions_survive_the_way_through_a_file() -> None:
    for source in (None, "quelle"):
        question = Question("ab", "m|version:1", 3, source, ("r", "s"), "out\n\u2028")
        assert "\n" not in question.to_json()
        assert Question.from_json(question.to_json()) == question


def test_not_yet_needs_the_other_rows() -> None:
    with pytest.raises(InputError, match="needs the statistics of the rest"):
        NotYet([0])
    assert NotYet().unanswered is None


def test_sentences_with_the_same_content_ask_once(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    memory = TextMemory(Ask(), [["r"], ["r"]], ["s", "s"], store=store, questions=path, batch_size=1)
    with pytest.raises(Unanswered, match="1 output has no answer yet"):
        memory.rows_of(np.array([0, 1]), ["out", "out"])
    fill_in(path, {"out": 2})
    import_answers(store, path)
    assert memory.statistics(np.array([0, 1]), ["out", "out"]).tolist() == [[2, 1], [2, 1]]


def test_not_yet_with_positions_that_do_not_exist() -> None:
    class Wrong(Length):
        def prepare(self, references: object, sources: object = None) -> PreparedMetric:
            class Prepared(PreparedMetric):
                def statistics(self, sentences: object, outputs: object) -> Statistics:
                    raise NotYet([5], np.zeros((1, 2)))

            return Prepared()

    with pytest.raises(InputError, match=r"length: NotYet names the positions \[5\] of a batch of 1 output"):
        TextMemory(Wrong(), REFERENCES).rows_of(np.array([0]), ["out"])


def test_ask_needs_no_references() -> None:
    for sources in (None, ["source"]):
        prepared = Ask().prepare([[]], sources)
        assert prepared.statistics(np.array([], dtype=np.int64), []).shape == (0, 2)
    assert Ask(question="a|b").signature == "ask|question:a%7Cb|higher_is_better:yes|version:1"
