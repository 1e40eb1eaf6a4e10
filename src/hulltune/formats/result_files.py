"""Files that hold a whole result, or the state of a run: one JSON object that says which kind it is."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hulltune.errors import InputError
from hulltune.formats.numbers import shown
from hulltune.formats.streams import open_bytes
from hulltune.formats.writing import written_atomically

NOT_SAVED = {"saved": False}
"""The metadata of a field that no file has: it is known only where the result was made, and has a default."""


class Saved:
    """A frozen dataclass that a file holds as JSON. ``read_weights`` finds the weights in the file, if it has some."""

    KIND: ClassVar[str]
    """The first field in a file: a name and version such as "hulltune result 1"."""
    CALLED: ClassVar[str]
    """The words for it in messages, such as "a result"."""
    DERIVED: ClassVar[tuple[str, ...]] = ()
    """Dataclasses that follow from the fields: files have them for other programs, and ``load`` makes them anew."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that JSON can hold, without those that are NOT_SAVED."""
        made: Any = self
        left_out = {field.name: field.default for field in dataclasses.fields(made) if field.metadata == NOT_SAVED}
        record = dataclasses.asdict(dataclasses.replace(made, **left_out))
        derived = {name: dataclasses.asdict(getattr(self, name)) for name in self.DERIVED}
        return {"format": self.KIND, **{name: record[name] for name in record if name not in left_out}, **derived}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as JSON, atomically: readers see the old file or the new one."""
        with written_atomically(path) as file:
            file.write((json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n").encode())
        return Path(path)

    @classmethod
    def load(cls: type[S], path: str | os.PathLike[str]) -> S:
        """Read what ``save`` wrote, with all values of the types of the fields."""
        file, what = os.fspath(path), cls.CALLED
        with open_bytes(path) as stream:
            data = stream.read()
        try:
            record = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}: not {what}: no JSON ({error})") from None
        kind = record.pop("format", None) if isinstance(record, dict) else None
        if kind != cls.KIND:
            expected = f'expected "format": "{cls.KIND}", got {json.dumps(kind)}'
            raise InputError(f"{file}: not {what} of this version; {expected}")
        record = {name: value for name, value in record.items() if name not in cls.DERIVED}
        known = [field.name for field in dataclasses.fields(cast(Any, cls)) if field.metadata != NOT_SAVED]
        for name in (*(name for name in known if name not in record), *(name for name in record if name not in known)):
            lacks = "expected" if name in known else "got"
            raise InputError(f"{file}: not {what} of this version; {lacks} {name!r} in it")
        try:
            found = cast(S, _typed(record, cls))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file}: not {what}; a field has a value of the wrong kind ({error})") from None
        if (fault := found.fault()) is not None:
            raise InputError(f"{file}: not {what}; {fault}")
        return found

    def fault(self) -> str | None:
        """What is wrong with values that have the right types; None if nothing is."""
        return None


S = TypeVar("S", bound=Saved)


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
