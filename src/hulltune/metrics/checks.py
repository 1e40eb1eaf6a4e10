"""Helpers of all metrics: signatures, and checks of references, options, statistics and outputs."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from hulltune._version import __version__
from hulltune.arrays import Floats, Int64s, as_number
from hulltune.data.vocabulary import Texts
from hulltune.errors import InputError, unknown_name
from hulltune.metrics.base import Metric, References, Statistics
from hulltune.wording import counted

VERSION = f"hulltune-{__version__}"
"""The version of the metrics of this package."""


def signature(name: str, parameters: Mapping[str, object], *, version: str = VERSION) -> str:
    """``name|key:value|…|version:…`` with the parameters in the order given: the style of sacrebleu."""
    fields = [name]
    for key, value in parameters.items():
        text = (
            "none"
            if value is None
            else ("yes" if value else "no")
            if isinstance(value, (bool, np.bool_))
            else str(value)
        )
        # A bar inside a value would make two different settings share a signature.
        fields.append(f"{key}:{text.replace('%', '%25').replace('|', '%7C')}")
    return "|".join([*fields, f"version:{version}"])


def checked_references(
    metric: str,
    references: References,
    sources: Sequence[str] | None = None,
    *,
    ragged: bool = False,
    at_most: int | None = None,
    at_least: int = 1,
) -> list[tuple[str, ...]]:
    """The references as tuples, after checking that every sentence has as many as the metric needs.

    Unless ``ragged``, every sentence has the same number of references: a corpus where they differ has
    usually lost a line.
    """
    if not hasattr(references, "__iter__"):
        raise InputError(f"{metric}: references is {references!r}; expected, for each sentence, a list of references")
    if isinstance(references, str):
        raise InputError(f"{metric}: references is a string; expected, for each sentence, a list of references")
    checked: list[tuple[str, ...]] = []
    if _are_plain(references, at_least, at_most):
        checked, references = list(map(tuple, references)), ()
    for number, group in enumerate(references):
        if isinstance(group, str) or not hasattr(group, "__len__"):
            kind = "a string" if isinstance(group, str) else repr(group)
            raise InputError(
                f"{metric}: references[{number}] is {kind}; expected a list of references for each "
                "sentence: write [[text], …] for one reference each"
            )
        for position, text in enumerate(group):
            if not isinstance(text, str):
                raise InputError(
                    f"{metric}: reference {position} of sentence {number} is {text!r}; expected a string "
                    "(an empty reference is '')"
                )
        if len(group) < at_least:
            raise InputError(f"{metric}: sentence {number} has no reference; expected at least {at_least}")
        if at_most is not None and len(group) > at_most:
            raise InputError(f"{metric}: sentence {number} has {counted(len(group), 'reference')}; expected {at_most}")
        if not ragged and checked and len(group) != len(checked[0]):
            raise InputError(
                f"{metric}: sentence {number} has {counted(len(group), 'reference')} but sentence 0 has "
                f"{len(checked[0])}; complete them, or give variable_references=True if this is meant"
            )
        checked.append(tuple(group))
    if sources is not None and len(sources) != len(checked):
        raise InputError(
            f"{metric}: {counted(len(sources), 'source')} for {len(checked)} sentences; expected one for each"
        )
    return checked


def _are_plain(references: References, at_least: int, at_most: int | None) -> bool:
    """Whether references are lists of strings, equally many for each sentence, and as many as a metric needs.

    It takes a tenth of the time of a look at one after the other, which finds what is wrong with those that are not.
    """
    if not hasattr(references, "__len__") or not set(map(type, references)) <= {list, tuple}:
        return False
    counts = set(map(len, references))
    if len(counts) != 1 or not at_least <= (count := counts.pop()) <= (count if at_most is None else at_most):
        return False
    return set(map(type, chain.from_iterable(references))) <= {str}


def parsed_json(where: str, line: str) -> Any:
    """The value of a line of JSON."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or nested too deeply
        raise InputError(f"{where}: is not JSON that can be read: {error}") from None


def check_number(
    metric: str, option: str, value: float, *, low: float, high: float = math.inf, open_low: bool = False
) -> None:
    """Raise unless ``value`` is a finite number in the interval."""
    number = as_number(value)
    ok = number is not None and math.isfinite(number) and number <= high
    if number is None or not ok or not (low < number if open_low else low <= number):
        bounds = f"{'above' if open_low else 'at least'} {low:g}" + (
            f" and at most {high:g}" if high < math.inf else ""
        )
        raise InputError(f"{metric}: {option} is {value!r}; expected a number {bounds}")


def check_flags(metric: Metric) -> None:
    """Raise unless every option that is a switch is True or False: the text "no" would count as yes."""
    options: Any = metric  # every metric with options is a dataclass
    switches = [option for option in dataclasses.fields(options) if option.type in (bool, "bool") and option.init]
    for option in switches:
        value = getattr(metric, option.name)
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{metric.name}: {option.name} is {value!r}; expected True or False")


def checked_statistics(statistics: Statistics, metric: Metric) -> Statistics:
    """The statistics as an array, after checking that the last axis has the metric's columns."""
    table = np.asarray(statistics)
    if table.ndim == 0 or table.shape[-1] != len(metric.columns):
        raise InputError(
            f"{metric.name}: got statistics of shape {table.shape}, expected {len(metric.columns)} in the last axis"
        )
    return table


def check_choice(metric: str, option: str, value: object, choices: Collection[str]) -> None:
    """Raise an error that names the nearest choice, unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise unknown_name(f"{option} of {metric}", str(value), choices)


def checked_sentences(sentences: Int64s, outputs: Sequence[str], count: int) -> list[int]:
    """The sentence numbers as a list, checked by ``checked_numbers``."""
    numbers: list[int] = checked_numbers(sentences, outputs, count).tolist()
    return numbers


def checked_numbers(sentences: Int64s, outputs: Sequence[str], count: int) -> Int64s:
    """The sentence numbers as an array, after checking that every output is a text of one of ``count`` sentences."""
    if isinstance(outputs, str) or (not isinstance(outputs, Texts) and set(map(type, outputs)) - {str}):
        if isinstance(outputs, str):
            raise InputError(f"outputs: expected a list of texts, got the text {outputs[:50]!r}")
        for number, output in enumerate(outputs):
            if not isinstance(output, str):
                raise InputError(f"output {number} is {output!r}, expected a string")
    array = np.asarray(sentences)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"sentence numbers: expected whole numbers, got {array.dtype}")
    numbers = np.ascontiguousarray(array, dtype=np.int64)
    if numbers.shape != (len(outputs),):
        raise InputError(
            f"{counted(numbers.size, 'sentence number')} for {counted(len(outputs), 'output')}; expected one for each"
        )
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
        wrong = int(numbers[(numbers < 0) | (numbers >= count)][0])
        raise InputError(
            f"sentence number {wrong} is out of range: there are references for {counted(count, 'sentence')}"
        )
    return numbers


def ratio(numerator: Statistics, denominator: Statistics, *, empty: float) -> Floats:
    """``numerator / denominator``, and ``empty`` where the denominator is zero."""
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    result = np.full(np.broadcast_shapes(top.shape, bottom.shape), empty)
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result
