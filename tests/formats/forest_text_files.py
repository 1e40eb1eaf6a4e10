"""Small files of forest text and its variants, and a comparison of readers with plain parsers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from hulltune import Forest, InputError
from hulltune.formats.forest_files import ForestReader
from tests.formats.plain_forests import FaultError, assert_same, read_all
from tests.formats.refusals import refusal

SMALL = """3 4
2
the ||| lm=-1 tm=0.5
a ||| lm=-2.25
1
house ||| lm=-1 oov=1
1
[0] small [1] ||| glue=1
"""


MOSES = """# target ||| features ||| source-covered
3 3
# node 0
1
<s>  |||  ||| 0
# node 1
1
[0] # big house  ||| LM0=-3.5 TM0_1=0.25 TM0_2=1 ||| 2
# node 2
1
[1] </s> |||  ||| 2
"""


JOSHUA = """# target ||| features
3 5
1
the ||| lm_0=-1.500 tm_pt_0=-3.000
a ||| lm_0=-2.000
2
house ||| lm_0=-1.000
4
<s> [1] [2] </s> ||| lm_0=-1.000
[2] of [1] ||| OOVPenalty=1.000
"""


def assert_agrees(reader: ForestReader, path: Path, content: str, parse: Callable[[], list[Forest]]) -> None:
    """Check that the reader refuses what the plain parser refuses, and otherwise reads the same forests."""
    try:
        expected = parse()
    except (FaultError, InputError):
        assert refusal(partial(read_all, reader, path, content)) is not None
    else:
        for named, forest in zip(read_all(reader, path, content), expected, strict=True):
            assert_same(named.forest, forest)
