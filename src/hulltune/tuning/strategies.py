"""The table of strategies by name. A strategy is imported when it is asked for."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from hulltune.errors import InputError, unknown_name
from hulltune.names import SEARCHES
from hulltune.search.strategy import Strategy

_PLACES = {
    "cma": "search.line_cma.LineCma",
    "random": "search.random_climb.Climb",
    "coordinate": "search.coordinate.Coordinate",
    "powell": "search.powell.Powell",
    "gradient": "search.gradient.GradientClimb",
    "certified": "certified.certify.Certified",
}
assert set(SEARCHES) <= set(_PLACES), "hulltune.names lists the searches for the command line"


class _Strategies(Mapping[str, type[Strategy]]):
    """The classes of strategies by their names."""

    def __getitem__(self, name: str) -> type[Strategy]:
        module, _, kind = _PLACES[name].rpartition(".")
        found: type[Strategy] = getattr(importlib.import_module(f"hulltune.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


STRATEGIES: Mapping[str, type[Strategy]] = _Strategies()
"""The class of each strategy by its name."""


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
