"""What the kernels that read Travatar's JSON share: why they come back, and what is where in their state."""

from __future__ import annotations

from typing import Any

from hulltune.kernels._jit import kernel
from hulltune.kernels.json_text import FIRST_FREE_CODE, codes
from hulltune.kernels.raw_edges import Integers

# Why the kernel came back, beside the codes of JSON.
(
    DONE, GROW, NO_GRAPH, NO_NODES, BAD_NODE, NO_EDGES, BAD_EDGE, NO_HEAD, BAD_NODE_NUMBER, BAD_TAILS, BAD_TARGET,
    BAD_FACTOR, BAD_WORDS, BAD_WORD, BAD_FEATURES, NO_NAME, REPEATED_NAME, BAD_VALUE, REPEATED_KEY,
) = codes(FIRST_FREE_CODE, 19)  # fmt: skip

# What is where in the state. FAULT is the place of what is wrong, NAME the feature that it is about. Room for strings
# without escapes begins at SIDE and is free from SPARE on. FARTHEST is the last tail that the words of an edge name, at
# FARTHEST_AT.
(
    POSITION, FAULT, NAME, SPARE, SIDE, NODES, EDGES, TAILS, LABELS, VALUES, PENDING, WORDS, NAMES, ATTEMPT,
    SOURCE_START, SOURCE_STOP, FARTHEST, FARTHEST_AT,
) = range(18)  # fmt: skip
STATE_SIZE = 18
HEAD, TAIL, LABEL, VALUE = range(4)
ID, SPAN_START, SPAN_STOP = range(3)


@kernel
def fault(state: Integers, code: Any, position: int) -> Any:
    """Note the place of a fault; returns its code."""
    state[FAULT] = position
    return code
