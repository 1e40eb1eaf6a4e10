"""HTK's standard lattice format: what is read, what is written, and what is said of a file at fault."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError
from hulltune.data import Forest
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.slf import read_slf, write_slf
from hulltune.formats.word_rules import SPEECH
from tests.formats.lattice_oracles import Lattice, PathOf, forest_paths, kept, read_all, slow_slf
from tests.formats.lattice_strategies import lattices, numerals
from tests.formats.refusals import refusal

ON_NODES = """VERSION=1.0
UTTERANCE=u1
lmscale=9.5  wdpenalty=-10
# a comment
start=3 end=0
N=4\tL=4
I=0\tt=1.20\tW=!SENT_END
I=1\tt=0.90\tW=there(2)
I=2\tt=0.50\tW=hello
I=3\tt=0.00\tW=!SENT_START
J=0\tS=1\tE=0\ta=-1.5\tl=-2\tp=0.5
J=1\tS=2\tE=0\ta=-3\tl=-0.25\tp=0.5
J=2\tS=2\tE=1\ta=-0.125\tl=-4\tp=0.5
J=3\tS=3\tE=2\ta=-7\tl=-1e1\tp=1
"""
ON_LINKS = """VERSION=1.0
N=3 L=3
I=0
I=1
I=2
J=0 S=0 E=1 W=ok a=1 l=2 n=3 r=4 x1=5
J=1 S=0 E=1 W=++NOISE++ a=1
J=2 S=1 E=2 W=!NULL n=-1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.slf"


def one(file: Path, content: str, **options: object) -> NamedForest:
    (named,) = read_all(read_slf, file, content, **options)
    return named


def test_words_on_nodes_are_put_out_by_the_links_that_enter_them(file: Path) -> None:
    named = one(file, ON_NODES)
    assert named.name == "u1"
    assert named.forest.feature_names == ("acoustic", "language", "words")
    assert forest_paths(named.forest) == {
        (("hello", "there"), ((-7.0, -10.0, 1.0), (-0.125, -4.0, 1.0), (-1.5, -2.0, 0.0))): 1,
        (("hello",), ((-7.0, -10.0, 1.0), (-3.0, -0.25, 0.0))): 1,
    }
    assert (named.forest.nodes, named.forest.edges) == (4, 5)


def test_words_on_links_and_fields_that_are_left_out(file: Path) -> None:
    named = one(file, ON_LINKS)
    assert named.name is None
    assert named.forest.feature_names == ("acoustic", "language", "ngram", "pronunciation", "x1", "words")
    assert forest_paths(named.forest) == {
        (("ok",), ((1.0, 2.0, 3.0, 4.0, 5.0, 1.0), (0.0, 0.0, -1.0, 0.0, 0.0, 0.0))): 1,
        ((), ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, -1.0, 0.0, 0.0, 0.0))): 1,
    }


def test_a_link_without_a_word_of_its_own_has_that_of_its_node(file: Path) -> None:
    text = "VERSION=1.0\nN=2 L=1\nI=0\nI=1 W=second\nJ=0 S=0 E=1 W=!NULL a=-1\n"
    assert forest_paths(one(file, text).forest) == {(("second",), ((-1.0, 1.0),)): 1}


def test_a_word_on_the_start_node_is_put_out_and_counted(file: Path) -> None:
    text = "VERSION=1.0\nN=2 L=1\nI=0 W=first\nI=1 W=second\nJ=0 S=0 E=1 a=-1\n"
    assert forest_paths(one(file, text).forest) == {(("first", "second"), ((0.0, 1.0), (-1.0, 1.0))): 1}


def test_the_words_that_are_dropped_can_be_named(file: Path) -> None:
    kept = one(file, ON_NODES, drop=frozenset())
    assert {words for words, _ in forest_paths(kept.forest)} == {
        ("!SENT_START", "hello", "there", "!SENT_END"),
        ("!SENT_START", "hello", "!SENT_END"),
    }
    none = one(file, ON_NODES, drop=frozenset({"!SENT_START", "!SENT_END", "hello"}))
    assert {words for words, _ in forest_paths(none.forest)} == {("there",), ()}
    assert {words for words, _ in forest_paths(one(file, ON_LINKS, drop=frozenset()).forest)} == {
        ("ok",),
        ("++NOISE++",),
    }


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("hello(2)", "hello"), ("'em", "'em"), ("'cause(3)", "'cause"), ('"new york"', "new york"), ('"a"', "a"),
        ("'a'", "a"), (r"\'em", "'em"), (r"caf\351", "café"), ("(2)", "(2)"), ('"', '"'), ("x=y", "x=y"),
        ("été", "été"), ('"open', '"open'), (r"b\0502)", "b(2)"),
    ],
)  # fmt: skip
def test_quotes_escapes_and_variants(file: Path, written: str, word: str) -> None:
    text = f"VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W={written} a=-1\n"
    assert forest_paths(one(file, text).forest) == {((word,), ((-1.0, 1.0),)): 1}


@pytest.mark.parametrize(
    "filler", ["<s>", "</s>", "!NULL", "<sil>", "++UM++", "[COUGH]", "!SENT_END", "SIL", "<eps>", "#0"]
)
def test_what_is_no_word_by_default(file: Path, filler: str) -> None:
    text = f"VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W={filler} a=-1\n"
    assert forest_paths(one(file, text).forest) == {((), ((-1.0, 0.0),)): 1}


def test_logarithms_to_another_base(file: Path) -> None:
    ten = one(file, ON_LINKS.replace("N=3", "base=10 N=3")).forest
    plain = one(file, ON_LINKS).forest
    scale = np.array([math.log(10)] * 5 + [1.0])
    assert np.array_equal(ten.features.toarray(), plain.features.toarray() * scale)
    for natural in ("2.718", "2.71828183", "2.7182818284590451"):
        forest = one(file, ON_LINKS.replace("N=3", f"base={natural} N=3")).forest
        assert np.array_equal(forest.features.toarray(), plain.features.toarray())


def test_probabilities_that_are_no_logarithms(file: Path) -> None:
    text = "VERSION=1.0 base=0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=0.5\n"
    assert forest_paths(one(file, text).forest) == {(("a",), ((math.log(0.5), 1.0),)): 1}
    with pytest.raises(InputError, match=r"a\.slf:5: feature 'acoustic' is 0\.0; base=0 says it is a probability"):
        one(file, text.replace("0.5", "0"))


def test_scores_of_nodes_are_those_of_the_links_that_have_none(file: Path) -> None:
    text = "VERSION=1.0\nN=3 L=2\nI=0 a=7\nI=1 a=5 W=x\nI=2 a=6\nJ=0 S=0 E=1\nJ=1 S=1 E=2 a=-1\n"
    assert forest_paths(one(file, text).forest) == {(("x",), ((5.0, 1.0), (-1.0, 0.0))): 1}
    backward = one(file, text.replace("N=3", "dir=b N=3"))
    assert forest_paths(backward.forest) == {(("x",), ((7.0, 1.0), (-1.0, 0.0))): 1}


def test_node_numbers_need_not_be_dense_or_ordered(file: Path) -> None:
    text = ON_NODES.replace("start=3 end=0", "start=900 end=77")
    for old, new in (("0", "77"), ("3", "900"), ("1", "5"), ("2", "123456789012")):
        for key in "ISE":
            text = text.replace(f"{key}={old}\t", f"{key}=<{new}>\t")
    text = text.replace("<", "").replace(">", "")
    assert forest_paths(one(file, text).forest) == forest_paths(one(file, ON_NODES).forest)


def test_a_cycle_is_told_by_the_numbers_of_the_nodes(file: Path) -> None:
    text = "VERSION=1.0\nstart=30 end=7\nN=3 L=3\nI=30\nI=20\nI=7\nJ=0 S=30 E=20\nJ=1 S=20 E=7\nJ=2 S=7 E=20\n"
    with pytest.raises(InputError, match=r"a\.slf: the forest has a cycle: (20 → 7 → 20|7 → 20 → 7); expected"):
        one(file, text)


def changed(old: str, new: str, text: str = ON_NODES) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.slf: the file is empty"),
        ("hello world\n", "a.slf:1: expected key=value, got 'hello'"),
        (changed("N=4\tL=4\n", ""), "a.slf: no N= in the header"),
        (changed("N=4", "N=5"), r"a.slf: N=5 in the header, but the file has 4 nodes \(I=\); is it cut off"),
        (changed("L=4", "L=99999999999"), "a.slf: L=99999999999 in the header, but the file has 4 links"),
        (changed("S=1\tE=0", "S=9\tE=0"), "a.slf:11: a link to or from node 9, which has no I= line"),
        (changed("start=3", "start=8"), "a.slf: start=8 in the header, but there is no node I=8"),
        (changed("end=0", "end=x"), "a.slf: end=x in the header, but there is no node I=x"),
        (changed("start=3 end=0\n", "").replace("S=3\tE=2", "S=0\tE=2"), "a.slf: the forest has a cycle: 0 → 2 → 1"),
        (changed("S=3\tE=2", "S=0\tE=3") + "", "a.slf: no path leads from the start state to a final one"),
        (changed("a=-3", "a="), "a.slf:12: feature 'acoustic' is ''; expected a finite number"),
        (changed("a=-3", "a=-3 a=4"), r"a.slf:12: got 'J=1\\tS=2\\tE=0\\ta=-3 a=4.* fields key=value, each once"),
        (changed("a=-3", "a=-3 acoustic=4"), "a.slf:12: got"),
        (changed("a=-3", "oops"), "a.slf:12: got"),
        (changed("S=1\tE=0", "S=1"), "a.slf:11: got .*; expected a node 'I=0 …' or a link 'J=0 S=0 E=1 …'"),
        (changed("S=1\tE=0", "S=-1\tE=0"), "a.slf:11: got .* whole numbers from 0"),
        (changed("S=1\tE=0", "S=1\tS=2\tE=0"), "a.slf:11: got"),
        (changed("W=hello", "W="), "a.slf:9: got .* a word for W= .!NULL for none."),
        (changed("W=hello", "L=sub"), r"a.slf:9: lattices within lattices \(L= on a node\) are not supported"),
        (changed("UTTERANCE", "SUBLAT"), r"a.slf:2: lattices within lattices \(SUBLAT=\) are not supported"),
        (changed("J=0\tS=1\tE=0", "J=0\tS=1\tE=0\tW=there"), "a.slf:8: a word on a node, though links have words too"),
        (changed("I=1", "I=0"), "a.slf:8: a second node I=0"),
        (ON_NODES + ON_NODES, "a.slf:15: a second VERSION=; expected one lattice a file"),
        (changed("lmscale", "base=1 lmscale"), "a.slf: base=1 in the header; expected a base"),
        (changed("N=3 L=3", "N=4 L=3\nI=9", ON_LINKS), r"a.slf: 2 nodes \(9, 0, …\) that no link enters"),
        (changed("=hello", "=h=" + "x" * 5, ON_NODES).replace("J=3\t", "J=3\t=5\t"), "a.slf:14: no key before '='"),
    ],
)  # fmt: skip
def test_files_at_fault(file: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        one(file, text)


def test_unknown_fields_of_links_are_features_and_many_of_them_are_refused(file: Path) -> None:
    text = "VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a conf=0.5 zz=-3\n"
    assert one(file, text).forest.feature_names == ("conf", "zz", "words")
    many = " ".join(f"k{number}=1" for number in range(300))
    with pytest.raises(InputError, match=r"a\.slf:5: more than 256 different fields"):
        one(file, text.replace("zz=-3", many))


words = st.sampled_from(["a", "b", "hello", "é", "!NULL", "<sil>", "!SENT_START"])


@settings(max_examples=80, deadline=None)
@given(lattices(words, st.just(0.0), 0), st.data())
def test_the_same_paths_as_a_slow_reader(
    tmp_path_factory: pytest.TempPathFactory, lattice: Lattice, data: st.DataObject
) -> None:
    states = sorted({state for source, target, *_ in lattice.arcs for state in (source, target)} | {lattice.start})
    on_nodes = data.draw(st.booleans())
    end = next(state for state in lattice.finals)
    fields = st.dictionaries(st.sampled_from(["a", "l", "r", "own"]), numerals, min_size=1)
    lines = ["VERSION=1.0", f"start={lattice.start} end={end}", f"N={len(states)} L={len(lattice.arcs)}"]
    lines += [f"I={state} t=0.5" + (f" W={data.draw(words)}" if on_nodes else "") for state in states]
    for number, (source, target, word, _) in enumerate(lattice.arcs):
        values = "".join(f" {key}={value}" for key, value in data.draw(fields).items())
        lines.append(f"J={number} S={source} E={target}{values} p=1" + ("" if on_nodes else f" W={word}"))
    text = "\n".join(lines) + "\n"
    slow, names = slow_slf(text, SPEECH.drops)
    file = tmp_path_factory.mktemp("slf") / "a.slf"
    expected = slow.paths()
    if not expected:
        assert "no path" in str(refusal(partial(one, file, text)))
        return
    forest = one(file, text).forest
    assert forest.feature_names == names
    assert forest_paths(forest) == expected


# Writing.


def written(path: Path, forest: Forest, name: str | None = None) -> bytes:
    write_slf(path, [NamedForest(forest, name)])
    return path.read_bytes()


odd_words = st.one_of(
    st.none(),
    st.sampled_from(["a", "b(2)", "it's", "'em", '"', "\\", "new york", "x=y", "#1", "'q'", "tab\there", "é"]),
)
doubles = st.one_of(st.sampled_from([0.0, 1.0, -2.5]), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=80, deadline=None)
@given(lattices(odd_words, doubles, 2))
def test_what_is_written_is_read_back_to_the_bit(tmp_path_factory: pytest.TempPathFactory, lattice: Lattice) -> None:
    forest = Forest.from_lattice(
        [(source, target, word, row) for source, target, word, row in lattice.arcs],
        start=lattice.start,
        finals=dict(lattice.finals.items()),
        feature_names=("acoustic", "my-score"),
    )
    folder = tmp_path_factory.mktemp("slf")
    first = written(folder / "a.slf", forest, "an utterance")
    (named,) = read_all(read_slf, folder / "a.slf", drop=frozenset())
    assert named.name == "an utterance"
    assert named.forest.feature_names == ("acoustic", "my-score", "words")
    assert _without_last_column(forest_paths(named.forest)) == forest_paths(forest)
    assert written(folder / "b.slf", named.forest, named.name) == first


def _without_last_column(paths: Counter[PathOf]) -> Counter[PathOf]:
    found: Counter[PathOf] = Counter()
    for (words, rows), count in paths.items():
        found[words, kept(row[:-1] for row in rows)] += count
    return found


def test_a_list_and_a_count_of_words_that_is_another(tmp_path: Path) -> None:
    forest = Forest.from_nbest(["a b", ""], [[1.0, 5.0], [2.0, 0.0]], feature_names=("lm", "words"))
    written(tmp_path / "a.slf", forest)
    (named,) = read_all(read_slf, tmp_path / "a.slf")
    assert named.forest.feature_names == ("lm", "words")
    assert forest_paths(named.forest) == forest_paths(forest)
    counted = Forest.from_nbest(["a b", ""], [[1.0, 2.0], [2.0, 0.0]], feature_names=("lm", "words"))
    assert b"words=" not in written(tmp_path / "a.slf", counted)


def test_several_lattices_go_into_a_folder(tmp_path: Path) -> None:
    forest = Forest.from_nbest(["a"], [[1.0]], feature_names=("lm",))
    forests = [NamedForest(forest, "u1"), NamedForest(forest), NamedForest(forest, "u2")]
    write_slf(f"{tmp_path}/new/", forests)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["1.slf", "u1.slf", "u2.slf"]
    with pytest.raises(InputError, match="3 lattices, but this format holds one a file; give a folder"):
        write_slf(tmp_path / "a.slf", forests)
    assert not (tmp_path / "a.slf").exists()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/new: cannot be made a folder \(Not a directory\)"):
        write_slf(tmp_path / "file" / "new", forests)
    write_slf(tmp_path / "other", forests)
    assert len(list((tmp_path / "other").iterdir())) == 3
    with pytest.raises(InputError, match="a second lattice of the name 'u1'"):
        write_slf(tmp_path, [forests[0], forests[0]])
    with pytest.raises(InputError, match="no file can have the name"):
        write_slf(tmp_path, [NamedForest(forest, "../u")])
    with pytest.raises(InputError, match="no lattice to write"):
        write_slf(tmp_path / "none.slf", [])


@pytest.mark.parametrize("name", ["a", "p", "J", "two words", "x=1", ""])
def test_feature_names_that_the_format_cannot_hold(tmp_path: Path, name: str) -> None:
    forest = Forest.from_nbest(["a"], [[1.0]], feature_names=(name,))
    with pytest.raises(InputError, match=r"a\.slf: a feature cannot be named"):
        written(tmp_path / "a.slf", forest)


def test_hypergraphs_are_refused(tmp_path: Path) -> None:
    from hulltune.data import ForestBuilder

    builder = ForestBuilder(feature_names=["f"])
    builder.add_edge("x", output=["a"])
    builder.add_edge("root", ["x", "x"], output=[0, 1])
    with pytest.raises(InputError, match="a hypergraph, whose edges have several tails"):
        written(tmp_path / "a.slf", builder.build(root="root"))
    builder = ForestBuilder(feature_names=["f"])
    builder.add_edge("x", output=["a"])
    builder.add_edge("root", ["x"], output=["before", 0])
    with pytest.raises(InputError, match="puts out words before those of its tail"):
        written(tmp_path / "a.slf", builder.build(root="root"))
