from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics import registry
from hulltune.metrics.accuracy import Accuracy
from hulltune.metrics.aer import Aer
from hulltune.metrics.base import Metric
from hulltune.metrics.combination import Combination
from hulltune.metrics.fmeasure import FMeasure
from hulltune.metrics.meteor import Meteor
from hulltune.metrics.registry import get_metric, metric_names, register_metric
from tests.metrics.fake_metrics import Length


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("meteor", Meteor()),
        (" aer ", Aer()),
        ("exact_match", Accuracy()),
        ("aer:reference_offset=1", Aer(reference_offset=1)),
        ("meteor:stemmer=none,alpha=.85,lowercase=false", Meteor(stemmer=None, alpha=0.85, lowercase=False)),
        ("fmeasure:items=brackets,exclude=TOP+-NONE-", FMeasure(items="brackets", exclude=("TOP", "-NONE-"))),
        ("fmeasure:items=pairs,separator='; '", FMeasure(items="pairs", separator="; ")),
        ('(fmeasure:items=pairs,separator=",")', FMeasure(items="pairs", separator=",")),
        ("accuracy:normalize=lower+numeric", Accuracy(normalize=("lower", "numeric"))),
        ("hulltune.metrics.aer:Aer", Aer()),
        ("hulltune.metrics.aer:Aer:output_offset=1", Aer(output_offset=1)),
        ("1*(meteor)", Meteor()),
        ("--aer", Aer()),
        ("AER", Aer()),
        ("Meteor:alpha=.85", Meteor(alpha=0.85)),
        ("Exact_Match", Accuracy()),
    ],
)
def test_names_and_options(text: str, expected: Metric) -> None:
    assert get_metric(text) == expected


@pytest.mark.parametrize(
    ("text", "weights", "constant"),
    [
        ("0.5*meteor - 0.5*aer", [0.5, -0.5], 0),
        ("2*(meteor - aer:reference_offset=1)/4 + 1", [0.5, -0.5], 1),
        ("-aer*3 + meteor*2e-1", [-3, 0.2], 0),
        ("1 - aer", [-1], 1),
        ("(1 + 2) * (3 - 1) / 4 * meteor", [1.5], 0),
        ("meteor - (aer - 1) - (aer:output_offset=1 + .5)", [1, -1, -1], 0.5),
        ("meteor+accuracy", [1, 1], 0),
    ],
)
def test_expressions(text: str, weights: list[float], constant: float) -> None:
    metric = get_metric(text)
    assert isinstance(metric, Combination)
    assert [weight for weight, _ in metric.terms] == weights
    assert metric.constant == constant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metoer", "unknown metric 'metoer'; did you mean 'meteor'"),
        ("meteor:alfa=1", "unknown option of meteor 'alfa'; did you mean 'alpha'"),
        ("meteor:alpha=high", "option alpha of meteor is 'high'; expected a number"),
        ("meteor:lowercase=maybe", "option lowercase of meteor is 'maybe'; expected true or false"),
        ("meteor:lowercase=true-aer", "expected true or false; put a space before"),
        ("aer:output_offset=1.5", "option output_offset of aer is '1.5'; expected a whole number"),
        ("meteor:alpha=1,alpha=2", "the option alpha is given twice at character 16"),
        ("meteor:alpha", "expected option=value after the colon, got 'alpha'"),
        ("meteor:", "expected name:option=value,.* at character 7, before ':'"),
        ("meteor:alpha=1,", "expected name:option=value,.* at character 15"),
        ("meteor * aer", "a metric may be multiplied only by a number, not by what is at character 10, before 'aer'"),
        ("1/meteor", "a metric may be divided only by a number but 0, not what is at character 3"),
        ("meteor/(1-1)", "a metric may be divided only by a number but 0, not what is at character 9"),
        ("(meteor", "expected a sum such as 0.5[*]bleu - 0.5[*]ter; it cannot be read at character 1"),
        ("meteor)", "it cannot be read at the end"),
        ("meteor aer", "it cannot be read at character 1, before 'meteor aer'"),
        ("2 meteor", "it cannot be read at character 1"),
        ("meteor +", "it cannot be read at the end"),
        ("", "expected metrics, numbers, and"),
        ("3", "there is no metric in it"),
        ("meteor ** 2", "expected metrics, numbers, and .* at character 1"),
        ("__import__('os')", "expected name:option=value,.* at character 12"),
        ("chrf++bleu", "expected [+] - [*] / at character 7, before 'bleu'"),
        ("chrf++2", "expected [+] - [*] / at character 7"),
        ("2aer", "expected [+] - [*] / at character 2"),
        ("aer if ter else wer", "it cannot be read at character 1"),
        ("[meteor for aer in ter]", "expected name:option=value,.* at character 1"),
        ("+" * 1000 + "aer", "too many digits, or too many signs or parentheses"),
        ("(" * 1000 + "aer" + ")" * 1000, "metric"),
        ("9" * 5000 + "*aer", "metric"),
        ("1e999*aer", "expected a"),
        ("given", "write mean:column=NAME, or given:scores=FILE"),
        ("no.such.module:Thing", "there is no module 'no'"),
        ("hulltune.metrics.nothing:Thing", "there is no module 'hulltune.metrics.nothing'"),
        (
            "hulltune.metrics.aer:EAR",
            "unknown metric class of hulltune.metrics.aer 'EAR'; did you mean 'Aer'",
        ),
        (
            "hulltune.metrics.aer:InputError",
            "is not a metric; expected a subclass of hulltune.metrics.Metric",
        ),
        ("hulltune.metrics.base:Metric", "is not complete as a metric: it lacks prepare, score, signature"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_metric(text)


@given(st.text(alphabet="aer meteor+-*/().:=,1e'\"#[]", max_size=20))
def test_any_text_is_a_metric_or_a_clear_error(text: str) -> None:
    try:
        result: object = get_metric(text)
    except InputError as error:
        result = error
    assert isinstance(result, (Metric, InputError))
    assert "\n" not in str(result)


def test_options_as_arguments() -> None:
    assert get_metric("aer", reference_offset=1) == Aer(reference_offset=1)
    assert get_metric(Aer, reference_offset=1) == Aer(reference_offset=1)
    assert get_metric(Aer()) == Aer()
    with pytest.raises(InputError, match="did you mean 'reference_offset'"):
        get_metric("aer", reference_offsett=1)
    with pytest.raises(InputError, match="come too late"):
        get_metric(Aer(), reference_offset=1)
    with pytest.raises(InputError, match="could be of any metric in"):
        get_metric("meteor - aer", reference_offset=1)


class Options(Length):
    """Every kind of option."""

    name = "options"

    def __init__(
        self,
        *,
        whole: int = 0,
        number: float | None = None,
        choice: Literal["a", "b"] = "a",
        path: Path | None = None,
        items: Sequence[str] = (),
        names: frozenset[str] = frozenset(),
        plain: Any = None,
    ) -> None:
        super().__init__()
        self.options = (whole, number, choice, path, items, names, plain)


def test_options_follow_their_annotations() -> None:
    register_metric(Options)
    metric = get_metric("options:whole=3,number=none,choice=b,path=a/b-c.txt,items=x+y,names=z,plain=2.5")
    assert isinstance(metric, Options)
    assert metric.options == (3, None, "b", Path("a/b-c.txt"), ("x", "y"), frozenset({"z"}), 2.5)
    with pytest.raises(InputError, match="option choice of options is 'c'; expected a or b"):
        get_metric("options:choice=c")


class Anything(Length):
    """Takes any option."""

    name = "anything"

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options


def test_a_class_that_takes_any_option() -> None:
    register_metric(Anything)
    metric = get_metric("anything:x=1")
    assert isinstance(metric, Anything)
    assert metric.options == {"x": "1"}


def test_your_own_metric_by_name() -> None:
    assert register_metric(Length) is Length
    register_metric(Length)  # the same class again, as a module that is reloaded does
    assert "length" in metric_names()
    metric = get_metric("2*length:scale=3 + accuracy")
    assert metric.columns[:2] == ("length.characters", "length.count")
    with pytest.raises(InputError, match="unknown metric 'lenght'; did you mean 'length'"):
        get_metric("lenght")


@pytest.mark.parametrize(("written", "name"), [("WER", "wer"), ("chrF", "chrf"), ("ChrF++", "chrf++"), ("Ter", "ter")])
def test_names_in_any_case_have_one_signature(written: str, name: str) -> None:
    assert get_metric(written).signature == get_metric(name).signature
    assert get_metric(f"1 - 2*{written}").signature == get_metric(f"1 - 2*{name}").signature


def test_a_name_as_it_is_written_comes_before_one_in_another_case() -> None:
    register_metric(Length)
    register_metric(Options, name="Length")
    try:
        assert isinstance(get_metric("Length"), Options)
        assert isinstance(get_metric("length"), Length)
        with pytest.raises(InputError, match="unknown metric 'LENGTH'"):  # which of both is not clear
            get_metric("LENGTH")
    finally:
        registry._registered.pop("Length")
    assert isinstance(get_metric("LENGTH"), Length)


def test_names_are_taken_once() -> None:
    register_metric(Length)
    with pytest.raises(InputError, match="the metric name 'length' is taken"):
        register_metric(Options, name="length")
    with pytest.raises(InputError, match="the metric name 'bleu' is taken"):
        register_metric(Length, name="bleu")
    with pytest.raises(InputError, match="is not a metric"):
        register_metric(int, name="int")  # type: ignore[type-var]  # that is the point
    register_metric(Options, name="length_too")
    assert isinstance(get_metric("length_too"), Options)


def test_your_own_metric_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("theirs", "tests.metrics.fake_metrics:Length", "hulltune.metrics")
    wrong = importlib.metadata.EntryPoint("wrong", "pathlib:Path", "hulltune.metrics")

    def entry_points(*, group: str) -> list[importlib.metadata.EntryPoint]:
        return [point, wrong] if group == "hulltune.metrics" else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert isinstance(get_metric("theirs:scale=2"), Length)
    assert "theirs" in metric_names()
    with pytest.raises(InputError, match="entry point 'wrong' is not a metric"):
        get_metric("wrong")


def test_importing_the_package_imports_little() -> None:
    code = (
        "import sys, hulltune.metrics as m; assert 'hulltune.metrics.meteor' not in sys.modules;"
        "assert 'numpy' not in sys.modules; m.Meteor; assert 'numba' not in sys.modules;"
        "assert 'Meteor' in dir(m) and 'Meteor' in m.__all__; m.get_metric('meteor')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    import hulltune.metrics

    with pytest.raises(AttributeError, match="no attribute 'METOER'"):
        _ = hulltune.metrics.METOER


@pytest.mark.parametrize("wrong", [None, 5, ["bleu"]])
def test_what_is_no_metric(wrong: Any) -> None:
    with pytest.raises(InputError, match="expected a name, an expression, a class or a metric"):
        get_metric(wrong)
