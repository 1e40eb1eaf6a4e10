"""The version of a user's metric: a digest of the code that runs, so that stored answers of other code are not used."""

from __future__ import annotations

import hashlib
import os
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from hulltune.metrics.base import Metric, PreparedMetric

_OTHERS = {"hulltune", *sys.stdlib_module_names} - {"__main__"}


def code_version(metric: Metric, prepared: PreparedMetric) -> str | None:
    """A digest of the code of a metric and of all that it uses from its own package or folder.

    None for the metrics of hulltune, whose signatures have the version, and for a metric that waits: its answers come
    from outside. But a judge that is a Python function (see Ask) is code of the user, too. The digest is of compiled
    code, since the source may have been edited after it was imported. So comments and docstrings do not count, and
    another release of Python may give another digest.
    """
    reached = _Reached()
    judge = getattr(metric, "judge", None)
    if metric.waits or _top(type(metric).__module__) == "hulltune":
        if not isinstance(judge, types.FunctionType):
            return None
        reached.add(judge, judge.__module__ or "", "")
        return _digest(reached)
    for made in (metric, prepared):
        cls = type(made)
        reached.add(cls, cls.__module__, "")
        for value in getattr(made, "__dict__", {}).values():  # functions that it was given; other options are its own
            if isinstance(value, types.FunctionType):
                reached.add(value, value.__module__ or cls.__module__, "")
    return _digest(reached)


def _digest(reached: _Reached) -> str:
    content = "\0".join(sorted(reached.parts)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=8).hexdigest()


class _Reached:
    """The functions, classes and constants that some code uses, each as a text."""

    def __init__(self) -> None:
        self.parts: set[str] = set()

    def add(self, value: Any, user: str, name: str) -> None:
        """Add a value that the module ``user`` has by this name, and all that it uses in turn."""
        value = getattr(value, "__func__", value)  # of a static or class method
        if isinstance(value, type):
            for cls in value.__mro__:
                self._add_members(f"{cls.__module__}.{cls.__qualname__}", vars(cls), cls.__module__, user)
        elif isinstance(value, types.ModuleType):
            self._add_members(value.__name__, vars(value), value.__name__, user)
        elif isinstance(value, types.FunctionType):
            if _is_near(value.__module__ or user, user):
                self._add_function(value)
        elif isinstance(value, property):
            self.add(value.fget, user, name)
        elif hasattr(value, "__wrapped__"):  # a cached function
            self.add(value.__wrapped__, user, name)
        elif name and _is_plain(value):
            self.parts.add(f"{user}:{name} = {_text(value)}")

    def _add_members(self, owner: str, members: Mapping[str, Any], module: str, user: str) -> None:
        if owner in self.parts or not _is_near(module, user):
            return
        self.parts.add(owner)
        for name, member in list(members.items()):
            if callable(member) or not name.startswith("__"):  # not __doc__, __file__ and the like
                self.add(member, module, f"{owner}.{name}")

    def _add_function(self, function: types.FunctionType) -> None:
        code, module = function.__code__, function.__module__ or ""
        name = f"{module}.{function.__qualname__}"
        part = f"{name} {_text((function.__defaults__, function.__kwdefaults__))} {_code_text(code, function.__doc__)}"
        if part in self.parts:
            return
        self.parts.add(part)
        for used in _names(code):
            if used in function.__globals__:
                self.add(function.__globals__[used], module, used)
        for used, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.add(cell.cell_contents, module, f"{name}.{used}")
            except ValueError:  # a variable without a value yet
                continue


def _is_near(module: str, user: str) -> bool:
    """Whether a module belongs to the package of its user or lies in the same folder."""
    if _top(module) == _top(user):
        return True
    return _top(module) not in _OTHERS and _folder(module) is not None and _folder(module) == _folder(user)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _folder(module: str) -> str | None:
    file = getattr(sys.modules.get(_top(module)), "__file__", None)
    return None if file is None else os.path.dirname(os.path.abspath(file))


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _code_text(code: types.CodeType, docstring: str | None = None) -> str:
    """The instructions, names and constants of compiled code, without line numbers and without its docstring."""
    constants = list(code.co_consts)
    if docstring is not None and constants and constants[0] == docstring:
        constants[0] = None
    parts = [_code_text(each) if isinstance(each, types.CodeType) else _text(each) for each in constants]
    return " ".join([code.co_code.hex(), repr((code.co_names, code.co_varnames, code.co_freevars)), *parts])


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list, set, frozenset)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value)) and all(map(_is_plain, value.values()))
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes))


def _text(value: Any) -> str:
    """A text of a plain value; sets have no order, so theirs is sorted."""
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_text, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)}: {_text(each)}' for key, each in value.items())}}}"
    return repr(value) if _is_plain(value) else type(value).__qualname__
