"""Files that hold a whole result, or the state of a run: one JSON object that says which kind it is."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hulltune.errors import InputError
from hulltune.formats.numbers import shown
from hulltune.formats.streams import open_bytes
from hulltune.formats.writing import written_atomically

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


def load_record(path: str | os.PathLike[str], kind: str, what: str, made: type[T]) -> T:
    """The dataclass ``made`` in a file, with all values of the types of its fields. Messages call it ``what``."""
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
        return cast(T, _typed(record, made))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file}: not {what}; a field has a value of the wrong kind ({error})") from None


def _typed(value: Any, hint: Any, name: str = "the record") -> Any:
    """A value from JSON as one of this type: objects become dataclasses, lists tuples. ValueError, which tells the
    ``name`` of the field, if it is none.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, UnionType):
        if value is None and type(None) in parts:
            return None
        return _typed(value, next(part for part in parts if part is not type(None)), name)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints = get_type_hints(hint)
        return cast(type, hint)(**{own: _typed(each, hints[own], own) for own, each in value.items()})
    if origin is not None and issubclass(origin, Mapping) and isinstance(value, dict):
        return {key: _typed(each, parts[1], name) for key, each in value.items()}
    if origin is tuple and isinstance(value, list):
        kinds = [parts[0]] * len(value) if parts[-1] is ... else parts
        if len(kinds) == len(value):
            return tuple(_typed(each, kind, name) for each, kind in zip(value, kinds, strict=True))
    simple = (int, float) if hint is float else hint
    if origin is None and isinstance(value, simple) and (hint is bool or not isinstance(value, bool)):
        return value
    raise ValueError(f"{name} is {shown(value)}")
