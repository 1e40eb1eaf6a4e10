"""Search graphs of Moses and PLF: what is read, and what is said of what is wrong."""

from __future__ import annotations

import ast
import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.formats import plf
from hulltune.formats.forest_files import ForestOptions
from hulltune.formats.moses_graph import read_moses_graph
from hulltune.formats.plf import read_plf
from tests.formats import forest_writers
from tests.formats.edits import edited
from tests.formats.plain_forests import PlainEdge, PlainForest, assert_same, outputs, read_all
from tests.formats.refusals import assert_refused, refusal

PLAIN = """0 hyp=0 stack=0
0 hyp=1 stack=1 back=0 score=-0.5 transition=-0.5 forward=3 fscore=-3.1 covered=0-0 out=I am\x20
0 hyp=2 stack=1 back=0 score=-0.7 transition=-0.7 recombined=1 forward=3 fscore=-3.1 covered=0-0 out=i was\x20
0 hyp=3 stack=2 back=1 score=-1.5 transition=-1.0 forward=-1 fscore=0 covered=1-1 out=here ,\x20
2 hyp=0 stack=0
2 hyp=7 stack=1 back=0 score=-2 transition=-2 forward=-1 fscore=0 covered=0-0 out=
"""
STEP = "stack=1 back=0 score=-0.5 transition=-0.5"
EXTENDED = f"""4 hyp=0 stack=0 forward=1 fscore=-3
4 hyp=1 {STEP} forward=-1 fscore=-3 covered=0-0 scores="core=(0.5,-1.25,2e-3) a=1 b=2" out="ich|I "
4 hyp=2 {STEP} recombined=1 forward=-1 fscore=-3 covered=0-0 scores="core=(0,0,1) " out="ich bin|I am"
"""
BRACKETS = f"""5 hyp=0 stack=0
5 hyp=47 {STEP} forward=-1 fscore=-9 covered=2-2 scores=[ d: -2 w: -1 d: 0.5 0.25 ] out=70|contributes 70
5 hyp=47 {STEP} recombined=47 forward=-1 fscore=-9 covered=2-2 scores=[ d: 1 w: 2 d: 3 4 ] out=70|over 70
"""
LATTICE = "((('ein',0.5,1),('eines',0.25,2),),(('haus',1,1),),)\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lattice"


def test_a_plain_search_graph(file: Path) -> None:
    first, second = read_all(read_moses_graph, file, PLAIN)
    assert (first.name, second.name) == ("0", "2")
    assert list(outputs(first.forest)) == [("I", "am", "here", ","), ("i", "was", "here", ",")]
    assert first.forest.feature_names == ("transition",)
    assert first.forest.features.toarray()[:, 0].tolist() == [0, -0.5, -0.7, -1, 0]
    assert list(outputs(second.forest)) == [()]


def test_costs_after_the_words_of_old_versions_are_passed_over(file: Path) -> None:
    old = PLAIN.replace("out=I am ", "out=I am , pC=-0.40, c=-0.98").replace("here , ", "here , , pC=-0.6, c=-1.0")
    first, _ = read_all(read_moses_graph, file, old)
    assert list(outputs(first.forest)) == [("I", "am", "here", ","), ("i", "was", "here", ",")]


def test_an_extended_search_graph(file: Path) -> None:
    (named,) = read_all(read_moses_graph, file, EXTENDED)
    assert list(outputs(named.forest)) == [("I",), ("I", "am")]
    assert named.forest.feature_names == ("core_0", "core_1", "core_2", "a", "b")
    assert named.forest.features.toarray()[1:3].tolist() == [[0.5, -1.25, 0.002, 1, 2], [0, 0, 1, 0, 0]]
    angles = EXTENDED.replace("core=(0.5,-1.25,2e-3)", "<<0.5, -1.25, 2e-3>>").replace("core=(0,0,1)", "<<0, 0, 1>>")
    (other,) = read_all(read_moses_graph, file, angles)
    assert_same(other.forest, named.forest)


@pytest.mark.parametrize("content", [PLAIN, EXTENDED])
def test_fields_in_any_order(file: Path, content: str) -> None:
    """Lines that are not as Moses writes them today are read in another way, with the same result."""
    expected = read_all(read_moses_graph, file, content)
    for other in (
        content.replace(" back=", "\tback="),
        content.replace(" covered=", " more=x covered="),
        re.sub(r"(hyp=\d+) (stack=\S+)", r"\2 \1", content),
        re.sub(r"(forward=\S+) (fscore=\S+)", r"\2 forward=7 \1", content),  # the last counts
    ):
        assert other != content
        for one, same in zip(read_all(read_moses_graph, file, other), expected, strict=True):
            assert_same(one.forest, same.forest)


def test_labelled_scores_of_old_versions(file: Path) -> None:
    (named,) = read_all(read_moses_graph, file, BRACKETS)
    assert list(outputs(named.forest)) == [("contributes", "70"), ("over", "70")]
    assert named.forest.feature_names == ("d_0", "w", "d_1", "d_2")
    assert named.forest.features.toarray()[1:3].tolist() == [[-2, -1, 0.5, 0.25], [1, 2, 3, 4]]
    without_key = BRACKETS.replace("scores=", "").replace("out=70|", "out=")
    (other,) = read_all(read_moses_graph, file, without_key)
    assert_same(other.forest, named.forest)


def test_a_sentence_that_could_not_be_translated(file: Path) -> None:
    nothing, _, _ = read_all(read_moses_graph, file, "9 hyp=0 stack=0\n" + PLAIN)
    assert (nothing.name, nothing.forest.edges, nothing.forest.feature_names) == ("9", 0, ())


def test_sentences_over_several_blocks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_all(read_moses_graph, file, PLAIN + EXTENDED)
    for size in (1, 50, 200, 1000):
        monkeypatch.setattr("hulltune.formats.streams.BLOCK", size)
        parts = read_all(read_moses_graph, file, PLAIN + EXTENDED)
        assert [named.name for named in parts] == [named.name for named in whole]
        for one, other in zip(parts, whole, strict=True):
            assert_same(one.forest, other.forest)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1: no search graph in the file"),
        ("# hello\n", ":1: '# hello'; expected '0 hyp=1 stack=1 back=0 …'"),
        ("0 123->45 X => a b [0..1] [total=-1] core=(1)\n", ":1: '123->45' is no field"),
        (PLAIN.replace("2 hyp=7", "x hyp=7"), ":6: 'x hyp=7 stack=1"),
        (PLAIN.replace("hyp=2 ", "hyp=two "), ":3: 'hyp=two' is not a whole number from 0"),
        (PLAIN.replace("hyp=2 ", ""), ":3: no field hyp="),
        (PLAIN.replace("back=1 ", ""), ":4: no field back="),
        (PLAIN.replace("back=1 ", "back=5 "), ":4: back=5, but this sentence has no such node"),
        (PLAIN.replace("back=1 ", "back=3 "), ":1: the forest has a cycle: 3 → 3"),
        (PLAIN.replace("out=i was ", ""), ":3: no field out="),
        (PLAIN.replace("transition=-0.7 ", ""), ":3: neither transition= nor scores="),
        (PLAIN.replace("transition=-0.7 ", "transition= "), ":3: feature 'transition' is ''; expected a finite"),
        (PLAIN.replace("stack=2 ", "stack "), ":4: 'stack' is no field; expected 'key=value'"),
        (PLAIN.replace("forward=-1", "forward=8"), ":4: forward=8, but this sentence has no such hypothesis"),
        (PLAIN[: PLAIN.index("0 hyp=3")], ":2: forward=3, but this sentence has no such hypothesis"),
        (PLAIN.replace("forward=-1 fscore=0 covered=1", "covered=1"), ":4: no hypothesis of this sentence is complete"),
        (
            EXTENDED.replace("=-3\n", '=-3 scores="core=(1,2,3)"\n', 1),
            ":1: no field back=, which only a bare hypothesis 0 may lack",
        ),
        (EXTENDED.replace(' out="ich|I "', ""), ":2: no field out="),
        (EXTENDED.replace("core=(0,0,1)", "core=(0,1)"), ":3: its scores differ in number or kind"),
        (EXTENDED.replace("core=(0,0,1)", "cor=(0,0,1)"), ":3: its scores cannot be read"),
        (EXTENDED.replace(" out=", ' scores="core=(0)" out='), ":2: its scores cannot be read"),
        (EXTENDED.replace('scores="', "scores="), ":2: its scores cannot be read"),
        (EXTENDED.replace("a=1 b=2", "a=1 b"), ":2: 'b' is no feature; expected 'name=value'"),
        (EXTENDED.replace("a=1 b=2", "a=1 a=2"), ":2: feature 'a' occurs twice"),
        (EXTENDED.replace("a=1 b=2", "a=1 core_1=2"), ":2: feature 'core_1' occurs twice"),
        (EXTENDED.replace("ich|I", "ich|PRO|I|PRO"), ":2: 3 of '|' in out=; expected 'source|target'"),
        (BRACKETS.replace("[ d: 1 w:", "[ d: 1 v:"), ":3: its scores differ in number or kind"),
    ],
)
def test_what_is_wrong_with_a_search_graph(file: Path, content: str | bytes, message: str) -> None:
    assert_refused(lambda: read_all(read_moses_graph, file, content), f"{file}{message}")


# PLF


def test_lattices_of_tuples(file: Path) -> None:
    spaced = "( ( ( 'a' , -1e-3 , 2 , 1 ) , ) , ( (u\"it's\",3,x=4,1), ('\\\\\\'\\x41\\u00e9',3,4.5,1) ) )\n"
    spaced = spaced.replace("2 , 1", "2 , x=9 , 1").replace('(u"it\'s",3,x=4,1)', '(u"it\'s",3,1,1)')
    first, second, third = read_all(read_plf, file, LATTICE + "()\n" + spaced, ForestOptions())
    assert set(outputs(first.forest)) == {("eines",), ("ein", "haus")}
    assert first.forest.feature_names == ("score",)
    assert list(outputs(second.forest)) == [()]
    assert set(outputs(third.forest)) == {("a", "it's"), ("a", "\\'Aé")}
    assert third.forest.feature_names == ("score_0", "score_1", "x")


def test_confusion_networks_and_words_that_are_not_output(file: Path) -> None:
    network = "((('a', 0.1),('*EPS*', 0.9)),(('b', -.5),('',1)))\n"
    (named,) = read_all(read_plf, file, network, ForestOptions())
    assert set(outputs(named.forest)) == {("a", "b"), ("a",), ("b",), ()}
    (whole,) = read_all(read_plf, file, network)
    assert ("*EPS*",) in set(outputs(whole.forest))


DICTS = "((('a',{'F1':0.5,'F2':-1e3},1),('b',{\"F2\":2},2),),(('c',{},1),),)\n"


@pytest.mark.parametrize(
    "content",
    [
        DICTS,
        DICTS.replace(",", " ,\t").replace(":", " : ").replace("{", " { ").replace("}", " } "),
        DICTS.replace("'F1'", "u'F1'").replace("'F2'", "F2"),
        DICTS.replace("2}", "2, }").replace("}, 2)", "}, 2, )"),
        DICTS.replace("'F1':0.5,", "").replace("{'F2':-1e3}", "{'F1':0.5},{'F2':-1e3}"),
    ],
)
def test_arcs_of_cdec_with_a_dict_of_features(file: Path, content: str) -> None:
    assert plf.looks_like(content.encode())
    (named,) = read_all(read_plf, file, content)
    assert named.forest.feature_names == ("F1", "F2")
    assert named.forest.features.toarray().tolist() == [[0, 0], [0.5, -1000], [0, 2], [0, 0]]
    assert sorted(outputs(named.forest)) == [("a", "c"), ("b",)]


def test_dicts_beside_scores_and_names(file: Path) -> None:
    lines = "((('a',0.5,x=3,{'F':1},1),('b',0.25,{'F':2,'x':4},1),),)\n((('a',0.5,{'it\\'s{}':1}),),)\n"
    both, network = read_all(read_plf, file, lines)
    assert both.forest.feature_names == ("score", "x", "F")
    assert both.forest.features.toarray().tolist() == [[0, 0, 0], [0.5, 3, 1], [0.25, 4, 2]]
    assert network.forest.feature_names == ("score", "it's{}")
    assert network.forest.features.toarray().tolist() == [[0, 0], [0.5, 1]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("((('a',{'F':1,'F':2},1),),)", "feature 'F' occurs twice"),
        ("((('a',F=1,{'F':2},1),),)", "feature 'F' occurs twice"),
        ("((('a',1,{'score':2},1),),)", "feature 'score' occurs twice"),
        ("((('a',{'F':},1),),)", "feature 'F' is ''; expected a finite number"),
        ("((('a',{'F'},1),),)", "arc 1: expected features as {'name': value, …}"),
        ("((('a',{'':1},1),),)", "'=1' is no feature; expected 'name=value'"),
        ("((('a',{'F G':1},1),),)", "'F G' has white space in it; expected none in a word or name"),
        ("((('a',{'F':1},0),),)", "arc 1: expected the distance to a later node, a whole number from 1"),
        ("((('a',{'F':1,1),),)", "expected an arc, ('word', score, …, distance) at character 3"),
        ("((('a',{__import__('os'):1},1),),)", "arc 1: expected features as {'name': value, …}"),
        ("((('a',1,1),('b',{'F':1},1)),)", "arc 2: 0 score(s), unlike the 1 of the first arc"),
    ],
)
def test_what_is_wrong_with_a_dict(file: Path, line: str, message: str) -> None:
    assert_refused(lambda: read_all(read_plf, file, f"{LATTICE}{line}\n{LATTICE}"), f"{file}:2: {message}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected '(' or ')' at character 1, where the line ends"),
        ("hello", "expected '(' or ')' at character 1, before 'hello'"),
        ("(", "expected '(' or ')' at character 2, where the line ends (is it cut off?)"),
        ("(,)", "expected '(' or ')' at character 2, before ',)'"),
        ("((('a',1,1)('b',1,1)))", "expected ',' or ')' at character 12"),
        ("((('a',1,1),)(('b',1,1),))", "expected ',' or ')' at character 14"),
        ("(((a,1,1),),)", "expected an arc, ('word', score, …, distance) at character 3, before '(a,1,1),),)'"),
        ("((('a,1,1),),)", "expected an arc, ('word', score, …, distance) at character 3"),
        ("((('a'),),)", "expected an arc, ('word', score, …, distance) at character 3"),
        ("((('a',),),)", "arc 1: expected a score and a distance after the word"),
        ("((('a',1,0),),)", "arc 1: expected the distance to a later node, a whole number from 1"),
        ("((('a',1,1.0),),)", "arc 1: expected the distance to a later node"),
        ("((('a',1,99999999999999999999),),)", "arc 1: leads from node 0 over"),
        ("((('a',1,2),),)", "arc 1: leads from node 0 over 2 nodes, but the lattice ends at node 1"),
        ("((('a',one,1),),)", "feature 'score' is 'one'; expected a finite number"),
        ("((('a',1,=2,1),),)", "'=2' is no feature"),
        ("((('a',1,x=2,3,1),),)", "'3' is no feature"),
        ("((('a',1,x=2,x=3,1),),)", "feature 'x' occurs twice"),
        ("((('a',1,score=3,1),),)", "feature 'score' occurs twice"),
        ("((('a',1,1),('b',1,2,1)),)", "arc 2: 2 score(s), unlike the 1 of the first arc"),
        ("((('a b',1,1),),)", "'a b' has white space in it"),
        ("((('a\\x20b',1,1),),)", "'a b' has white space in it"),
        ("((('\\ud800',1,1),),)", "'\\ud800' has a lone surrogate"),
        ("((('\\Uffffffff',1,1),),)", "'\\\\Uffffffff' has an escape that is no character"),
        ("((('a',1,1),),) 7", "expected the line to end after the lattice at character 17, before '7'"),
        ("__import__('os').system('true')", "expected '(' or ')' at character 1"),
        ("(" * 100_000, "expected an arc, ('word', score, …, distance) at character 3"),
    ],
)
def test_what_is_wrong_with_a_lattice(file: Path, line: str, message: str) -> None:
    assert_refused(lambda: read_all(read_plf, file, f"{LATTICE}{line}\n{LATTICE}"), f"{file}:2: {message}")


def test_more_that_is_wrong_with_a_lattice(file: Path) -> None:
    assert "no lattice in the file" in str(refusal(lambda: read_all(read_plf, file, "")))
    said = refusal(lambda: read_all(read_plf, file, LATTICE.encode().replace(b"haus", b"h\xff")))
    assert said == f"{file}:1: not UTF-8 (byte 0xff); convert the file to UTF-8"
    for length in range(len(LATTICE) - 1):
        assert refusal(partial(read_all, read_plf, file, LATTICE[:length])) is not None


@st.composite
def lattices(draw: st.DrawFn, words: int, width: int) -> PlainForest:
    """Nodes 0 to n in a row with edges forward, each with some words; every node has an edge in and out."""
    nodes = draw(st.integers(2, 6))
    pairs = [(node, node + 1) for node in range(nodes - 1)]
    pairs += draw(
        st.lists(
            st.tuples(st.integers(0, nodes - 2), st.integers(1, nodes - 1)).filter(lambda p: p[0] < p[1]), max_size=8
        )
    )
    values = st.floats(allow_nan=False, allow_infinity=False)
    lattice = PlainForest(nodes, nodes - 1)
    for tail, head in sorted(pairs, key=lambda pair: pair[1]):
        count = words if words == 1 else draw(st.integers(0, words))
        output: list[str | int] = [
            0,
            *draw(st.lists(st.sampled_from(["a", "bé", "c'"]), min_size=count, max_size=count)),
        ]
        row = draw(st.lists(values, min_size=width, max_size=width))
        names = ["score"] if width == 1 else [f"score_{k}" for k in range(width)]
        lattice.edges.append(PlainEdge(head, [tail], output, dict(zip(names, row, strict=True))))
    return lattice


@given(lattices(1, 2))
def test_random_lattices_as_plf(tmp_path_factory: pytest.TempPathFactory, lattice: PlainForest) -> None:
    (named,) = read_all(read_plf, tmp_path_factory.getbasetemp() / "random.plf", forest_writers.plf(lattice))
    lattice.edges = [edge for node in range(lattice.nodes) for edge in lattice.edges if edge.tails == [node]]
    lattice.edges.append(PlainEdge(0, [], [], {}))
    assert_same(named.forest, lattice.build())


@given(lattices(3, 3), st.booleans())
def test_random_search_graphs(tmp_path_factory: pytest.TempPathFactory, lattice: PlainForest, extended: bool) -> None:
    """The last node of the lattice is the one complete state; the root stands above it."""
    lattice.edges.append(PlainEdge(lattice.nodes, [lattice.nodes - 1], [0], {}))
    lattice.nodes += 1
    lattice.root = lattice.nodes - 1
    content = forest_writers.moses_graph(lattice, 3, extended=extended)
    (named,) = read_all(read_moses_graph, tmp_path_factory.getbasetemp() / "random.osg", content)
    names = {"score_0": "core_0", "score_1": "core_1", "score_2": "last"} if extended else {"score_0": "transition"}
    for edge in lattice.edges:
        edge.features = {names[name]: value for name, value in edge.features.items() if name in names}
    lattice.edges.append(PlainEdge(0, [], [], {}))
    assert_same(named.forest, lattice.build())


@settings(max_examples=400)
@given(edited(LATTICE))
def test_what_python_takes_for_a_lattice_is_one(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.plf"
    said = refusal(partial(read_all, read_plf, path, content))
    assert said is None or (said.startswith(f"{path}:") and "\n" not in said)
    lines = content.removesuffix("\n").split("\n")
    expected = [as_python_has_it(line) for line in lines]
    if all(lattice is not None for lattice in expected) and content.strip():
        assert said is None
        for named, lattice in zip(read_all(read_plf, path, content), expected, strict=True):
            assert lattice is not None
            assert_same(named.forest, lattice.build())


def as_python_has_it(line: str) -> PlainForest | None:
    """The lattice that Python's parser finds on a line; None unless its arcs have a word, a score and a distance."""
    try:
        nodes = ast.literal_eval(line.strip(" \t\r"))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    if not isinstance(nodes, tuple) or any(mark in line for mark in "\\_[{#jJ\x00") or "True" in line:
        return None
    lattice = PlainForest(len(nodes) + 1, len(nodes))
    for tail, node in enumerate(nodes):
        for arc in node if isinstance(node, tuple) else [None]:
            if (
                not isinstance(arc, tuple)
                or len(arc) != 3
                or not isinstance(arc[0], str)
                or not isinstance(arc[2], int)
            ):
                return None
            word, score, distance = arc
            if not isinstance(score, int | float) or not 1 <= distance <= len(nodes) - tail or word.split() != [word]:
                return None
            lattice.edges.append(PlainEdge(tail + distance, [tail], [0, word], {"score": float(score)}))
    lattice.edges.append(PlainEdge(0, [], [], {}))
    return lattice
