"""Hypothesis strategies for points in the plane: many ties, and magnitudes at which products leave the doubles."""

from __future__ import annotations

from hypothesis import strategies as st

from hulltune.geometry.predicates import Point

SCALES = [2.0**-500, 2.0**-30, 1.0, 2.0**500]
"""About 1e-150, 1e-9, 1 and 1e150: products of two of them under- and overflow."""


def grid_points(max_size: int = 8) -> st.SearchStrategy[list[Point]]:
    """Points whose coordinates are multiples of one power of two each, sums of four exact, often equal or collinear."""
    coarse = st.integers(-4, 4)
    fine = st.integers(-(2**50), 2**50)

    def scaled(pairs: list[tuple[int, int]], x_scale: float, y_scale: float) -> list[Point]:
        return [(x * x_scale, y * y_scale) for x, y in pairs]

    pairs = st.lists(st.tuples(coarse, coarse), max_size=max_size) | st.lists(
        st.tuples(fine | coarse, fine | coarse), max_size=max_size
    )
    return st.builds(scaled, pairs, st.sampled_from(SCALES), st.sampled_from(SCALES))


def unit_grid_points(max_size: int = 6) -> st.SearchStrategy[list[Point]]:
    """Points with integer coordinates small enough for exact sums of several points."""
    number = (st.integers(-3, 3) | st.integers(-(2**49), 2**49)).map(float)
    return st.lists(st.tuples(number, number), max_size=max_size)


def wild_floats() -> st.SearchStrategy[float]:
    """Any finite double, with small integers and extreme magnitudes more often than by chance."""
    return (
        st.floats(allow_nan=False, allow_infinity=False, width=64)
        | st.integers(-3, 3).map(float)
        | st.builds(lambda n, scale: n * scale, st.integers(-3, 3), st.sampled_from(SCALES))
        | st.sampled_from([5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, -1.7976931348623157e308])
    )


def wild_points(max_size: int = 6) -> st.SearchStrategy[list[Point]]:
    return st.lists(st.tuples(wild_floats(), wild_floats()), max_size=max_size)
