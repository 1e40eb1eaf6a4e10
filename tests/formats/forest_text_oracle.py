"""Plain parsers of forest text and of Joshua's hypergraphs, written for reading: what the readers must agree with."""

from __future__ import annotations

import math
import re

from tests.formats.moses_oracle import words
from tests.formats.plain_forests import FaultError, Output, PlainEdge, PlainForest

NUMBER = re.compile("[0-9]{1,18}")
BLANKS = " \t\r"


class Lines:
    """The lines of a text, one after the other."""

    def __init__(self, content: str) -> None:
        self.lines = content.removesuffix("\n").split("\n") if content else []

    def next(self) -> str:
        if not self.lines:
            raise FaultError
        return self.lines.pop(0)

    def skip_to_header(self) -> str | None:
        """Pass over comments and blank lines, and return the name that they give."""
        name = None
        while self.lines:
            line = self.lines[0].strip(BLANKS + "\x0b\x0c")
            if line and not line.startswith("#"):
                break
            if line.startswith("# name "):
                name = line.removeprefix("# name ").strip()
            self.lines.pop(0)
        return name


def forest_text(content: str) -> list[PlainForest]:
    lines = Lines(content)
    forests = []
    name = lines.skip_to_header()
    while lines.lines:
        nodes, edges = header(lines.next())
        forest = PlainForest(max(nodes, 1), max(nodes, 1) - 1, name=name)
        spelled: list[str] = []
        for node in range(nodes):
            while lines.lines and lines.lines[0].startswith("#"):
                lines.next()
            of_node = [lines.next() for _ in range(number(lines.next()))]
            forest.edges += [edge(line, node, nodes) for line in of_node]
            spelled += of_node
        if len(forest.edges) != edges:
            raise FaultError
        if any(line.count("|||") > 1 for line in spelled):
            shift_components(forest)
        forest.add_leaves()
        forests.append(forest)
        name = lines.skip_to_header()
    if not forests:
        raise FaultError
    return forests


def shift_components(forest: PlainForest) -> None:
    """Number the components of Moses' features from 0."""
    filled = [edge.features for edge in forest.edges if edge.features]
    names = {name for features in filled for name in features}
    components = [match for match in map(re.compile("(.+)_(0|[1-9][0-9]{0,8})").fullmatch, sorted(names)) if match]
    renamed: dict[str, str] = {}
    for stem in {match[1] for match in components}:
        numbers = sorted(int(match[2]) for match in components if match[1] == stem)
        everywhere = all(f"{stem}_{k}" in features for features in filled for k in numbers)
        if numbers[0] > 0 and (everywhere or (numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 1)):
            renamed |= {f"{stem}_{k}": f"{stem}_{k - 1}" for k in numbers}
    for each in forest.edges:
        each.features = {renamed.get(name, name): value for name, value in each.features.items()}


def joshua(content: str) -> PlainForest:
    lines = Lines(content)
    lines.skip_to_header()
    nodes, edges = header(lines.next())
    forest = PlainForest(0, 0)
    numbers: list[int] = []
    while lines.lines:
        line = lines.next()
        if NUMBER.fullmatch(line.strip(BLANKS)):
            numbers.append(number(line))
        elif not numbers:
            raise FaultError
        else:
            forest.edges.append(edge(line, numbers[-1], 10**15))
    if len(numbers) != nodes or len(forest.edges) != edges or numbers != sorted({*numbers} - {0}):
        raise FaultError
    known = sorted({edge.head for edge in forest.edges})
    for each in forest.edges:
        if not set(each.tails) <= set(known):
            raise FaultError
        each.head = known.index(each.head)
        each.tails = [known.index(tail) for tail in each.tails]
    forest.nodes, forest.root = len(known) + 1, len(known)
    tails = {tail for edge in forest.edges for tail in edge.tails}
    forest.edges += [PlainEdge(forest.root, [top], [0], {}) for top in range(len(known)) if top not in tails]
    return forest


def header(line: str) -> tuple[int, int]:
    fields = words(line)
    if len(fields) != 2:
        raise FaultError
    return number(fields[0]), number(fields[1])


def number(text: str) -> int:
    text = text.strip(BLANKS)
    if not NUMBER.fullmatch(text):
        raise FaultError
    return int(text)


def edge(line: str, head: int, nodes: int) -> PlainEdge:
    fields = line.split("|||")
    if len(fields) < 2:
        raise FaultError
    tails: list[int] = []
    output: Output = []
    for word in words(fields[0]):
        if re.fullmatch(r"\[[0-9]+\]", word):
            if int(word[1:-1]) >= nodes:
                raise FaultError
            output.append(len(tails))
            tails.append(int(word[1:-1]))
        else:
            output.append(word)
    return PlainEdge(head, tails, output, features(fields[1]))


def features(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for token in words(text):
        name, _, value = token.rpartition("=")
        if not name or name in found:
            raise FaultError
        found[name] = finite(value)
    return found


def finite(text: str) -> float:
    try:
        value = math.nan if "_" in text or not text.isascii() else float(text)
    except ValueError:
        raise FaultError from None
    if not math.isfinite(value):
        raise FaultError
    return value
