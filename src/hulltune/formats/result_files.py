"""Files that hold a whole result, or the state of a run: one JSON object that says which kind it is."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from hulltune.errors import InputError
from hulltune.formats.streams import open_bytes, written_atomically

T = TypeVar("T")


def as_record(result: Any, kind: str) -> dict[str, Any]:
    """The fields of a dataclass for JSON, with its kind first: a name and version such as "hulltune result 1"."""
    return {"format": kind, **dataclasses.asdict(result)}


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
    known = [field.name for field in dataclasses.fields(cast(Any, made))]
    for name in (*(name for name in known if name not in record), *(name for name in record if name not in known)):
        raise InputError(f"{file}: not {what} of this version; {'expected' if name in known else 'got'} {name!r} in it")
    try:
        return build(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file}: not {what}; a field has a value of the wrong kind ({error})") from None
