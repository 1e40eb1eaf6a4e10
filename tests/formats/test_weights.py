"""Weights files: three formats, each read and written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import InputError
from hulltune.formats import WEIGHT_FORMATS, read_weights, write_weights


def read(tmp_path: Path, content: str) -> dict[str, float]:
    (tmp_path / "w").write_text(content, encoding="utf-8")
    return read_weights(tmp_path / "w")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"weights": {"lm": 1, "tm": -2.5e-3}, "score": 3}', {"lm": 1, "tm": -2.5e-3}),
        ('{"lm": 1}', {"lm": 1}),
        ("lm 1\n# comment\n\ntm=-2\nwp= 3\nx = 4\n", {"lm": 1, "tm": -2, "wp": 3, "x": 4}),
        (
            "[feature]\nDistortion\n\n[weight]\nLM0= 0.5\nTM0= 1 2 # two\n[other]\nx= y\n",
            {"LM0": 0.5, "TM0_0": 1, "TM0_1": 2},
        ),
        (  # the dense weights that mert-moses.pl writes for kbmira
            "Distortion0= 0.3\nTM0= 1\nTM0= 2\r\nLM0= 0.5\nTM0=  -3e-1\n",
            {"Distortion0": 0.3, "TM0_0": 1, "TM0_1": 2, "TM0_2": -0.3, "LM0": 0.5},
        ),
        ("TM0= 1 2\nLM0= 3\n", {"TM0_0": 1, "TM0_1": 2, "LM0": 3}),  # as moses -show-weights
        ("a=b= 1\na=b= 2\n", {"a=b_0": 1, "a=b_1": 2}),
    ],
)
def test_reading(tmp_path: Path, content: str, expected: dict[str, float]) -> None:
    assert read(tmp_path, content) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no weights"),
        ("{}", "no weights"),
        ("{", "no JSON"),
        ('{"lm": 1, "lm": 2}', "'lm' occurs twice"),
        ('{"lm": NaN}', "'lm' is nan"),
        ('{"lm": "1"}', "'lm' is '1'"),
        ('{"weights": 3}', '"weights" is 3'),
        ("lm\n", "w:1: got 'lm'"),
        ("lm 1\nlm 2\n", "w:2: a second weight for 'lm'"),
        ("lm 1\ntm x\n", "w:2: the weight of 'tm' is 'x'"),
        ("lm inf\n", "'lm' is 'inf'"),
        ("=3\n", "w:1: got '=3'"),
        ("lm= 1\nlm 2\n", "w:2: a second weight for 'lm'"),
        ("lm 1\nlm= 2\n", "w:2: a second weight for 'lm'"),
        ("lm=1\nlm=2\n", "w:2: a second weight for 'lm'"),
        ("lm= 1\nlm_1 3\nlm= 2\n", "w:2: a second weight for 'lm_1'"),
        ("lm= 1\nlm= x\n", "w:2: the weight of 'lm_1' is 'x'"),
        ("lm 1 2\n", "w:1: got 'lm 1 2'"),
        ("[weight]\nLM0= 1\nLM0= 2\n", "w:3: a second weight for 'LM0'"),
        ("[weight]\nLM0 1\n", "w:2: got 'LM0 1'"),
        ("[weight]\nLM0= 1 x\n", "w:2: the weight of 'LM0_1' is 'x'"),
    ],
)
def test_faults(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "w"))


def test_real_weights_have_the_names_of_the_lists(tmp_path: Path) -> None:
    weights = {"LM0": 0.5, "TM0_0": 1.0, "TM0_1": 0.1, "TM0_2": 2.0, "odd_1": 3.0, "a_0": 1.0, "a": 2.0}
    write_weights(weights, tmp_path / "w.ini")
    text = (tmp_path / "w.ini").read_text()
    assert text == "[weight]\nLM0= 0.5\nTM0= 1.0 0.1 2.0\nodd_1= 3.0\na_0= 1.0\na= 2.0\n"
    assert read_weights(tmp_path / "w.ini") == weights


names = st.text(st.characters(min_codepoint=33, exclude_characters="#[]={", exclude_categories=["Z", "C"]), min_size=1)
numbered = st.builds("{}_{}".format, st.sampled_from("ab"), st.integers(0, 3))


@given(
    st.dictionaries(st.one_of(names, numbered), st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.sampled_from(WEIGHT_FORMATS),
)
def test_what_is_written_reads_back_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, weights: dict[str, float], weight_format: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "w"
    write_weights(weights, path, format=weight_format)
    assert {name: value.hex() for name, value in read_weights(path).items()} == {
        name: value.hex() for name, value in weights.items()
    }


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'lm' is nan"):
        write_weights({"lm": float("nan")}, tmp_path / "w")
    with pytest.raises(InputError, match="write JSON"):
        write_weights({"a b": 1}, tmp_path / "w")
    with pytest.raises(InputError, match="unknown format of weights 'yaml'"):
        write_weights({"a": 1}, tmp_path / "w", format="yaml")
    write_weights({"a b": 1}, tmp_path / "w.json")
    assert read_weights(tmp_path / "w.json") == {"a b": 1.0}
    assert [entry.name for entry in tmp_path.iterdir()] == ["w.json"]
