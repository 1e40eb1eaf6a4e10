from __future__ import annotations

import numpy as np
import pytest

from hulltune.data.copies import AT_ONCE, copy_rows, filled, parts_of, places_of, taken
from hulltune.threads import ALONE, Workers

ALONE_AND_SHARED = [ALONE, Workers(3)]


@pytest.mark.parametrize("workers", ALONE_AND_SHARED)
@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 7])
def test_copies_in_parts_are_those_of_numpy(count: int, workers: Workers) -> None:
    random = np.random.default_rng(count)
    assert np.array_equal(
        np.concatenate([np.empty(0), *(np.arange(count)[part] for part in parts_of(count))]), range(count)
    )
    assert np.array_equal(filled(count, -1, workers), np.full(count, -1))
    marked = random.random(count) < 0.3
    assert np.array_equal(places_of(marked, workers), np.flatnonzero(marked))
    assert places_of(marked, workers).dtype == np.int64
    array = random.normal(size=100)
    places = random.integers(0, 100, count)
    assert np.array_equal(taken(array, places, workers), array[places])
    assert np.array_equal(taken(array, places.astype(np.int32), workers), array[places])
    assert [part.stop - part.start for part in parts_of(count, 3 * AT_ONCE)] == [1] * count
    source, target = random.normal(size=(count, 3)), np.zeros((count + 5, 4))
    copy_rows(source, target[:, :3], workers)
    assert np.array_equal(target[:count, :3], source)
    assert not target[count:].any()
    assert not target[:, 3].any()
