"""Entries of kernels: functions that C can call, which Numba compiles. Imported only to build the library.

An entry takes two addresses: of its arguments and of the place for its answer, both in words of eight bytes. An array
that is given is the address of its fields, which NumPy documents; an array of the answer is the address of its numbers,
that of its memory, and its shape. An entry answers 0, or another number if there is no memory for an array: kernels
raise no other error.
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype

from hulltune.arrays import Layout
from hulltune.kernels.load.kernel import OPTIONS, Kernel

LETTERS = {
    "|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q",
    "<f4": "f", "<f8": "d",
}  # fmt: skip
"""The letters of types of numbers in arrays, as runtime.c reads them."""

Variant = dict[Layout, tuple[Any, str]]
"""The type of numbers and the order of the arrays of a layout that leaves a choice."""


def entries(kernel: Kernel) -> Iterator[tuple[Any, str, str]]:
    """The entries of a kernel, one for each choice that the annotations of its arrays leave: Numba's object, and what
    it takes and gives, as runtime.c reads it: ``q`` a whole number, ``d`` a real one, ``t`` a truth value, ``a`` an
    array with the letter of its numbers, its dimensions and its order, and tuples in brackets.
    """
    hints = list(_hints(kernel.py_func).values())[:-1]
    layouts = {layout: None for hint in hints for layout in _layouts(hint)}
    for chosen in itertools.product(*(itertools.product(each.dtypes or (None,), each.orders) for each in layouts)):
        variant = dict(zip(layouts, chosen, strict=True))
        arguments = tuple(_numba_type(hint, variant) for hint in hints)
        kernel.dispatcher.compile(arguments)
        answer = kernel.dispatcher.overloads[arguments].signature.return_type
        names = {"kernel": kernel.dispatcher, "array": _array, "word": _word, "real": _real, "put": _put}
        call = ", ".join(map(_Reader(names).read, arguments))
        lines = [f"answer = kernel({call})", *_writes(answer, "answer", itertools.count())]
        exec("def entry(words, answers):\n    " + "\n    ".join(lines), names)
        made = njit(names["entry"], **OPTIONS)
        made.compile((types.intp, types.intp))
        yield made, "".join(map(_spelled, arguments)), _spelled(answer)


def _hints(annotated: Any) -> dict[str, Any]:
    return typing.get_type_hints(annotated, include_extras=True)


def _layouts(hint: Any) -> Iterator[Layout]:
    """The layouts of the arrays in a type."""
    if typing.get_origin(hint) is Annotated:
        yield from (each for each in hint.__metadata__ if isinstance(each, Layout))
    elif isinstance(hint, type) and issubclass(hint, tuple) and typing.get_origin(hint) is None:
        for part in _hints(hint).values():
            yield from _layouts(part)


def _numba_type(hint: Any, variant: Variant) -> Any:
    """The type for Numba of what is annotated so; of an array without a layout, one dimension in C order."""
    if hint in (int, float, bool):
        return {int: types.int64, float: types.float64, bool: types.boolean}[hint]
    if isinstance(hint, type) and issubclass(hint, np.generic):
        return from_dtype(np.dtype(hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        (layout,) = _layouts(hint)
        dtype, order = variant[layout]
        return types.Array(
            from_dtype(dtype) if dtype else _numba_type(arguments[0], variant).dtype, layout.dimensions, order
        )
    if origin is np.ndarray:
        (number,) = typing.get_args(arguments[1])
        return types.Array(from_dtype(np.dtype(number)), 1, "C")
    if origin is tuple:
        return types.Tuple([_numba_type(part, variant) for part in arguments])
    return types.NamedTuple([_numba_type(part, variant) for part in _hints(hint).values()], hint)


def _spelled(kind: Any) -> str:
    if isinstance(kind, types.Array):
        return f"a{LETTERS[as_dtype(kind.dtype).str]}{kind.ndim}{kind.layout}"
    if isinstance(kind, types.BaseTuple):
        return f"({''.join(map(_spelled, kind.types))})"
    if isinstance(kind, types.NoneType):
        return ""
    return "t" if isinstance(kind, types.Boolean) else "d" if isinstance(kind, types.Float) else "q"


class _Reader:
    """Writes the expressions that read arguments, one word after the other."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.count = itertools.count()

    def read(self, kind: Any) -> str:
        """The expression of one argument."""
        if isinstance(kind, types.BaseTuple):
            parts = "".join(f"{self.read(part)}, " for part in kind.types)
            return (
                f"{self._named(kind.instance_class)}({parts})" if isinstance(kind, types.NamedTuple) else f"({parts})"
            )
        place = next(self.count)
        if isinstance(kind, types.Array):
            return f"array(word(words, {place}), {self._named(kind)})"
        read = "real" if isinstance(kind, types.Float) else "word"
        return f"{read}(words, {place})" + (" != 0" if isinstance(kind, types.Boolean) else "")

    def _named(self, value: Any) -> str:
        name = f"_{len(self.names)}"
        self.names[name] = value
        return name


def _writes(kind: Any, answer: str, count: itertools.count[int]) -> list[str]:
    """The statements that write an answer."""
    if isinstance(kind, types.BaseTuple):
        return [line for i, part in enumerate(kind.types) for line in _writes(part, f"{answer}[{i}]", count)]
    if isinstance(kind, types.NoneType):
        return []
    place = next(count)
    if isinstance(kind, types.Array):
        for _ in range(1 + kind.ndim):
            next(count)
    return [f"put({answer}, answers, {place})"]


_intrinsic: Callable[[Callable[..., Any]], Any] = intrinsic  # numba is untyped


def _pointer(builder: Any, address: Any, kind: Any, place: Any) -> Any:
    return builder.gep(builder.inttoptr(address, kind.as_pointer()), [place])


@_intrinsic
def _word(typing: Any, address: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(builder, arguments[0], ir.IntType(64), arguments[1]))

    return types.int64(address, place), generate


@_intrinsic
def _real(typing: Any, address: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(builder, arguments[0], ir.DoubleType(), arguments[1]))

    return types.float64(address, place), generate


@_intrinsic
def _array(typing: Any, address: Any, kind: Any) -> Any:
    """The array of Python at an address. It is borrowed: whoever calls the entry holds it."""
    array = kind.instance_type if hasattr(kind, "instance_type") else kind

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)

        def field(at: Any, place: int) -> Any:
            return builder.load(_pointer(builder, at, word, ir.Constant(word, place)))

        data = field(arguments[0], 0)
        shape, strides = ([field(field(arguments[0], 2 + k), i) for i in range(array.ndim)] for k in range(2))
        made = context.make_array(array)(context, builder)
        numbers = context.get_data_type(array.dtype)
        size = ir.Constant(word, context.get_abi_sizeof(numbers))
        populate_array(made, builder.inttoptr(data, numbers.as_pointer()), shape, strides, size, None)
        return made._getvalue()

    return array(address, kind), generate


@_intrinsic
def _put(typing: Any, value: Any, answers: Any, place: Any) -> Any:
    """Write a number, or the address, the memory and the shape of an array, whose reference goes to the caller."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        given, address, first = arguments
        if isinstance(value, types.Array):
            made = context.make_array(value)(context, builder, given)
            context.nrt.incref(builder, value, given)
            words = [builder.ptrtoint(made.data, word), builder.ptrtoint(made.meminfo, word)]
            words += cgutils.unpack_tuple(builder, made.shape)
        else:
            words = [builder.zext(given, word) if isinstance(value, types.Boolean) else given]
        for i, each in enumerate(words):
            builder.store(each, _pointer(builder, address, each.type, builder.add(first, ir.Constant(word, i))))
        return context.get_dummy_value()

    return types.none(value, answers, place), generate
