"""Random forests, tame and nasty, for Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume
from hypothesis import strategies as st

from hulltune import Forest, ForestBuilder
from tests.oracles import count_derivations

counts = st.integers(-3, 3).map(float)
reals = st.floats(-10, 10, allow_nan=False, allow_infinity=False)
nasty = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 0.1, 0.2, 0.3, 1 / 3, 1e-9, 1e150, -1e150, 1e-150, 3e-150, 5e-324, 2.0**53, 7.0]
)
values = st.one_of(counts, reals, nasty)


@st.composite
def vectors(draw: st.DrawFn, width: int, elements: st.SearchStrategy[float] = values) -> list[float]:
    return draw(st.lists(elements, min_size=width, max_size=width))


@st.composite
def forests(
    draw: st.DrawFn,
    *,
    elements: st.SearchStrategy[float] = values,
    width: int = 3,
    max_nodes: int = 5,
    max_arity: int = 3,
    max_derivations: int = 400,
    sparse: bool | None = None,
) -> Forest:
    """A hypergraph with repeated tails, parallel edges, duplicates and useless parts; perhaps without a derivation."""
    nodes = draw(st.integers(1, max_nodes))
    is_sparse = draw(st.booleans()) if sparse is None else sparse
    builder = ForestBuilder(feature_names=[f"f{i}" for i in range(width)], sparse=is_sparse)
    for node in range(nodes):
        builder.add_node(node)
        for _ in range(draw(st.integers(0 if node else 1, 4))):
            arity = draw(st.integers(0, max_arity)) if node else 0
            tails: Sequence[int] = draw(st.lists(st.integers(0, max(node - 1, 0)), min_size=arity, max_size=arity))
            items: list[str | int] = ["a", "b", "c", *range(arity)]
            output = draw(st.lists(st.sampled_from(items), max_size=3)) if draw(st.booleans()) else None
            builder.add_edge(node, tails, features=draw(vectors(width, elements)), output=output)
    forest = builder.build(root=nodes - 1)
    assume(count_derivations(forest) <= max_derivations)
    return forest


@st.composite
def lists(
    draw: st.DrawFn, *, elements: st.SearchStrategy[float] = values, width: int = 3, max_size: int = 40
) -> Forest:
    """An n-best list with duplicates."""
    size = draw(st.integers(1, max_size))
    distinct = draw(st.lists(vectors(width, elements), min_size=1, max_size=size))
    rows = [distinct[draw(st.integers(0, len(distinct) - 1))] for _ in range(size)]
    return Forest.from_nbest([f"h{i}" for i in range(size)], rows)
