"""Random lattices: acyclic, with a path, their states in no particular order."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.formats.lattice_oracles import Lattice

numerals = st.one_of(
    st.integers(-9, 9).map(str),
    st.floats(-1e3, 1e3, allow_nan=False).map(repr),
    st.floats(-1e300, 1e300, allow_nan=False).map(repr),
    st.sampled_from(["0", "-0.0", "1e-3", "+2.5", ".5", "3.", "0.1234567890123456789", "1E5", "123456789012345678901"]),
)


@st.composite
def lattices(
    draw: st.DrawFn, words: st.SearchStrategy[str | None], numbers: st.SearchStrategy[float], width: int,
    most_states: int = 6,
) -> Lattice:  # fmt: skip
    """Arcs from earlier to later states under a random naming of the states; the last state is final."""
    states = draw(st.integers(1, most_states))
    number = draw(st.permutations(range(states)))
    row = st.tuples(*[numbers] * width)
    lattice = Lattice(number[0])
    pairs = [(i, i + 1) for i in range(states - 1)]
    if states > 1:
        further = st.tuples(st.integers(0, states - 1), st.integers(0, states - 1)).filter(
            lambda pair: pair[0] != pair[1]
        )
        pairs += [(min(pair), max(pair)) for pair in draw(st.lists(further, max_size=6))]
    for source, target in draw(st.permutations(pairs)):
        lattice.arcs.append((number[source], number[target], draw(words), draw(row)))
    finals = {states - 1, *draw(st.lists(st.integers(0, states - 1), max_size=2))}
    lattice.finals = {number[state]: draw(row) for state in sorted(finals)}
    return lattice
