"""Joshua's variant of forest text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from hulltune.formats import forest_text
from hulltune.formats.forest_files import ForestOptions
from hulltune.formats.forest_text import read_joshua
from tests.formats import forest_text_oracle as oracle
from tests.formats.edits import edited
from tests.formats.forest_text_files import JOSHUA, MOSES, SMALL, assert_agrees
from tests.formats.plain_forests import outputs, read_all
from tests.formats.refusals import refusal


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "forest.hg"


def test_a_hypergraph_of_joshua(file: Path) -> None:
    (named,) = read_all(read_joshua, file, JOSHUA, ForestOptions())
    assert list(outputs(named.forest)) == [
        ("the", "house"), ("a", "house"), ("house", "of", "the"), ("house", "of", "a"),
    ]  # fmt: skip
    assert named.forest.feature_names == ("lm_0", "tm_pt_0", "OOVPenalty")
    two_tops = JOSHUA.replace("[2] of [1]", "[2] of it").replace("[1] [2]", "[2]")
    (named,) = read_all(read_joshua, file, two_tops, ForestOptions())
    assert list(outputs(named.forest)) == [("the",), ("a",), ("house",), ("house", "of", "it")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1: no forest in the file"),
        ("#SENT: 0 5 3 4\n#I 1 0 1 X 1 ST nullstate\n", ":1: a hypergraph of an old Joshua"),
        (JOSHUA.replace("\n4\n", "\n2\n"), ":8: node 2 after a node with no smaller number"),
        (JOSHUA.replace("\n1\n", "\n0\n"), ":3: node 0 after a node with no smaller number"),
        (JOSHUA.replace("\n1\n", "\n"), ":3: 'the ||| lm_0=-1.500 tm_pt_0=-3.000'; expected the number"),
        (JOSHUA.replace("3 5", "2 5"), ":8: more nodes than the 2"),
        (JOSHUA.replace("3 5", "4 5"), ":10: the file ends within a forest, after 5 of 5 edges"),
        (JOSHUA.replace("3 5", "3 4"), ":10: more edges than the 4"),
        (JOSHUA.replace("3 5", "3 6"), ":10: the file ends within a forest, after 5 of 6 edges"),
        (JOSHUA.replace("of [1]", "of [3]"), ":10: no node [3]; expected one that has edges"),
        (JOSHUA.replace("of [1]", "of [7]"), ":10: no node [7]; expected one that has edges"),
        (JOSHUA.replace("of [1]", "of [4]"), ":2: the forest has a cycle"),
        (JOSHUA.replace("=-1.500", "=NaN"), ":4: feature 'lm_0' is 'NaN'"),
    ],
)
def test_what_is_wrong_with_a_hypergraph_of_joshua(file: Path, content: str, message: str) -> None:
    said = refusal(lambda: read_all(read_joshua, file, content))
    assert said is not None
    assert said.startswith(f"{file}{message}")


def test_the_two_formats_are_told_apart() -> None:
    first_edge = SMALL.index("a |||")
    for content in (SMALL, MOSES, SMALL[: SMALL.index("[0]")], SMALL[:first_edge], "1 0\n0\n", "0 0\n"):
        assert forest_text.looks_like(content.encode())
        assert not forest_text.looks_like_joshua(content.encode())
    assert forest_text.looks_like_joshua(JOSHUA.encode())
    assert not forest_text.looks_like(JOSHUA.encode())
    for content in ("", "\n", "0 ||| a ||| x=1", "12 34\n5 6\n", "(((", '{"nodes": []}', "0 hyp=0 stack=0\n"):
        assert not forest_text.looks_like(content.encode())
        assert not forest_text.looks_like_joshua(content.encode())


@settings(max_examples=300)
@given(edited(JOSHUA))
def test_the_reader_agrees_with_a_plain_parser(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.joshua"
    assert_agrees(read_joshua, path, content, lambda: [oracle.joshua(content).build()])
