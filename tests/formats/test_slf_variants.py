"""SLF as other programs write it: fields without numbers, links without nodes, and scales in the header."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import Forest, InputError, read, tune, write
from hulltune.errors import Note
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.slf import read_slf, write_slf
from tests.formats.lattice_oracles import forest_paths, read_all
from tests.formats.refusals import refusal

FIELDS = """VERSION=1.0
lmscale=2 wdpenalty=0.5
N=3 L=3
I=0 i=0.0,0.0
I=1 i=0.1,0.2
I=2 i=0.2,0.3
J=0 S=0 E=1 W=a a=-1 l=-2 how=fast
J=1 S=0 E=1 W=b a=-3 l=-4 how=slow
J=2 S=1 E=2 W=c a=-5 l=-6 how="not at all"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.slf"


def without_fields(content: str) -> str:
    for field in (" i=0.0,0.0", " i=0.1,0.2", " i=0.2,0.3", " how=fast", " how=slow", ' how="not at all"'):
        content = content.replace(field, "")
    return content


def test_fields_without_numbers_are_ignored_with_a_note(file: Path) -> None:
    (plain,) = read_all(read_slf, file, without_fields(FIELDS))
    (named,) = read_all(read_slf, file, FIELDS)
    assert named.forest.feature_names == plain.forest.feature_names == ("acoustic", "language", "words")
    assert forest_paths(named.forest) == forest_paths(plain.forest)
    assert named.model == {"acoustic": 1.0, "language": 2.0, "words": 0.5}
    with pytest.warns(Note) as notes:
        read(file)
    assert [str(note.message) for note in notes] == [
        f"the field i= holds no numbers, and is ignored ('0.0,0.0' in {file})",
        f"the field how= holds no numbers, and is ignored ('fast' in {file})",
    ]


def test_one_note_for_many_files(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.slf").write_text(FIELDS.replace(" how=", " more="))
    with pytest.warns(Note) as notes:
        read(tmp_path)
    assert len(notes) == 2
    assert str(notes[0].message).endswith("0.slf, and 2 more)")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a=-3", "a=loud", "a.slf:8: feature 'acoustic' is 'loud'; expected a finite number"),
        ("l=-4", "x12=1,2", "a.slf:8: feature 'x12' is '1,2'"),
        ("l=-4", "words=1,2", "a.slf:8: feature 'words' is '1,2'"),
        ("how=slow", "how=nan", "a.slf:8: feature 'how' is 'nan'"),
    ],
)
def test_scores_without_numbers_are_refused(file: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_all(read_slf, file, FIELDS.replace(old, new))


def test_a_field_of_numbers_with_a_fault_is_refused(file: Path) -> None:
    content = FIELDS.replace("how=fast", "how=1").replace("how=slow", "how=2o").replace('how="not at all"', "how=3")
    with pytest.raises(InputError, match=r"a\.slf:8: feature 'how' is '2o'; expected a finite number"):
        read_all(read_slf, file, content)


MOSES = """UTTERANCE=Sentence_7
VERSION=1.1
base=2.71828182845905
NODES=8
LINKS=8
# Distortion0 Distortion0 1 of 1
x1scale=0.300000
# LM0 LM0 1 of 1
x2scale=0.500000
J=0 S=0 E=1 W=it x1=0.000000 x2=-1.500000
J=1 S=0 E=2 W=that x1=0.000000 x2=-2.000000
J=2 S=1 E=3 W=is x1=0.000000 x2=-1.000000
J=3 S=3 E=4 W=cold x1=0.000000 x2=0.000000
J=4 S=4 E=7
J=5 S=1 E=5 W=was x1=-1.000000 x2=-0.500000
J=6 S=5 E=6 W=freezing x1=0.000000 x2=-3.000000
J=7 S=6 E=7
"""
"""What Moses writes with -output-search-graph-slf: links alone; the path over node 2 was recombined and ends there."""


def test_search_graphs_of_moses_have_no_lines_for_nodes(file: Path) -> None:
    (named,) = read_all(read_slf, file, MOSES)
    assert named.name == "Sentence_7"
    assert named.forest.feature_names == ("x1", "x2", "words")
    assert {words for words, _ in forest_paths(named.forest)} == {("it", "is", "cold"), ("it", "was", "freezing")}
    assert named.model == {"x1": 0.3, "x2": 0.5, "words": 0.0}
    with pytest.warns(Note, match="its scores are those of the whole path up to a link, and do not add up"):
        assert read(file).provenance[0].format == "slf"


def test_links_alone_may_begin_and_end_anywhere(file: Path) -> None:
    lines = "VERSION=1.0\nN=3 L=3\nJ=0 S=2 E=0 W=a l=1\nJ=1 S=0 E=1 W=b l=2\nJ=2 S=2 E=0 W=c l=1\n"
    for content in (lines, lines.replace("N=3", "start=2 end=1\nN=3")):
        (named,) = read_all(read_slf, file, content)
        assert {words for words, _ in forest_paths(named.forest)} == {("a", "b"), ("c", "b")}
        assert not named.notes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("NODES=8", "NODES=7", "a.slf:14: a link to or from node 7, which has no I= line"),
        ("NODES=8", "NODES=9", "no path leads from the start state to a final one"),
        ("NODES=8", "NODES=99999999999999", "N=99999999999999 in the header, but the file has 0 nodes"),
        ("NODES=8", "NODES=eight", "N=eight in the header, but the file has 0 nodes"),
        ("NODES=8\n", "", "no N= in the header"),
        ("LINKS=8", "LINKS=9", "L=9 in the header, but the file has 8 links"),
        ("J=4 S=4 E=7\n", "I=4\n", "N=8 in the header, but the file has 1 nodes"),
    ],
)
def test_links_alone_at_fault(file: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_all(read_slf, file, MOSES.replace(old, new))


def test_links_alone_cut_off_at_any_line(file: Path) -> None:
    lines = MOSES.splitlines(keepends=True)
    for count in range(len(lines)):
        assert refusal(partial(read_all, read_slf, file, "".join(lines[:count]))) is not None


SCALED = """VERSION=1.0
UTTERANCE=u{number}
{scales}
N=3 L=4
I=0
I=1
I=2
J=0 S=0 E=1 W=a a=-1 l=-3
J=1 S=0 E=1 W=b a=-2 l=-1
J=2 S=1 E=2 W=c a=-1 l=-1
J=3 S=1 E=2 W=!NULL a=-1.5 l=-1
"""


@pytest.mark.parametrize(
    ("scales", "best"),
    [("lmscale=1", "b c"), ("lmscale=0.25", "a c"), ("lmscale=1 wdpenalty=-0.75", "b"), ("acscale=2 lmscale=1", "a c")],
)
def test_a_copy_keeps_the_scales_and_so_the_baseline(tmp_path: Path, scales: str, best: str) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    first.mkdir()
    for number in range(3):
        (first / f"{number}.slf").write_text(SCALED.format(scales=scales, number=number))
    write(read(first), second, "slf")
    write(read(second), third, "slf")
    assert {path.name for path in second.iterdir()} == {"u0.slf", "u1.slf", "u2.slf"}
    assert all((second / f"u{n}.slf").read_bytes() == (third / f"u{n}.slf").read_bytes() for n in range(3))
    assert read(first).model == read(second).model is not None
    before, after = (tune(folder, [best] * 3, metric="wer", seed=1) for folder in (first, second))
    assert before.baseline == after.baseline == 0.0
    assert before.baseline_kind == after.baseline_kind == "the choice of the files' own scales"


def test_files_without_scales_claim_none(tmp_path: Path) -> None:
    (tmp_path / "a.slf").write_text(SCALED.format(scales="", number=0))
    assert read(tmp_path / "a.slf").model is None
    assert tune(tmp_path / "a.slf", ["a"], metric="wer", seed=1).baseline_kind == "the start weights' choice"
    write(read(tmp_path / "a.slf"), tmp_path / "b.slf")
    assert "scale" not in (tmp_path / "b.slf").read_text()


def test_scales_of_features_that_slf_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "lat.txt").write_text("u1 \n0\t1\t6\t1,-10,3_4\n1\n")
    write(read(tmp_path / "lat.txt"), tmp_path / "a.slf")
    assert "\ngraphscale=1.0 acscale=1.0\n" in (tmp_path / "a.slf").read_text()
    assert read(tmp_path / "a.slf").model == {"graph": 1.0, "acoustic": 1.0, "words": 0.0}
    (tmp_path / "a.slf").write_text((tmp_path / "a.slf").read_text().replace("graphscale=1.0 ", ""))
    assert read(tmp_path / "a.slf").model is None  # a header that leaves one out does not tell it


def test_two_features_with_one_scale_are_written_without(tmp_path: Path) -> None:
    forest = Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names=("lm", "language"))
    write_slf(tmp_path / "a.slf", [NamedForest(forest, "u", {"lm": 1.0, "language": 2.0})])
    assert read(tmp_path / "a.slf").model is None


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.fixed_dictionaries({"acoustic": numbers, "language": numbers, "own": numbers, "x3": numbers}))
def test_scales_are_read_back(tmp_path_factory: pytest.TempPathFactory, model: dict[str, float]) -> None:
    file = tmp_path_factory.getbasetemp() / "scales.slf"
    forest = Forest.from_nbest(["a"], [[1.0] * len(model)], feature_names=tuple(model))
    write_slf(file, [NamedForest(forest, "u", model)])
    (named,) = read_all(read_slf, file)
    assert named.model == {**model, "words": 0.0}
