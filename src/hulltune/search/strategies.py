"""The table of strategies by name."""

from __future__ import annotations

import dataclasses
from typing import Any

from hulltune.errors import InputError, unknown_name
from hulltune.search.certified.strategy import Certified
from hulltune.search.climb import Climb
from hulltune.search.coordinate import Coordinate
from hulltune.search.gradient import GradientClimb
from hulltune.search.powell import Powell
from hulltune.search.strategy import Strategy

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Climb, Coordinate, Powell, GradientClimb, Certified)
}


def get_strategy(search: str | Strategy, **options: Any) -> Strategy:
    """The strategy with this name and these options; a Strategy is returned as it is and takes no options."""
    if isinstance(search, Strategy):
        if options:
            raise InputError(f"search: {search!r} has its options already, got also {', '.join(sorted(options))}")
        return search
    if not isinstance(search, str) or search not in STRATEGIES:
        raise unknown_name("search", str(search), STRATEGIES)
    chosen = STRATEGIES[search]
    known = [field.name for field in dataclasses.fields(chosen)]  # type: ignore[arg-type]  # all are dataclasses
    for name in options:
        if name not in known:
            raise unknown_name(f"option of the search {search!r}:", name, known)
    return chosen(**options)
