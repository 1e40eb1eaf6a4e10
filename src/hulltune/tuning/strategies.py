"""The table of strategies by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from hulltune.certified.certify import Certified
from hulltune.errors import InputError, unknown_name
from hulltune.names import SEARCHES
from hulltune.search.coordinate import Coordinate
from hulltune.search.gradient import GradientClimb
from hulltune.search.line_cma import LineCma
from hulltune.search.powell import Powell
from hulltune.search.random_climb import Climb
from hulltune.search.strategy import Strategy

STRATEGIES: Mapping[str, type[Strategy]] = {
    kind.name: kind for kind in (LineCma, Climb, Coordinate, Powell, GradientClimb, Certified)
}
"""The class of each strategy by its name."""
assert set(SEARCHES) <= set(STRATEGIES), "hulltune.names lists the searches for the command line"


def get_strategy(search: str | Strategy, **options: Any) -> Strategy:
    """The strategy with this name and these options; a Strategy is returned as it is and takes no options.

    >>> from hulltune.tuning import get_strategy
    >>> get_strategy("powell", restarts=5).restarts
    5
    """
    if isinstance(search, Strategy):
        if options:
            raise InputError(f"search: {search!r} has its options already, got also {', '.join(sorted(options))}")
        return search
    if str(search) not in STRATEGIES:
        raise unknown_name("search", str(search), STRATEGIES)
    chosen = STRATEGIES[str(search)]
    known = [field.name for field in dataclasses.fields(chosen)]  # type: ignore[arg-type]  # all are dataclasses
    for name in options:
        if name not in known:
            raise unknown_name(f"option of the search {search!r}:", name, known)
    return chosen(**options)
