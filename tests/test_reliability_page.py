"""What docs/reliability.md says of the soak is so."""

from __future__ import annotations

import re

from tests.pages import ROOT, Page
from tests.soak.__main__ import all_parts

PAGE = Page("docs/reliability.md")


def test_every_part_of_the_soak_is_described() -> None:
    described = re.findall(r"^\| `(\w+)` \|", PAGE.text, flags=re.MULTILINE)
    assert sorted(described) == sorted(all_parts())


def test_the_files_that_it_names_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE.text))
    assert named
    assert all((ROOT / name).exists() for name in named)
