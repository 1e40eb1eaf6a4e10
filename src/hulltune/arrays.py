"""Names for the array types that all rooms use, what counts as a number, and a sum that every Python gives."""

from __future__ import annotations

import dataclasses
import numbers
import operator
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
Int64s: TypeAlias = NDArray[np.int64]
Int32s: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Int8s: TypeAlias = NDArray[np.int8]


class Layout(NamedTuple):
    """How an array that a kernel takes lies in memory: one dimension in C order, if it is not said."""

    dimensions: int = 1
    orders: str = "C"
    """``C``, ``F`` (by column), or both, and ``A`` for any steps between numbers."""
    dtypes: tuple[type[np.generic], ...] = ()
    """The types of its numbers, if there are several: the kernel is compiled for each."""


FloatRows: TypeAlias = Annotated[NDArray[np.float64], Layout(2)]
Int64Rows: TypeAlias = Annotated[NDArray[np.int64], Layout(2)]
Int32Rows: TypeAlias = Annotated[NDArray[np.int32], Layout(2)]
UInt64s: TypeAlias = Annotated[NDArray[Any], Layout(dtypes=(np.uint64,))]
UInt64Rows: TypeAlias = Annotated[NDArray[Any], Layout(2, dtypes=(np.uint64,))]
Reals: TypeAlias = Annotated[NDArray[Any], Layout(dtypes=(np.float64, np.float32))]
RealRows: TypeAlias = Annotated[NDArray[Any], Layout(2, dtypes=(np.float64, np.float32))]
RealColumns: TypeAlias = Annotated[NDArray[Any], Layout(2, "F", (np.float64, np.float32))]
RealTable: TypeAlias = Annotated[NDArray[Any], Layout(2, "CF", (np.float64, np.float32))]
Statistics: TypeAlias = Annotated[NDArray[Any], Layout(2, dtypes=(np.int64, np.float64))]
"""The arrays of kernels, beside those of one dimension above. To type checkers the ones of several types are of any."""


def as_number(value: Any) -> float | None:
    """A number as a float, or None if it is none: Python's and NumPy's numbers count, and Decimal and Fraction.

    True and False are no numbers, nor are texts. An array or a tensor of one number without dimensions is a number.
    """
    if type(value) is float:
        return value
    if isinstance(value, (bool, np.bool_, str, bytes)):
        return None
    if not isinstance(value, (numbers.Real, Decimal)):
        if getattr(value, "ndim", None) != 0 or not hasattr(value, "item"):
            return None
        scalar = value.item()
        return None if scalar is value else as_number(scalar)
    try:
        return float(value)
    except (OverflowError, ValueError):  # too large, or Decimal's signalling NaN
        return None


def as_whole(value: Any) -> int | None:
    """A whole number as an int, or None if it is none: integers of Python and NumPy count, True and False do not."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value) if getattr(value, "ndim", 0) == 0 else None
    except TypeError:
        return None


def decimals(values: NDArray[Any]) -> list[Fraction]:
    """The exact numbers that floats are written as: the shortest decimals that are read as the same floats.

    So features of a file are the numbers in the file, and 0.1 + 0.2 is 0.3. Digits beyond the seventeenth (of doubles)
    are lost when a file is read.
    """
    return [Fraction(str(value)) for value in values]


def plain_sum(values: Iterable[float]) -> float:
    """Floats added from left to right, each time rounded.

    Python's sum() gives that up to 3.11 and compensates for rounding since: a search that compares such sums would take
    other paths with another Python.
    """
    return reduce(operator.add, values, 0.0)


def as_table(values: Any) -> NDArray[Any]:
    """Numbers as an array of integers, floats or booleans; TypeError or ValueError if something in it is no number."""
    array = np.asarray(values)
    if array.dtype.kind in "iufb":
        return array
    if array.dtype != np.object_:
        raise TypeError(f"got {array.dtype}")
    flat = [as_number(value) for value in array.ravel()]
    if None in flat:
        raise TypeError(f"got {array.ravel()[flat.index(None)]!r}")
    return np.array(flat, dtype=np.float64).reshape(array.shape)


def take_plain_numbers(options: Any) -> None:
    """Replace the numbers of NumPy and others in a frozen dataclass of options by Python's; refuse what is no number.

    Arithmetic with them would go wrong: an unsigned one cannot be negated, and eight bits hold no 200.
    """
    for option in dataclasses.fields(options):
        if option.type in ("int", "float"):
            value = getattr(options, option.name)
            number = as_whole(value) if option.type == "int" else as_number(value)
            if number is None:
                expected = "a whole number" if option.type == "int" else "a number"
                raise InputError(f"{option.name}: expected {expected}, got {value!r}")
            object.__setattr__(options, option.name, number)
