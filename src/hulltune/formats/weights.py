"""Weights files: JSON, the ``[weight]`` section of a Moses ini, its dense weights, and lines ``name value``."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from hulltune.arrays import as_number
from hulltune.errors import InputError, unknown_name
from hulltune.formats.jsonl import keys_once
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.streams import BYTE_ORDER_MARK, LineError, not_utf8, open_bytes
from hulltune.formats.writing import written_atomically
from hulltune.names import WEIGHT_FORMATS

_SECTION = re.compile(r"\s*\[([^\]]*)\]\s*")
_NORMALISED = re.compile(r"^# normalisation: (.+)$", flags=re.MULTILINE)
_NUMBERED = re.compile(r"(.+)_([0-9]+)")


def read_weights(path: str | os.PathLike[str]) -> dict[str, float]:
    """The weights of a file, whose format is recognised by its content. Names are distinct, values finite.

    >>> from pathlib import Path
    >>> from hulltune import read_weights
    >>> _ = Path("weights.txt").write_text("lm 0.5")
    >>> read_weights("weights.txt")
    {'lm': 0.5}
    """
    return weights_in(text_of(path), os.fspath(path))


def kind_of_weights(text: str) -> str:
    """The format of a file with this text: "json", "moses" (an ini with a section of weights) or "lines"."""
    if text.lstrip().startswith("{"):
        return "json"
    return "moses" if any(name == "weight" for name in map(_section, text.split("\n"))) else "lines"


def weights_in(text: str, file: str) -> dict[str, float]:
    """The weights in the text of a file; see ``read_weights``."""
    kind = kind_of_weights(text)
    if kind == "json":
        weights = _from_json(file, text)
    elif kind == "moses":
        weights = _from_moses(file, text)
    else:
        weights = _from_lines(file, enumerate(text.split("\n"), start=1))
    if not weights:
        raise InputError(f"{file}: no weights in it; expected JSON, a [weight] section, or lines 'name value'")
    return weights


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file, which must be UTF-8."""
    with open_bytes(path) as stream:
        data = stream.read().removeprefix(BYTE_ORDER_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{os.fspath(path)}:{line}: {not_utf8(error)}") from None


def normalisation_in(path: str | os.PathLike[str]) -> str | None:
    """What was done to the scores of rankers that the weights of a file belong to; None if the file does not say it."""
    text = text_of(path)
    if text.lstrip().startswith("{"):
        found = json.loads(text).get("normalisation")
        return None if found is None else str(found)
    line = _NORMALISED.search(text)
    return line[1].strip() if line else None


def _from_json(file: str, text: str) -> dict[str, float]:
    try:
        record = json.loads(text, object_pairs_hook=keys_once)
    except LineError as fault:
        raise InputError(f"{file}: {fault}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}:{getattr(error, 'lineno', 1)}: no JSON ({error})") from None
    weights = record.get("weights", record)
    if not isinstance(weights, dict):
        raise InputError(f'{file}: "weights" is {shown(weights)}; expected an object of names and numbers')
    finite = {}
    for name, value in weights.items():
        number = as_number(value)
        if number is None or not math.isfinite(number):
            raise InputError(f"{file}: the weight of {name!r} is {shown(value)}; expected a finite number")
        finite[name] = number
    return finite


def _from_moses(file: str, text: str) -> dict[str, float]:
    """The weights of a Moses ini, named like features of lists: ``Name0= v v`` gives Name0_0 and Name0_1."""
    lines = []
    inside = False
    for line, content in enumerate(text.split("\n"), start=1):
        section = _section(content)
        if section is not None:
            inside = section == "weight"
        elif inside:
            name, equals, values = content.partition("#")[0].rpartition("=")
            lines.append((line, f"{name.strip()}{equals} {values}"))
    return _from_lines(file, lines, in_ini=True)


def _section(line: str) -> str | None:
    """The name of the section that begins with a line of an ini; None for another line."""
    found = _SECTION.fullmatch(line)
    return None if found is None else found[1].strip()


def _from_lines(file: str, lines: Iterable[tuple[int, str]], *, in_ini: bool = False) -> dict[str, float]:
    """The weights of lines, each with a name and a value. Of the dense weights of Moses, ``Name= v``, a name may have
    several values, on one line or (not in an ini) on several: Name_0, Name_1, … as in lists.
    """
    found: dict[str, list[float]] = {}
    repeatable: set[str] = set()
    places: dict[str, str] = {}
    for line, content in lines:
        content, where = content.strip(), f"{file}:{line}"
        if not content or content.startswith("#"):
            continue
        name, tokens, dense = _named_values(content)
        if not name or not tokens or (len(tokens) != 1 and not dense) or (in_ini and "=" not in content):
            expected = "'Name= value value …'" if in_ini else "'name value' or 'name=value'"
            raise InputError(f"{where}: got {shown(content)}; expected {expected}")
        if name not in found and dense and not in_ini:
            repeatable.add(name)
        elif name in found and not (dense and name in repeatable):
            raise InputError(f"{where}: a second weight for {name!r}")
        values = found.setdefault(name, [])
        places.setdefault(name, where)
        for token in tokens:
            full = f"{name}_{len(values)}" if values or len(tokens) > 1 else name
            values.append(_number(token, full, where))
    weights: dict[str, float] = {}
    for name, values in found.items():
        for place, value in enumerate(values):
            full = name if len(values) == 1 else f"{name}_{place}"
            if full in weights:
                raise InputError(f"{places[name]}: a second weight for {full!r}")
            weights[full] = value
    return weights


def _named_values(content: str) -> tuple[str, list[str], bool]:
    """The name on a line ("" for none), its values, and whether they are written ``Name= v``, like dense ones."""
    fields = content.split()
    if len(fields) == 1:
        name, _, value = content.rpartition("=")
        return name, [value], False
    if len(fields) == 3 and fields[1] == "=":
        return fields[0], [fields[2]], False
    if len(fields[0]) > 1 and fields[0].endswith("="):
        return fields[0].removesuffix("="), fields[1:], True
    return fields[0], fields[1:], False


def _number(token: str, name: str, where: str) -> float:
    value = plain_number(token)
    if value is None or not math.isfinite(value):
        raise InputError(f"{where}: the weight of {name!r} is {token!r}; expected a finite number")
    return value


def write_weights(
    weights: Mapping[str, float],
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # the word that users type
    normalisation: str | None = None,
    ini: str = "",
) -> None:
    """Write weights, atomically; the format follows the suffix (.json, .ini), otherwise it is lines.

    Reading gives back the names, and the values to the bit. ``normalisation`` is what was done to scores of rankers
    (see Dataset.normalisation); other data are refused with the weights. In the format "moses", ``ini`` is the text of
    a ``moses.ini`` whose other sections and other weights are written, too.

    >>> from hulltune import read_weights, write_weights
    >>> write_weights({"lm": 0.5, "words": -0.25}, "weights.txt")
    >>> read_weights("weights.txt")
    {'lm': 0.5, 'words': -0.25}
    """
    if format is None:
        format = {".json": "json", ".ini": "moses"}.get(Path(path).suffix, "lines")  # noqa: A001  # the same word
    text = weights_text(weights, format)
    if ini and format == "moses":
        text = _in_ini(ini, weights)
    if normalisation is not None:
        told = f'{{\n "normalisation": {json.dumps(normalisation)},' if format == "json" else None
        text = f"# normalisation: {normalisation}\n{text}" if told is None else text.replace("{", told, 1)
    with written_atomically(path) as file:
        file.write(text.encode("utf-8"))


def weights_text(weights: Mapping[str, float], kind: str) -> str:
    """Weights as the text of a file: "json", "moses" or "lines"."""
    if kind not in WEIGHT_FORMATS:
        raise unknown_name("format of weights", kind, WEIGHT_FORMATS)
    values = {}
    for name, value in weights.items():
        number = as_number(value)
        if number is None or not math.isfinite(number):
            raise InputError(f"weights: the weight of {name!r} is {shown(value)}; expected a finite number")
        values[name] = number
        if kind != "json" and (not name or re.search(r"[\s#\[\]=]", name)):
            raise InputError(f"weights: the name {name!r} cannot be written in this format; write JSON")
    if kind == "json":
        return json.dumps({"weights": values}, indent=1, ensure_ascii=False) + "\n"
    return _to_moses(values) if kind == "moses" else "".join(f"{name} {value!r}\n" for name, value in values.items())


def _to_moses(weights: dict[str, float]) -> str:
    """Weights as a section of an ini: name_0, name_1, … on one line if these are all of that name, without a gap."""
    groups: dict[str, list[str]] = {}
    for name in weights:
        numbered = _NUMBERED.fullmatch(name)
        groups.setdefault(numbered[1] if numbered else name, []).append(name)
    lines = ["[weight]"]
    for stem, names in groups.items():
        together = [f"{stem}_{place}" for place in range(len(names))]
        if len(names) > 1 and set(names) == set(together):
            lines.append(f"{stem}= {' '.join(repr(weights[name]) for name in together)}")
        else:
            lines += [f"{name}= {weights[name]!r}" for name in names]
    return "\n".join(lines) + "\n"


def _in_ini(ini: str, weights: Mapping[str, float]) -> str:
    """An ini with these weights in its [weight] section, each in its place, and new ones before the others."""
    written: list[str] = []
    known: set[str] = set()
    inside, start = False, 0
    for line in ini.split("\n"):
        section = _section(line)
        if section is not None:
            inside = section == "weight"
            start = start or (len(written) + 1 if inside else 0)
        elif inside:
            name, _, values = line.partition("#")[0].rpartition("=")
            name, count = name.strip(), len(values.split())
            names = [name] if count == 1 else [f"{name}_{place}" for place in range(count)]
            if name and all(each in weights for each in names):
                known.update(names)
                line = f"{name}= {' '.join(repr(float(weights[each])) for each in names)}"
        written.append(line)
    new = {name: float(weight) for name, weight in weights.items() if name not in known}
    written[start:start] = _to_moses(new).split("\n")[1:-1]
    return "\n".join(written)
