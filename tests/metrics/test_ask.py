"""A judge that answers by itself: commands and functions, in batches, beside each other, tried again, remembered."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import InputError, tune
from hulltune.metrics import Ask, Store, Unanswered, ask, get_metric
from hulltune.metrics.memory import TextMemory
from tests.cli.running import run, run_json

REFERENCES = [["good"], []]
SOURCES = ["gut", "besser"]
LISTS = [
    {
        "id": f"q{k}",
        "candidates": [{"text": f"a{'b' * n}", "features": {"f": n % 3 - k, "g": n * 1.5}} for n in range(4)],
    }
    for k in range(3)
]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "FIRST_WAIT", 0.0)


def length(questions: list[dict[str, Any]]) -> list[int]:
    return [len(question["output"]) for question in questions]


def program(folder: Path, text: str) -> str:
    """The command of a Python program."""
    path = folder / "judge program.py"
    path.write_text(text)
    return f"'{sys.executable}' '{path}'"


def ratings(metric: Ask, **options: Any) -> list[list[float]]:
    memory = TextMemory(metric, REFERENCES, SOURCES, **options)
    found: list[list[float]] = memory.statistics(np.array([0, 1, 1, 0]), ["a", "bb", "ccc", "a"]).tolist()
    return found


def test_a_function_is_asked_in_batches_for_what_it_needs() -> None:
    asked: list[list[dict[str, Any]]] = []

    def rate(questions: list[dict[str, Any]]) -> list[int]:
        asked.append(questions)
        return length(questions)

    assert ratings(Ask(judge=rate, batch=2, parallel=1, question="how long?")) == [[1, 1], [2, 1], [3, 1], [1, 1]]
    assert [len(batch) for batch in asked] == [2, 1]
    assert asked[0][1] == {
        "question": "how long?", "sentence": 1, "source": "besser", "references": [], "output": "bb",
    }  # fmt: skip
    assert asked[0][0]["references"] == ["good"]


def test_batches_are_asked_beside_each_other() -> None:
    together = threading.Barrier(3, timeout=30)

    def rate(questions: list[dict[str, Any]]) -> list[int]:
        together.wait()  # ends only if three batches are here at once
        return length(questions)

    assert ratings(Ask(judge=rate, batch=1, parallel=3, retries=0))[2] == [3, 1]


def test_failures_are_tried_again() -> None:
    tries: dict[str, int] = {}

    def rate(questions: list[dict[str, Any]]) -> list[float]:
        (question,) = questions
        tries[question["output"]] = tries.get(question["output"], 0) + 1
        if tries[question["output"]] < len(question["output"]):
            raise ConnectionError("busy")
        return [0.5]

    assert ratings(Ask(judge=rate, batch=1, retries=2)) == [[0.5, 1], [0.5, 1], [0.5, 1], [0.5, 1]]
    assert tries == {"a": 1, "bb": 2, "ccc": 3}


class Flaky:
    """A judge that fails for one output as long as it is broken."""

    def __init__(self) -> None:
        self.broken, self.asked = True, list[str]()

    def __call__(self, questions: list[dict[str, Any]]) -> list[int]:
        self.asked.extend(question["output"] for question in questions)
        if self.broken and questions[0]["output"] == "bb":
            raise ValueError("bad\nday")
        return length(questions)


def test_what_was_answered_before_a_failure_is_kept(tmp_path: Path) -> None:
    flaky = Flaky()
    metric = Ask(judge=flaky, batch=1, parallel=1, retries=1)
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(InputError) as caught:
            ratings(metric, store=store)
        assert str(caught.value) == (
            "ask: the judge failed for 1 of 3 outputs, after 2 tries each; for 'bb' of sentence 1: ValueError: bad day"
            f"; 2 other answers of this batch and all before are in {store.path}"
        )
        assert store.count() == 2
        flaky.broken = False
        flaky.asked.clear()
        assert ratings(metric, store=store) == [[1, 1], [2, 1], [3, 1], [1, 1]]
        assert flaky.asked == ["bb"]


def test_answers_are_remembered_by_question_and_judge(tmp_path: Path) -> None:
    flaky = Flaky()
    flaky.broken = False
    with Store(tmp_path / "s.sqlite") as store:
        ratings(Ask(judge=flaky), store=store)
        flaky.asked.clear()
        assert ratings(Ask(judge=flaky, batch=1, parallel=7), store=store)[2] == [3, 1]
        assert not flaky.asked
        for other in (Ask(judge=flaky, question="other?"), Ask(judge=flaky, version="2")):
            ratings(other, store=store)
            assert len(flaky.asked) == 3
            flaky.asked.clear()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "it answered None; expected a number for each question"),
        ([1], "it gave 1 answer to 3 questions"),
        ([1, "good", 2], "it answered 'good'; expected a finite number"),
        ([1, float("nan"), 2], "it answered nan; expected a finite number"),
        ([1, {"rating": 2}, 3], 'expected a number, or {"answer": number}'),
    ],
)
def test_answers_that_are_none(answer: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        ratings(Ask(judge=lambda questions: answer, retries=0))
    assert message in str(caught.value)


def test_an_answer_may_come_later(tmp_path: Path) -> None:
    def rate(questions: list[dict[str, Any]]) -> list[Any]:
        return [None if question["output"] == "bb" else {"answer": True} for question in questions]

    with Store(tmp_path / "s.sqlite") as store, pytest.raises(Unanswered, match="1 output has no answer yet") as stop:
        ratings(Ask(judge=rate), store=store, questions=tmp_path / "q.jsonl")
    assert [question.output for question in stop.value.questions] == ["bb"]


def test_a_command_gets_json_lines(tmp_path: Path) -> None:
    command = program(
        tmp_path,
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    question = json.loads(line)\n"
        "    print(json.dumps({'answer': len(question['output']) + len(question['source'])}))\n",
    )
    assert ratings(Ask(command=command, batch=2)) == [[4, 1], [8, 1], [9, 1], [4, 1]]


def test_a_command_gets_parts_of_a_question_as_arguments(tmp_path: Path) -> None:
    text = "import json, sys\nprint('thinking')\noutput = json.loads(sys.argv[1])['output']\n"
    text += "assert sys.argv[2] == output + '!'\nprint(len(output))\n"
    odd = ["{output}", "a 'b' \"c\"; $(touch x)"]
    command = program(tmp_path, text)
    metric = Ask(command=f"{command} {{question}} {{output}}!")
    found = TextMemory(metric, REFERENCES, SOURCES).statistics(np.array([0, 1]), odd)
    assert found.tolist() == [[len(odd[0]), 1], [len(odd[1]), 1]]
    filled = ask._filled(["{source}-{reference}", "{sentence}", "{question", "{x}", "{output}"], {
        "source": "{output}", "references": [], "sentence": "q1", "output": "o", "question": "?"})  # fmt: skip
    assert filled == ["{output}-", "q1", "{question", "{x}", "o"]


def test_only_a_line_break_ends_an_answer(tmp_path: Path) -> None:
    text = 'import sys\nfor line in sys.stdin: print(\'{"answer": 2, "why": "a\\u2028b\\x85c"}\', end=\'\\r\\n\')'
    command = f"'{sys.executable}' -X utf8 {program(tmp_path, text).split(maxsplit=1)[1]}"
    assert ratings(Ask(command=command)) == [[2, 1]] * 4


def running(name: str) -> list[str]:
    """The numbers of processes that have a name among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found += [path.parent.name] if name.encode() in path.read_bytes() else []
    return found


def end(name: str) -> bool:
    """Whether all such processes end within seconds."""
    deadline = time.monotonic() + 10
    while running(name) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not running(name)


needs_proc = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no /proc to look for processes in")


@needs_proc
def test_a_judge_that_leaves_a_process_behind_has_answered(tmp_path: Path) -> None:
    behind = tmp_path / "behind.py"
    behind.write_text("import time; time.sleep(60)")
    text = f"import subprocess, sys\nsubprocess.Popen([sys.executable, {str(behind)!r}])\nprint(0.5)"
    began = time.perf_counter()
    assert ratings(Ask(command=f"{program(tmp_path, text)} {{output}}"))[0] == [0.5, 1]
    assert time.perf_counter() - began < 30
    assert end(str(behind))


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("parts", ["", " {question}"])
def test_an_interrupt_ends_judges_and_keeps_what_was_answered(tmp_path: Path, number: int, parts: str) -> None:
    """One answers at once, the others, which no SIGTERM ends, when the run is over long since."""
    judge = tmp_path / "slow_judge.py"
    judge.write_text(
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "asked = sys.argv[1:] or list(sys.stdin)\n"
        "time.sleep(0 if '\"q0\"' in asked[0] else 60)\nprint(1)\n"
    )
    lists, store = tmp_path / "lists.jsonl", tmp_path / "s.sqlite"
    lists.write_text("".join(json.dumps(record) + "\n" for record in LISTS))
    metric = f'ask:batch=1,command="{sys.executable} {judge}{parts}"'
    command = [sys.executable, "-m", "hulltune", "tune", str(lists), "--metric", metric, "--store", str(store)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        while len(running(str(judge))) < 3 and run.poll() is None:  # the run itself, and two judges
            time.sleep(0.05)
        time.sleep(0.5)
        began = time.perf_counter()
        run.send_signal(number)
        told = run.communicate(timeout=30)[1]
    assert time.perf_counter() - began < 5
    assert (run.returncode, "interrupted; there was nothing to write yet" in told) == (128 + number, True)
    assert end(str(judge))
    assert Store(store).count() == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.exit('no key')", "exit code 1: no key"),
        ("print('good')", "it printed 'good'; expected a number"),
        ("", "it printed nothing; expected a number"),
        ("print(1)\nprint(2)", "it gave 2 answers to 3 questions"),
        ("import time; time.sleep(60)", "no answer within 0.5 s"),
    ],
)
def test_commands_that_fail(tmp_path: Path, text: str, message: str) -> None:
    began = time.perf_counter()
    timeout = 0.5 if "sleep" in text else 60.0
    with pytest.raises(InputError) as caught:
        ratings(Ask(command=program(tmp_path, text), retries=0, timeout=timeout))
    assert message in str(caught.value)
    assert time.perf_counter() - began < 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": "no_such_program_here {output}"}, "no program 'no_such_program_here'"),
        ({"command": "unclosed 'quote"}, "cannot be split into words"),
        ({"command": " "}, "the command is empty"),
        ({"command": "a", "judge": length}, "got a command and a judge"),
        ({"judge": 3}, "expected a function from questions to numbers"),
        ({"judge": "no where"}, "expected module:function"),
        (
            {"judge": "nowhere_at_all:f"},
            "cannot be imported (No module named 'nowhere_at_all')",
        ),
        ({"judge": "json:f"}, "cannot be imported (module 'json' has no attribute 'f')"),
        ({"judge": "json"}, "expected module:function"),
        ({"batch": 0}, "batch is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"timeout": 0}, "timeout is 0"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ratings(Ask(**options))
    assert message in str(caught.value)


def test_a_judge_beside_other_metrics_is_asked_in_small_batches() -> None:
    metric = get_metric("0.5*ask:judge=tests.metrics.test_ask:length,batch=2,parallel=1 + 0.5*accuracy")
    assert metric.batch_size == 8
    memory = TextMemory(metric, [["a"], ["b"]])
    assert memory.statistics(np.array([0, 1]), ["a", "bb"]).tolist() == [[1, 1, 1, 1], [2, 1, 0, 1]]


def test_the_name_of_a_function() -> None:
    metric = get_metric("ask:judge=tests.metrics.test_ask:length,batch=3")
    assert isinstance(metric, Ask)
    assert metric.judge is length
    assert metric.signature == (
        "ask|question:how good is the output?|higher_is_better:yes|judge:tests.metrics.test_ask.length|version:1"
    )


def test_tuning_asks_only_for_what_can_win() -> None:
    corners = [(1, 1), (1, -1), (-1, 1), (-1, -1), (0.0, 0.1)]
    texts = ["a", "bb", "ccc", "dddd", "the middle, which never wins"]
    features = [{"f": float(f), "g": float(g)} for f, g in corners]
    lists = [{"candidates": [{"text": t, "features": f} for t, f in zip(texts, features, strict=True)]}] * 2
    asked: set[str] = set()

    def rate(questions: list[dict[str, Any]]) -> list[int]:
        asked.update(question["output"] for question in questions)
        return length(questions)

    result = tune(lists, metric=Ask(judge=rate), threads=1)
    assert result.score == 4
    assert asked <= set(texts[:4])


class TestCommandLine:
    def lists(self, folder: Path) -> str:
        path = folder / "noref.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in LISTS))
        return str(path)

    def test_a_person(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        command = ("tune", self.lists(tmp_path), "--metric", "ask", "--restarts", "2")
        for _ in range(30):
            code, _, err = run(capsys, *command)
            if code == 0:
                break
            assert code == 3
            assert "then run: hulltune answers questions.jsonl --store answers.sqlite, and this again" in err
            lines = [json.loads(line) for line in Path("questions.jsonl").read_text().splitlines()]
            for line in lines:
                line["answer"] = len(line["output"])
            Path("questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            found = run_json(capsys, "answers", "questions.jsonl", "--store", "answers.sqlite", "--json")
            assert found == {"answered": len(lines), "open": 0, "open_in_store": 0}
        assert code == 0
        known = run_json(capsys, *command, "--json", "-q")
        assert known["score"] == tune(LISTS, metric=Ask(judge=length), threads=1).score

    def test_a_command(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        judged = program(tmp_path, "import sys; print(len(sys.argv[1]))").replace("'", '"')
        metric = f"ask:command='{judged} {{output}}'"
        store = str(tmp_path / "s.sqlite")
        arguments = ("tune", self.lists(tmp_path), "--store", store, "--json", "-q", "--restarts", "0")
        found = run_json(capsys, *arguments, "--metric", metric)
        assert found["score"] == 4
        assert 3 <= Store(store).count() <= 12

    def test_answers_that_belong_nowhere(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        (tmp_path / "q.jsonl").write_text('{"id": "00", "answer": 1}\n')
        code, _, err = run(capsys, "answers", str(tmp_path / "q.jsonl"), "--store", str(tmp_path / "no.sqlite"))
        assert (code, "expected the store of the run that asked" in err) == (2, True)
        assert not (tmp_path / "no.sqlite").exists()
        Store(tmp_path / "s.sqlite").close()
        code, _, err = run(capsys, "answers", str(tmp_path / "q.jsonl"), "--store", str(tmp_path / "s.sqlite"))
        assert (code, "q.jsonl:1: id '00' is not a question of" in err) == (2, True)


def test_without_source_and_references_the_id_tells_questions_apart(tmp_path: Path) -> None:
    def rate(questions: list[dict[str, Any]]) -> list[int]:
        return [int(str(question["sentence"])[1:]) for question in questions]

    candidates = [{"text": "yes", "features": {"f": 1.0}}, {"text": "yes", "features": {"f": 2.0}}]
    same = [{"id": f"q{k}", "candidates": candidates} for k in (3, 5)]
    with Store(tmp_path / "s.sqlite") as store:
        assert tune(same, metric=Ask(judge=rate), store=store).score == 4
