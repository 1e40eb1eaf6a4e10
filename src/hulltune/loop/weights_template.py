"""Weights in a decoder's own format: a common one, or a template."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hulltune.errors import InputError, unknown_name
from hulltune.formats.streams import open_bytes
from hulltune.formats.weights import write_weights
from hulltune.formats.writing import written_atomically
from hulltune.names import WEIGHT_FORMATS

HOLE = re.compile(r"\{\{|\}\}|\{([^{}\n]*)\}|[{}]")
"""A name in braces (its first group), a doubled brace, or a single one, which is a mistake."""


@dataclass(frozen=True)
class WeightsFormat:
    """The format of a decoder's weights: ``template`` if there is one, otherwise the format ``name``."""

    name: str = "json"
    template: str | None = None
    template_file: str = "template"
    ini: str = ""
    """The text of a ``moses.ini`` whose other sections the decoder gets with its weights, in the format "moses"."""

    def __post_init__(self) -> None:
        if self.name not in WEIGHT_FORMATS:
            raise unknown_name("format of weights", self.name, WEIGHT_FORMATS)

    @staticmethod
    def from_template(path: str | os.PathLike[str]) -> WeightsFormat:
        """The format of a template file, which has ``{name}`` where the weight of that feature goes."""
        with open_bytes(path) as stream:
            data = stream.read()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{os.fspath(path)}: not UTF-8; convert the template to UTF-8") from None
        found = WeightsFormat(template=text, template_file=os.fspath(path))
        if not found.names:
            raise InputError(
                f"{os.fspath(path)}: no {{name}} in the template, so weights would have no effect; "
                "write the name of each feature in braces where its weight goes"
            )
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the weights in the template."""
        return () if self.template is None else tuple(holes_in(self.template, self.template_file))

    def write(self, weights: Mapping[str, float], path: Path) -> None:
        """Write the weights, atomically."""
        if self.template is None:
            write_weights(weights, path, format=self.name, ini=self.ini)
            return
        with written_atomically(path) as file:
            file.write(fill_template(self.template, weights, where=self.template_file).encode())


def holes_in(text: str, where: str) -> dict[str, int]:
    """The names in braces, in order, each with its first line; InputError for a single brace."""
    found: dict[str, int] = {}
    for hole in HOLE.finditer(text):
        line = text.count("\n", 0, hole.start()) + 1
        if hole[0] in ("{", "}"):
            raise InputError(f"{where}:{line}: a single {hole[0]!r}; write {hole[0] * 2!r} for a brace")
        if hole[1] is not None:
            found.setdefault(hole[1], line)
    return found


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with a value for every name in braces; ``{{`` and ``}}`` are braces."""
    return HOLE.sub(lambda hole: hole[0][0] if hole[1] is None else values[hole[1]], text)


def fill_template(template: str, weights: Mapping[str, float], *, where: str = "template") -> str:
    """The template with every ``{name}`` replaced by that weight, with all its digits.

    A name without a weight is an error, and so is a weight without a place, which the decoder would never get.
    """
    names = holes_in(template, where)
    for name, line in names.items():
        if name not in weights:
            raise InputError(f"{where}:{line}: {unknown_name('weight', name, weights)}")
        if not math.isfinite(weights[name]):
            raise InputError(f"{where}:{line}: the weight of {name!r} is {weights[name]}; expected a finite number")
    for name in weights:
        if name not in names:
            raise InputError(f"{where}: no place for the weight of {name!r}; write {{{name}}} where it goes")
    # The shortest text that reads back as the same number: the decoder gets the weights to the last bit.
    return filled(template, {name: repr(float(weight)) for name, weight in weights.items()})
