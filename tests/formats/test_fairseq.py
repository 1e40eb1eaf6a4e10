"""The output of fairseq's generate."""

from __future__ import annotations

from pathlib import Path

import pytest

from hulltune import read
from tests.formats.list_files import fault, rows, write

LINES = (
    "2024-01-01 | INFO | fairseq_cli.generate | loading",
    "S-1\tx y",
    "T-1\ta b",
    "H-1\t-0.5\ta@@ b",
    "D-1\t-0.5\tab",
    "P-1\t-0.25 -0.5 -0.75",
    "A-1\t0-0",
    "H-1\t-0.75\ta",
    "D-1\t-0.75\ta",
    "P-1\t-1.5 0",
    "S-0\tz",
    "H-0\t-1\t",
    "P-0\t-1",
    "Generate test with beam=2: BLEU4 = 1",
)


def test_hypotheses_in_the_order_of_ids(tmp_path: Path) -> None:
    lists = read(write(tmp_path / "gen.out", *LINES))
    assert lists.feature_names == ("score", "logprob", "length")
    assert rows(lists) == [(0, "", [-1, -1, 1]), (1, "ab", [-0.5, -1.5, 3]), (1, "a", [-0.75, -1.5, 2])]
    assert lists.references == ((), ("a b",))
    assert lists.sources == ("z", "x y")
    assert lists.scores is not None
    assert lists.scores.tolist() == [-1, -0.5, -0.75]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("H-1\ta b", "expected 'H-number'"),
        ("H-1\tnan\ta b", "'score' is nan"),
        ("D-1\t-0.5\tagain", "expected one 'D-number'"),
        ("P-1\t0 x", "expected one 'P-number'"),
        ("D-0\t-1\tother sentence", "without the H- line"),
        ("T-1\tother", "other references"),
    ],
)
def test_a_line_at_fault(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "gen.out", *LINES[:6], line)
    text = fault(path)
    assert message in text
    assert text.startswith(f"{path}:7: ")


def test_a_hypothesis_without_p_line_among_others_with(tmp_path: Path) -> None:
    path = write(tmp_path / "gen.out", *LINES[:6], "H-1\t-2\tc")
    assert f"{path}:7: lacks feature 'logprob'" in fault(path)
    assert rows(read(path, on_error="skip")) == [(1, "ab", [-0.5, -1.5, 3])]
