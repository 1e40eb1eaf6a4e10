"""A plain parser of Moses lists, written for reading: what the kernel must agree with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

BLANKS = " \t\r"


@dataclass
class Hypothesis:
    id: str
    text: str
    features: dict[tuple[str, int], float]
    score: float | None


@dataclass
class Parsed:
    rows: list[Hypothesis] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)


class FaultError(Exception):
    """This line is no hypothesis."""


def parse(content: str, *, strict: bool) -> Parsed:
    """Every line of ``content`` (which ends with a line end, or lacks the last) as a hypothesis or a fault."""
    parsed = Parsed()
    rules = Rules(strict)
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            parsed.rows.append(rules.hypothesis(line))
        except FaultError:
            parsed.faults.append(number)
    return parsed


class Rules:
    """The rules that earlier lines set for the next one."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.first = True
        self.with_score: bool | None = None
        self.width: dict[str, int] = {}
        self.required: set[str] = set()

    def hypothesis(self, line: str) -> Hypothesis:
        fields = [part.strip(BLANKS) for part in line.split("|||")]
        if len(fields) < 3 or not fields[0] or (self.first and fields[2:] == [""]):
            raise FaultError
        layout = self.layout(fields[2])
        self.check(layout)
        score = fields[3] if len(fields) > 3 and fields[3] else None
        if self.with_score is not None and self.with_score != (score is not None):
            raise FaultError
        if score is not None and len(words(score)) > 1:
            raise FaultError
        features = {(name, k): number(v) for name, _, values in layout for k, v in enumerate(values)}
        total = None if score is None else number(score)
        self.with_score = score is not None
        for name, _, values in layout:
            self.width[name] = max(self.width.get(name, 0), len(values))
        if self.first:
            self.required = {name for name, dense, _ in layout if dense}
        self.first = False
        return Hypothesis(fields[0], fields[1], features, total)

    def layout(self, text: str) -> list[tuple[str, bool, list[str]]]:
        """(name, whether dense, values) in order."""
        found: list[tuple[str, bool, list[str]]] = []
        is_open = False
        for token in words(text):
            name, equals, value = token.rpartition("=")
            if equals:
                if not name:
                    raise FaultError
                found.append((name, not value, [value] if value else []))
                is_open = not value
            elif token.endswith(":") and len(token) > 1:
                found.append((token[:-1], True, []))
                is_open = True
            elif is_open:
                found[-1][2].append(token)
            elif not found:
                found.append(("feature", True, [token]))
                is_open = True
            else:
                raise FaultError
        names = [name for name, _, _ in found]
        if len(set(names)) < len(names) or not all(values for _, _, values in found):
            raise FaultError
        return found

    def check(self, layout: list[tuple[str, bool, list[str]]]) -> None:
        if not self.strict or self.first:
            return
        if not self.required <= {name for name, _, _ in layout}:
            raise FaultError
        for name, dense, values in layout:
            if name not in self.width and dense:
                raise FaultError
            if name in self.width and self.width[name] != len(values):
                raise FaultError


def words(text: str) -> list[str]:
    for blank in BLANKS:
        text = text.replace(blank, " ")
    return [word for word in text.split(" ") if word]


def number(token: str) -> float:
    try:
        value = math.nan if "_" in token or not token.isascii() else float(token)
    except ValueError:
        raise FaultError from None
    if not math.isfinite(value):
        raise FaultError
    return value
