"""Forests as plain lists of edges: what slow parsers give and what the readers must agree with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hulltune import Forest, ForestBuilder
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import ForestOptions, ForestReader, NamedForest, Path

Output = list[str | int]
EVERYTHING = ForestOptions(drop=frozenset())
"""Options under which no word is dropped."""


class FaultError(Exception):
    """This text is not in the format."""


@dataclass
class PlainEdge:
    head: int
    tails: list[int]
    output: Output
    """Words, and i for tail i."""
    features: dict[str, float]


@dataclass
class PlainForest:
    nodes: int
    root: int
    edges: list[PlainEdge] = field(default_factory=list)
    name: str | None = None

    def build(self) -> Forest:
        """Pack the forest by the builder, which the readers do not use."""
        builder = ForestBuilder()
        for node in range(self.nodes):
            builder.add_node(node)
        for edge in self.edges:
            builder.add_edge(edge.head, edge.tails, features=edge.features, output=edge.output)
        return builder.build(root=self.root)

    def add_leaves(self) -> None:
        """An empty edge for every node but the root that has none."""
        heads = {edge.head for edge in self.edges}
        self.edges += [PlainEdge(node, [], [], {}) for node in range(self.nodes) if node not in heads | {self.root}]


def plain(forest: Forest) -> PlainForest:
    """A packed forest as a plain one."""
    table = forest.features.toarray()
    result = PlainForest(forest.nodes, forest.root)
    for node in range(forest.nodes):
        for edge in range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1])):
            row = forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]].tolist()
            output: Output = [forest.vocabulary[label] if label >= 0 else -1 - label for label in row]
            features = dict(zip(forest.feature_names, table[edge].tolist(), strict=True))
            result.edges.append(PlainEdge(node, forest.edge_tails(edge).tolist(), output, features))
    return result


def assert_same(read: Forest, expected: Forest) -> None:
    """Check that nodes, edges, outputs and feature values agree to the bit; features without any value do not count."""
    assert np.array_equal(read.edge_offsets, expected.edge_offsets)
    assert np.array_equal(read.tail_offsets, expected.tail_offsets)
    assert np.array_equal(read.tails, expected.tails)
    for ours, theirs in zip(plain(read).edges, plain(expected).edges, strict=True):
        assert ours.output == theirs.output
        assert with_values(ours) == with_values(theirs)


def with_values(edge: PlainEdge) -> dict[str, str]:
    return {name: value.hex() for name, value in edge.features.items() if value != 0}


def read_all(
    reader: ForestReader, path: Path, content: str | bytes, options: ForestOptions = EVERYTHING
) -> list[NamedForest]:
    """The forests of a file with this content."""
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return list(reader(path, options, Vocabulary()))


def outputs(forest: Forest) -> Iterator[tuple[str, ...]]:
    """The outputs of the derivations, in the order of their edges."""
    from tests.oracles import derivations, output_of

    return (output_of(forest, derivation) for derivation in derivations(forest))
