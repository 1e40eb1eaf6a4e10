"""Hypergraphs of cdec and Travatar: what is read, and what is said of what is wrong."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from hulltune import Forest
from hulltune.formats import cdec_json
from hulltune.formats.cdec_json import read_cdec_json
from hulltune.formats.forest_files import ForestOptions, ForestReader
from hulltune.formats.travatar import read_travatar
from tests.formats import forest_writers
from tests.formats.plain_forests import assert_same, outputs, plain, read_all
from tests.formats.refusals import assert_refused, refusal
from tests.strategies import forests

CDEC = (
    '{"rules":[1,"[X] ||| das ||| the",2,"[X] ||| [X,1] haus ||| [1] house </s>",3,"[S] ||| [X,1] [X,2] ||| [2] [1]"],'
    '"features":["lm","tm"],'
    '"edges":[{"tail":[],"spans":[0,1,-1,-1],"feats":[0,-1.5,1,2],"rule":1},'
    '{"tail":null,"feats":["extra",0.25],"rule":"[X] ||| a"}],"node":{"in_edges":[0,1],"cat":"X"},'
    '"edges":[{"tail":[0],"feats":[0,-1],"rule":2}],"node":{"in_edges":[2]},'
    '"edges":[{"tail":[1,0],"feats":null,"rule":3}],"node":{"in_edges":[3],"cat":"S"}}\n'
)
TRAVATAR = (
    '{"nodes": [{"sym": "S", "span": [0, 2], "id": 0}, {"sym": null, "span": [1, 3], "id": 1, "edges": [1]}], '
    '"edges": [{"id": 0, "head": 0, "tails": [1], "trg": [{"words": ["-1", -1, "1984"]}], "features": {"lm": -3}}, '
    '{"id": 1, "head": 1, "trg": [{"words": ["x", "<unk>"]}], "features": {"lm": 1, "tm": 1e-3}}], '
    '"words": ["w0", "w1", "w2"]}\n'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "forest.json"


def test_repeated_keys_are_all_kept(file: Path) -> None:
    (named,) = read_all(read_cdec_json, file, CDEC, ForestOptions())
    assert (named.forest.nodes, named.forest.edges, named.name) == (3, 4, None)
    assert named.forest.feature_names == ("lm", "tm", "extra")
    assert named.forest.features.toarray().tolist() == [[-1.5, 2, 0], [0, 0, 0.25], [-1, 0, 0], [0, 0, 0]]
    assert set(outputs(named.forest)) == {
        ("the", "the", "house"), ("a", "the", "house"), ("the", "a", "house"), ("a", "a", "house"),
    }  # fmt: skip


def test_a_node_without_edges_is_a_leaf_in_cdec(file: Path) -> None:
    edge = '{"tail":[0],"feats":["f",1],"rule":"[1] a"}'
    lattice = f'{{"edges":[],"node":{{"in_edges":[]}},"edges":[{edge}],"node":{{"in_edges":[0]}}}}'
    (named,) = read_all(read_cdec_json, file, lattice)
    assert list(outputs(named.forest)) == [("a",)]


@pytest.mark.parametrize(
    "archive", [b"\x16\0\0\0\0\0\0\0serialization::archive\x0a\0", b"22 serialization::archive 10 "]
)
def test_a_binary_archive_is_told_what_to_do(file: Path, archive: bytes) -> None:
    assert cdec_json.looks_like(archive)
    said = refusal(lambda: read_all(read_cdec_json, file, gzip.compress(archive + b"\xff" * 99)))
    assert said == (
        f"{file}: a binary archive of cdec, whose layout changes from version to version; "
        "let cdec write forest text instead (--show_target_graph DIR)"
    )


def test_words_that_look_like_numbers_stay_words(file: Path) -> None:
    (named,) = read_all(read_travatar, file, TRAVATAR)
    assert list(outputs(named.forest)) == [("-1", "x", "w1", "w2", "1984")]
    assert named.forest.features.toarray().tolist() == [[1, 0.001], [-3, 0]]
    assert named.forest.feature_names == ("lm", "tm")


def test_an_unknown_rule_with_tails_passes_them_on(file: Path) -> None:
    (named,) = read_all(read_travatar, file, TRAVATAR.replace('["-1", -1, "1984"]', '["<unk>"]'))
    assert list(outputs(named.forest)) == [("x", "w1", "w2")]


def test_several_lines_and_options(file: Path) -> None:
    marked = TRAVATAR.replace('"x", ', '"<s>", ')
    first, second = read_all(read_travatar, file, TRAVATAR + marked, ForestOptions(negate=True))
    assert list(outputs(second.forest)) == [("-1", "w1", "w2", "1984")]
    assert first.forest.features.toarray().tolist() == [[-1, -0.001], [3, 0]]


def test_forests_over_several_blocks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 50, 1000):
        monkeypatch.setattr("hulltune.formats.streams.BLOCK", size)
        assert len(read_all(read_travatar, file, 3 * TRAVATAR)) == 3
        said = refusal(lambda: read_all(read_travatar, file, f"{TRAVATAR}{TRAVATAR}{{}}\n"))
        assert str(said).startswith(f"{file}:3: the hypergraph has no list of nodes (got None)")


def test_an_edge_without_a_target_puts_out_nothing(file: Path) -> None:
    record = {"nodes": [{"id": 0}], "edges": [{"head": 0}], "words": []}
    (named,) = read_all(read_travatar, file, json.dumps(record))
    assert list(outputs(named.forest)) == [()]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (CDEC, "[]", "got []; expected the JSON of a cdec hypergraph"),
        (CDEC, "{}", "no node; is the file cut off?"),
        ('"in_edges":[3]', '\n\n"in_edges":[4]', "node 2: no edge 4; expected edges before it"),
        ('"in_edges":[3]', '"in_edges":[3,2]', "node 2: no edge 2; expected edges before it, each in one node"),
        ('"in_edges":[2]', '"in_edges":[]', "edge 2 is in no node"),
        ('"node":{"in_edges":[2]}', '"node":[2]', "node 1: got [2]; expected an object"),
        ('"rules"', '"rulez"', "unknown key 'rulez'"),
        ('[1,"[X] |||', '[0,1,"[X] |||', "rules has an odd number of entries"),
        ('[1,"[X]', '["1","[X]', "rules has '1' and '[X] ||| das ||| the'; expected ids and rules in turn"),
        ('"rules":[', '"rules":[1],"rules":[', "rules has an odd number of entries"),
        ("[2] [1]", "[2] [0]", "rule '[S] ||| [X,1] [X,2] ||| [2] [0]' names tail 0"),
        ("[2] [1]", "[3] [1]", "edge 3: its rule names tail [3], beyond those that it has: [1, 0]"),
        (',"rule":3', "", "edge 3: rule None is not among the 3 before it; expected a hypergraph that cdec wrote with"),
        ('"features":["lm","tm"]', '"features":"lm"', "features is 'lm'; expected a list"),
        ('"features":["lm","tm"]', '"features":["lm","lm"]', "features has 'lm'; expected names, each once"),
        ('"tail":[1,0]', '"tail":[1,3]', "edge 3: no node 3; expected 0 to 2"),
        ('"tail":[1,0]', '"tail":[1,-1]', "edge 3: tail has -1; expected a list of numbers"),
        ('"tail":[1,0]', '"tail":[1,2]', "the forest has a cycle"),
        ('"tail":[0],', '"tail":[0],"tail":[0],', "edge 2: a key occurs twice: {'tail': [0]"),
        ("0,-1.5,1,2", "0,-1.5,1", "edge 0: feats has an odd number of entries"),
        ("0,-1.5,1,2", "0,-1.5,2,2", "edge 0: no feature 2"),
        ("0,-1.5,1,2", "0,-1.5,0,2", "edge 0: feature 'lm' occurs twice"),
        ("0,-1.5,1,2", '0,"1",1,2', "edge 0: feature 'lm' is '1'; expected a finite number"),
        ("0,-1.5,1,2", '0,-1.5,"\\ud800",2', "the feature name '\\ud800' has a lone surrogate"),
        ("the", "\\udc00", "the word '\\udc00' has a lone surrogate"),
        (TRAVATAR, '{"nodes": 1}', "the hypergraph has no list of nodes (got 1)"),
        (TRAVATAR, "\n", "blank line; expected the JSON of a hypergraph"),
        ('"id": 1, "edges"', '"id": 0, "edges"', "nodes, item 1: a second node with the id 0"),
        ('"id": 0}, {"sym"', '"id": 2}, {"sym"', "no node has the id 0"),
        ('"id": 0}, {"sym"', '"id": true}, {"sym"', "nodes, item 0: {'sym': 'S', 'span': [0, 2], 'id': True} has"),
        ('"tails": [1]', '"tails": [2]', "edge 0: no node 2; expected one of the 2 nodes by its id"),
        ('"tails": [1]', '"tails": [0]', "the forest has a cycle"),
        ('"head": 1', '"head": 99999999999999999999', "edge 1: no node 99999999999999999999; expected one of"),
        ('"head": 1, ', "", "edge 1: no node None; expected one of"),
        ('"head": 1', '"head": "1"', "edge 1: no node '1'"),
        ('"head": 1', '"head": 1, "h\\u0065ad": 1', "edge 1: a key occurs twice: {'id': 1, 'head': 1, 'trg'"),
        ('{"lm": -3}', '{"": -3}', "edge 0: a feature name is empty"),
        ('{"lm": -3}', "[1]", "edge 0: got [1]; expected an object"),
        ('{"lm": -3}', '{"lm": 1e400}', "edge 0: feature 'lm' is inf; expected a finite number"),
        ('["-1", -1,', '["-1", -2,', "edge 0: -2 in its words; expected a text, or −1, −2, … for one of its tails"),
        ('["-1", -1,', '["a b", -1,', "the word 'a b' is empty or has white space"),
        ('"span": [1, 3]', '"span": 1', "edge 1: puts out <unk>, but its head has the span 1"),
        ("[1, 3]", "[1, 4]", "edge 1: puts out <unk>, but its head has the span [1, 4]; expected the first and"),
        ('"words": ["w0"', '"wordz": ["w0"', "edge 1: puts out <unk>; expected source words"),
    ],
)
def test_what_is_wrong_with_a_hypergraph(file: Path, old: str, new: str, message: str) -> None:
    """Of cdec where it has the part that is changed; otherwise on the second line of Travatar."""
    if old in CDEC:
        assert_refused(lambda: read_all(read_cdec_json, file, CDEC.replace(old, new)), f"{file}:1: {message}")
    else:
        lines = TRAVATAR + TRAVATAR.replace(old, new)
        assert_refused(lambda: read_all(read_travatar, file, lines), f"{file}:2: {message}")


@pytest.mark.parametrize(
    ("reader", "before", "after"),
    [(read_cdec_json, *CDEC.split("[0,1,-1,-1]")), (read_travatar, *TRAVATAR.split("[1, 3]"))],
)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("1" + "0" * 5000, "a whole number of thousands of digits"),
        ('"\\x"', "Invalid \\escape"),
        ('"\t"', "Invalid control character at"),
        ("01", "Expecting ',' delimiter"),
        ("", "Expecting value"),
    ],
)
def test_what_is_no_json(file: Path, reader: ForestReader, before: str, after: str, value: str, message: str) -> None:
    """Any value of the file, also one that is passed over."""
    said = str(refusal(lambda: read_all(reader, file, before + value + after)))
    assert said.startswith(f"{file}:1: no JSON: {message}")
    assert "; expected the JSON of a" in said
    cut_off = str(refusal(lambda: read_all(reader, file, before)))
    assert cut_off.startswith(f"{file}:1: no JSON: Expecting value (is the file cut off?); expected the JSON")


@given(forests())
def test_random_forests(tmp_path_factory: pytest.TempPathFactory, forest: Forest) -> None:
    path = tmp_path_factory.getbasetemp() / "random.json"
    for reader, content in (
        (read_cdec_json, forest_writers.cdec_json(plain(forest))),
        (read_cdec_json, forest_writers.cdec_json(plain(forest), names_first=False)),
        (read_travatar, forest_writers.travatar_json(plain(forest))),
    ):
        (named,) = read_all(reader, path, content)
        if reader is read_travatar:
            assert sorted(outputs(named.forest)) == sorted(outputs(forest))
        else:
            assert_same(named.forest, forest)


def test_nodes_in_any_order(file: Path) -> None:
    line = (
        '{"words": [], "nodes": [{"id": 7}, {"id": 1000000000}, {"id": 0}], "edges": ['
        '{"head": 0, "tails": [1000000000, 7], "trg": [{"words": [-2, -1]}]}, '
        '{"head": 7, "trg": [{"words": ["a"]}]}, {"head": 1000000000, "trg": [{"words": ["b"]}]}]}'
    )
    (named,) = read_all(read_travatar, file, line)
    assert list(outputs(named.forest)) == [("a", "b")]
    for unknown in ("1", "8", "1000000001"):
        said = refusal(partial(read_all, read_travatar, file, line.replace('"head": 7', f'"head": {unknown}')))
        assert said == f"{file}:1: edge 1: no node {unknown}; expected one of the 3 nodes by its id"


def test_the_sign_of_zero(file: Path) -> None:
    """A whole number has no sign of zero, as in Python."""
    for content, reader in (
        (CDEC.replace("0,-1.5,1,2", "0,-0,1,-0.0"), read_cdec_json),
        (TRAVATAR.replace('{"lm": 1, "tm": 1e-3}', '{"lm": -0, "tm": -0e0}'), read_travatar),
    ):
        (named,) = read_all(reader, file, content)
        assert np.signbit(named.forest.features.toarray()[0, :2]).tolist() == [False, True]
