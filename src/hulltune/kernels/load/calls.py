"""The types of a call of a kernel, in a text such as ``u1_1Cr, i8_1C, int, (float, float)``.

An array is its number type, its dimensions, its layout (C, F, or A for neither), and ``r`` if it is read-only. A named
tuple is its class with the types of its parts. Two calls with the same text run the same machine code.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import ast

_ROOM = "hulltune.kernels."
_SCALARS = {int: "int", float: "float", bool: "bool", np.int64: "int", np.float64: "float", np.bool_: "bool"}
_LARGEST = 2**63


def described(arguments: tuple[Any, ...]) -> str | None:
    """The text of a call with these arguments; None if one of them is of a kind that no library holds."""
    parts = [_described(value) for value in arguments]
    return None if None in parts else ", ".join(map(str, parts))


def _described(value: Any) -> str | None:
    kind = type(value)
    if kind is np.ndarray or kind is np.memmap:
        return _described_array(value)
    if isinstance(value, tuple):
        return _described_tuple(value, kind)
    if kind is int and not -_LARGEST <= value < _LARGEST:
        return None
    if kind in _SCALARS:
        return _SCALARS[kind]
    return str(value.dtype.str[1:]) if isinstance(value, np.number) else None


def _described_array(array: np.ndarray[Any, Any]) -> str | None:
    if array.dtype.kind not in "biuf" or not array.dtype.isnative or not array.flags.aligned:
        return None
    layout = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"
    return f"{array.dtype.str[1:]}_{array.ndim}{layout}{'' if array.flags.writeable else 'r'}"


def _described_tuple(value: tuple[Any, ...], kind: type) -> str | None:
    parts = described(value)
    if parts is None or (kind is tuple and not value):
        return None
    if kind is tuple:
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    return f"{kind.__module__.removeprefix(_ROOM)}.{kind.__name__}({parts})" if _is_ours(kind) else None


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(_ROOM) and hasattr(kind, "_fields")


def examples(call: str) -> tuple[Any, ...]:
    """Arguments whose description is ``call``."""
    import ast

    tree = ast.parse(f"({call},)" if call else "()", mode="eval").body
    assert isinstance(tree, ast.Tuple)
    return tuple(map(_example, tree.elts))


def _example(node: ast.expr) -> Any:
    import ast

    if isinstance(node, ast.Tuple):
        return tuple(map(_example, node.elts))
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Attribute)
        module = importlib.import_module(_ROOM + ast.unparse(node.func.value))
        return getattr(module, node.func.attr)(*map(_example, node.args))
    assert isinstance(node, ast.Name)
    for kind, text in _SCALARS.items():
        if node.id == text:
            return kind(1)
    number, _, shape = node.id.partition("_")
    return _example_array(np.dtype(number), shape) if shape else np.dtype(number).type(1)


def _example_array(dtype: np.dtype[Any], shape: str) -> np.ndarray[Any, Any]:
    dimensions, layout = int(shape[0]), shape[1]
    array = np.zeros((4,) * dimensions, dtype, order="F" if layout == "F" else "C")
    if layout == "A":
        array = array[..., ::2]
    array.flags.writeable = not shape.endswith("r")
    return array
