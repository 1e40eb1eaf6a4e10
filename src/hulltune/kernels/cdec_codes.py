"""What the kernels that read the JSON of cdec share: why they come back, and what is where in their state."""

from __future__ import annotations

from typing import Any

from hulltune.kernels._jit import kernel
from hulltune.kernels.json_text import FIRST_FREE_CODE, codes
from hulltune.kernels.raw_edges import Integers

# Why the kernel came back, beside the codes of JSON.
(
    DONE, GROW, NO_GRAPH, UNKNOWN_KEY, NO_LIST, ODD_RULES, BAD_RULE_ID, BAD_RULE, NAMES_TAIL_ZERO, LATE_NAMES, BAD_NAME,
    NAMED_TWICE, BAD_EDGE, REPEATED_KEY, BAD_TAIL, NO_RULE, UNKNOWN_RULE, TOO_FEW_TAILS, BAD_FEATURES, ODD_FEATURES,
    UNKNOWN_NAME, REPEATED_NAME, BAD_VALUE, BAD_NODE, BAD_IN_EDGES, UNKNOWN_EDGE, EDGE_IN_TWO_NODES, NO_NODE,
) = codes(FIRST_FREE_CODE, 28)  # fmt: skip

# What is where in the state. FAULT is the place of what is wrong, DETAIL a number that belongs to it. Room for strings
# without escapes begins at SIDE and is free from SPARE on. The first DECLARED names stand in the list of features.
(
    POSITION, FAULT, DETAIL, SPARE, SIDE, NODES, EDGES, TAILS, VALUES, PENDING, WORDS, NAMES, DECLARED, ATTEMPT, IDS,
    RULES, LABELS,
) = range(17)  # fmt: skip
STATE_SIZE = 17
HEAD, RULE, TAIL, VALUE = range(4)
END, LAST_TAIL = range(2)


@kernel
def fault(state: Integers, code: Any, position: int) -> Any:
    """Note the place of a fault; returns its code."""
    state[FAULT] = position
    return code
