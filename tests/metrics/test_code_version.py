"""A store is trusted only as far as it is known which code its answers came from."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from hulltune.errors import InputError, Note
from hulltune.metrics import Store, TextMemory, get_metric
from hulltune.metrics.code_version import code_version
from hulltune.metrics.store import output_ids, sentence_key
from tests.cli.running import run

LENGTHS = """
    import numpy as np
    from hulltune.metrics import Metric, NotYet, PreparedMetric
    import lengths_helpers

    FACTOR = 2
    WORDS = {"a", "b", "c"}

    def scaled(number):
        return FACTOR * number

    class Prepared(PreparedMetric):
        def statistics(self, sentences, outputs):
            return np.array([[scaled(lengths_helpers.length(output)), 1] for output in outputs])

    class Lengths(Metric):
        '''Count characters.'''

        name = "lengths"
        higher_is_better = True
        columns = ("characters", "count")
        signature = "lengths|version:1"

        def prepare(self, references, sources=None):
            return Prepared()

        def score(self, statistics):
            '''The mean.'''
            return statistics[..., 0] / np.maximum(statistics[..., 1], 1)

    def unrelated():
        return "x"
"""
HELPERS = """
    def length(text):
        return len(text)
"""


def load(folder: Path, name: str, source: str) -> ModuleType:
    """Import a file as it is now."""
    path = folder / f"{name}.py"
    path.write_text(textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(path.read_text(), path, "exec"), module.__dict__)  # no cache of compiled files in between
    return module


def metric(folder: Path, change: tuple[str, str] = ("", ""), helpers: tuple[str, str] = ("", "")) -> Any:
    """The metric above, with a change in its own file or in the one beside it."""
    assert change[0] in LENGTHS
    assert helpers[0] in HELPERS
    load(folder, "lengths_helpers", HELPERS.replace(*helpers))
    return load(folder, "lengths", LENGTHS.replace(*change)).Lengths()


def version(made: Any) -> str | None:
    return code_version(made, made.prepare([["r"]]))


def test_a_change_of_code_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    changes = {
        "as it was": {},
        "a statistic": {"change": ("(output))", "(output) + 1)")},
        "a constant that it uses": {"change": ("FACTOR = 2", "FACTOR = 3")},
        "a function that it uses": {"change": ("FACTOR * number", "FACTOR + number")},
        "the score": {"change": ("statistics[..., 0]", "2 * statistics[..., 0]")},
        "another file of its folder": {"helpers": ("len(text)", "len(text.split())")},
        "a class attribute": {"change": ("higher_is_better = True", "higher_is_better = False")},
        "a method more": {"change": ("def score", "def more(self): return 1\n        def score")},
    }
    versions = {name: version(metric(tmp_path, **change)) for name, change in changes.items()}
    assert None not in versions.values()
    assert len(set(versions.values())) == len(versions)


@pytest.mark.parametrize(
    "change",
    [
        ("def score", "# a comment\n\n        def score"),
        ("The mean.", "The mean, in other words."),
        ("Count characters.", "Count all characters."),
        ('return "x"', 'return "y"'),
    ],
)
def test_what_does_not_run_does_not_count(tmp_path: Path, change: tuple[str, str]) -> None:
    assert version(metric(tmp_path)) == version(metric(tmp_path, change))


def test_a_function_that_the_metric_was_given_counts(tmp_path: Path) -> None:
    versions = set()
    for function in (len, lambda text: len(text), lambda text: len(text) + 1, lambda text: len(text) + 2):
        made = metric(tmp_path)
        made.length = function
        versions.add(version(made))
    assert len(versions) == 4


def test_the_version_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Sets of texts have another order in each process."""
    made = metric(tmp_path)
    command = "import lengths; from hulltune.metrics.code_version import code_version as v; m = lengths.Lengths(); "
    command += "print(v(m, m.prepare([['r']])))"
    for seed in ("1", "2", "3"):
        found = subprocess.run(
            [sys.executable, "-c", command],
            cwd=tmp_path,
            env={"PYTHONPATH": ":".join([str(tmp_path), *filter(None, sys.path)]), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == version(made)


def test_built_in_metrics_have_their_version_in_the_signature() -> None:
    for name in ("bleu", "chrf", "ask", "0.5*bleu - ter"):
        made = get_metric(name)
        assert code_version(made, made.prepare([["r"]], ["s"])) is None


def test_answers_from_outside_do_not_depend_on_the_code(tmp_path: Path) -> None:
    made = metric(tmp_path, ("higher_is_better = True", "higher_is_better = True\n        waits = True"))
    assert version(made) is None


def statistics(made: Any, store: Store) -> list[list[float]]:
    memory = TextMemory(made, [["r"]], store=store)
    rows: list[list[float]] = memory.statistics(np.array([0, 0]), ["abc", "d"]).tolist()
    return rows


ANSWER = "return np.array([[scaled(lengths_helpers.length(output)), 1] for output in outputs])"


def test_none_is_no_answer(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        broken = metric(tmp_path, (ANSWER, "return None"))
        with pytest.raises(InputError, match=r"lengths: its statistics are None; expected shape .2, 2.*NotYet raised"):
            statistics(broken, store)
        assert store.count() == 0
        assert statistics(metric(tmp_path), store) == [[6, 1], [2, 1]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("[[1, 2], [3]]", "no table of numbers"),
        ("[['1', '2']] * len(outputs)", "no table of numbers .got <U1"),
        ("[[None, 1]] * len(outputs)", "no table of numbers .got None"),
        ("np.zeros((3, 3))", r"float64 of shape .3, 3.; expected shape .2, 2"),
        ("[[float('nan'), 1]] * len(outputs)", "expected finite numbers"),
    ],
)
def test_other_answers_that_are_none(tmp_path: Path, answer: str, message: str) -> None:
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(InputError, match=message):
        statistics(metric(tmp_path, (ANSWER, f"return {answer}")), store)


def test_a_repaired_metric_is_asked_again_and_the_user_is_told(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        assert statistics(metric(tmp_path, ("FACTOR = 2", "FACTOR = 0")), store) == [[0, 1], [0, 1]]
        with pytest.warns(Note, match=r"s.sqlite: 2 answers of lengths came from other code.*asked again"):
            assert statistics(metric(tmp_path), store) == [[6, 1], [2, 1]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert statistics(get_metric("accuracy"), store) == [[0, 1], [0, 1]]
        assert store.count() == 6


def test_a_store_of_an_earlier_release_is_not_trusted_for_a_users_metric(tmp_path: Path) -> None:
    """Such a store has the answers of an unknown code: by signature alone."""
    made = metric(tmp_path)
    with Store(tmp_path / "s.sqlite") as store:
        ids = output_ids(made.signature, [sentence_key(["r"], None)] * 2, ["abc", "d"])
        store.put(made.signature, made.columns, ids, np.zeros((2, 2), dtype=np.int64))
        with pytest.warns(Note, match="2 answers of lengths came from other code"):
            assert statistics(made, store) == [[6, 1], [2, 1]]


def test_the_program_tells_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "n").write_text("0 ||| abc ||| x=1\n0 ||| d ||| x=2\n")
    (tmp_path / "r").write_text("r\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "w").write_text("x 1\n")
    monkeypatch.chdir(tmp_path)
    command = ["score", "n", "--ref", "r", "--weights", "w", "--metric", "lengths:Lengths", "--store", "s.sqlite"]
    metric(tmp_path, ("FACTOR = 2", "FACTOR = 0"))
    assert run(capsys, *command)[0] == 0
    metric(tmp_path)
    code, _, errors = run(capsys, *command)
    assert code == 0
    assert [line for line in errors.splitlines() if "other code" in line] == [
        "hulltune: s.sqlite: 2 answers of lengths came from other code than it has now, and will not be used: "
        "the metric is asked again"
    ]
