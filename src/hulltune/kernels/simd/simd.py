"""Sixteen doubles as one value, so that a kernel can say exactly which loop is SIMD.

Written as plain loops over lanes, the inner loop of the Viterbi pass costs 20–28 ns per edge for 8 lanes: the compiler
neither keeps the lanes in registers across edges nor trusts that the rows do not overlap. With the vector type the
same pass costs 3.5–4.5 ns per edge for 8 lanes and 5–9 ns for 16 (AVX-512; LLVM splits the vectors where the CPU has
narrower ones).

Names read like the operations they are: ``add(load(table, row), splat(x))``. Rows are LANES wide. What each operation
does to which operands is written in operations.py, which needs Numba; here are the names that kernels use.
"""

from __future__ import annotations

from typing import Any

LANES = 16
MASKS = 64
"""The number of masks that lane_of_masks reads at once."""

Lanes = Any
"""LANES doubles, in the signatures of kernels."""


class Operation:
    """The name of an operation, which stands for Numba's object of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        from hulltune.kernels.simd import operations

        cpu_target.typing_context.refresh()  # or it does not know operations that have just been imported
        return cpu_target.typing_context.resolve_value_type(getattr(operations, self.name))


def operation(name: str) -> Any:
    """An operation of operations.py, for kernels to call."""
    return Operation(name)


load = operation("load")
load_at = operation("load_at")
store = operation("store")
store_at = operation("store_at")
prefetch = operation("prefetch")
splat = operation("splat")
add = operation("add")
subtract = operation("subtract")
divide = operation("divide")
multiply = operation("multiply")
minimum = operation("minimum")
maximum = operation("maximum")
greater = operation("greater")
at_least = operation("at_least")
equal = operation("equal")
unequal = operation("unequal")
both = operation("both")
either = operation("either")
multiply_add = operation("multiply_add")
multiply_add_one = operation("multiply_add_one")
choose = operation("choose")
any_lane = operation("any_lane")
mask_bits = operation("mask_bits")
lowest_bit = operation("lowest_bit")
store_mask = operation("store_mask")
lane_of_masks = operation("lane_of_masks")
smallest = operation("smallest")
scatter = operation("scatter")
load_counts = operation("load_counts")
store_counts = operation("store_counts")
store_wide = operation("store_wide")
add_counts = operation("add_counts")
subtract_counts = operation("subtract_counts")
counts_differ = operation("counts_differ")
