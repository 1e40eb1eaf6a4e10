"""Files that hold a whole result, or the state of a run: one JSON object that says which kind it is."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hulltune.errors import InputError
from hulltune.formats.numbers import shown
from hulltune.formats.streams import open_bytes, written_atomically

T = TypeVar("T")

NOT_SAVED = {"saved": False}
"""The metadata of a field that no file has: it is known only where the result was made."""


def as_record(result: Any, kind: str) -> dict[str, Any]:
    """The fields of a dataclass for JSON, with its kind first: a name and version such as "hulltune result 1".

    Fields with ``NOT_SAVED`` as their metadata are left out; they have a default.
    """
    left_out = {field.name: field.default for field in dataclasses.fields(result) if field.metadata == NOT_SAVED}
    record = dataclasses.asdict(dataclasses.replace(result, **left_out))
    return {"format": kind, **{name: value for name, value in record.items() if name not in left_out}}


def save_record(record: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write a record, atomically: readers see the old file or the new one."""
    with written_atomically(path) as file:
        file.write((json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    return Path(path)


def load_record(
    path: str | os.PathLike[str], kind: str, what: str, made: type[T], build: Callable[[dict[str, Any]], T]
) -> T:
    """The dataclass ``made`` in a file, as ``build`` makes it of the fields. Messages call it ``what``."""
    file = os.fspath(path)
    with open_bytes(path) as stream:
        data = stream.read()
    try:
        record = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not {what}: no JSON ({error})") from None
    found = record.pop("format", None) if isinstance(record, dict) else None
    if found != kind:
        raise InputError(f'{file}: not {what} of this version; expected "format": "{kind}", got {json.dumps(found)}')
    known = [field.name for field in dataclasses.fields(cast(Any, made)) if field.metadata != NOT_SAVED]
    for name in (*(name for name in known if name not in record), *(name for name in record if name not in known)):
        raise InputError(f"{file}: not {what} of this version; {'expected' if name in known else 'got'} {name!r} in it")
    try:
        result = build(record)
        _check_fields(result)
        return result
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file}: not {what}; a field has a value of the wrong kind ({error})") from None


def _check_fields(record: Any) -> None:
    """Raise ValueError unless every field of a dataclass, and of those in it, has a value of its type."""
    hints = get_type_hints(type(record))
    for name in (field.name for field in dataclasses.fields(record)):
        if not _is_of(getattr(record, name), hints[name]):
            raise ValueError(f"{name} is {shown(getattr(record, name))}")


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value from JSON is of a type: a simple one, or made of others."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_is_of(value, part) for part in parts)
    if hint is float or hint is int:
        return isinstance(value, (int, float) if hint is float else int) and not isinstance(value, bool)
    if origin is tuple and parts[-1:] != (...,):
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_is_of, value, parts))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_is_of(k, parts[0]) and _is_of(v, parts[1]) for k, v in value.items())
    if origin is not None:
        return isinstance(value, (tuple, list)) and all(_is_of(each, parts[0]) for each in value)
    if dataclasses.is_dataclass(hint) and isinstance(value, cast(type, hint)):
        _check_fields(value)
    return value is None if hint is None else isinstance(value, hint)
