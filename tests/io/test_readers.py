"""The other formats: what is read, and what is said of input at fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hulltune import InputError
from hulltune.io import CandidateLists, read_lists, sniff, write_jsonl


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def fault(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_lists(path, **options)
    return str(caught.value)


def rows(lists: CandidateLists) -> list[tuple[Any, str, list[float]]]:
    """(id, text, features) of every hypothesis."""
    return [
        (lists.ids[sentence], lists.text(row), lists.features[row].tolist())
        for sentence in range(len(lists))
        for row in range(lists.offsets[sentence], lists.offsets[sentence + 1])
    ]


class TestJsonLines:
    LINE = (
        '{"id": 1, "refs": ["a b"], "source": "x", "candidates": [{"text": "a", "features": {"lm": -1}, "score": 2}]}'
    )

    def test_everything_is_read(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", self.LINE, '{"id": 0, "candidates": []}')
        lists = read_lists(path)
        assert lists.provenance[0].format == "jsonl"
        assert rows(lists) == [(1, "a", [-1.0])]
        assert lists.ids == range(2)
        assert lists.empty_ids == (0,)
        assert lists.references == ((), ("a b",))
        assert lists.sources == (None, "x")
        assert lists.scores is not None
        assert lists.scores.tolist() == [2]

    def test_lines_without_ids_are_numbered(self, tmp_path: Path) -> None:
        line = '{"candidates": [{"text": "a"}]}'
        assert rows(read_lists(write(tmp_path / "a", line, line))) == [(0, "a", []), (1, "a", [])]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("", "blank line"),
            ("{", "no JSON"),
            ("[1]", "got [1]"),
            ("[" * 100_000, "nested too deeply"),
            ('{"id": 2}', '"candidates" is None'),
            ('{"id": true, "candidates": []}', '"id" is True'),
            ('{"id": -1, "candidates": []}', '"id" is -1'),
            ('{"id": "", "candidates": []}', "\"id\" is ''"),
            ('{"candidates": []}', "no id, unlike"),
            ('{"id": 1, "refs": ["other"], "candidates": []}', "other references"),
            ('{"id": 2, "refs": "a", "candidates": []}', '"refs" is'),
            ('{"id": 2, "candidates": ["a"]}', "candidate 0: got 'a'"),
            ('{"id": 2, "candidates": [{"features": {}}]}', 'candidate 0: "text" is None'),
            ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": NaN}, "score": 1}]}', "'lm' is nan"),
            ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1e999}, "score": 1}]}', "'lm' is inf"),
            ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": "1"}, "score": 1}]}', "'lm' is '1'"),
            ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": true}, "score": 1}]}', "'lm' is True"),
            ('{"id": 2, "candidates": [{"text": "a", "features": {}, "score": 1}]}', "lacks feature 'lm'"),
            (
                '{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1, "b": 2}, "score": 1}]}',
                "feature 'b' is not",
            ),
            ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1}}]}', "no score"),
            ('{"id": 2, "candidates": [{"text": "\\ud800", "features": {"lm": 1}, "score": 1}]}', "surrogate"),
        ],
    )
    def test_a_line_at_fault(self, tmp_path: Path, line: str, message: str) -> None:
        path = write(tmp_path / "a.jsonl", self.LINE, line)
        assert message in fault(path)
        assert fault(path).startswith(f"{path}:2: ")
        lists = read_lists(path, on_error="skip")
        assert rows(lists) == [(1, "a", [-1.0])]
        assert message in lists.skipped[0].reason

    def test_what_is_missing_can_be_taken_as_zero(self, tmp_path: Path) -> None:
        other = '{"id": 2, "candidates": [{"text": "b", "features": {"tm": 4}, "score": 1}]}'
        lists = read_lists(write(tmp_path / "a", self.LINE, other), missing=0)
        assert rows(lists) == [(1, "a", [-1.0, 0.0]), (2, "b", [0.0, 4.0])]
        assert lists.omitted == {"lm": 1, "tm": 1}

    def test_written_lists_read_back(self, tmp_path: Path) -> None:
        lists = read_lists(write(tmp_path / "a", self.LINE, '{"id": "0", "candidates": []}'))
        write_jsonl(lists, tmp_path / "b")
        again = read_lists(tmp_path / "b")
        assert rows(again) == rows(lists)
        assert (again.ids, again.references, again.sources) == (lists.ids, lists.references, lists.sources)


class TestTables:
    def test_csv(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "a.csv", "id,text,lm,tm,score,ref,source", '0,"a, ""b""",1,2,3,r,s', "1,,-1e-2,0,3,r2,s2"
        )
        lists = read_lists(path)
        assert rows(lists) == [(0, 'a, "b"', [1.0, 2.0]), (1, "", [-0.01, 0.0])]
        assert lists.feature_names == ("lm", "tm")
        assert lists.references == (("r",), ("r2",))
        assert lists.sources == ("s", "s2")

    def test_tsv_has_no_quotes(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", "text\tid\tlm\tref_0\tref_1", '"a\tu1\t1\tr\tq')
        lists = read_lists(path)
        assert rows(lists) == [("u1", '"a', [1.0])]
        assert lists.references == (("r", "q"),)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ("0,b,x,1", "column 'lm' is 'x'"),
            ("0,b,nan,1", "'lm' is nan"),
            ("0,b,,1", "lacks feature 'lm'"),
            ("0,b,1", "3 cells; expected 4"),
            ("", "blank line; expected 4"),
            (",b,1,1", "id is ''"),
            ("0,b,1,x", "score is 'x'"),
        ],
    )
    def test_a_row_at_fault(self, tmp_path: Path, row: str, message: str) -> None:
        path = write(tmp_path / "a.csv", "id,text,lm,score", "0,a,1,1", row)
        assert fault(path).startswith(f"{path}:3: ")
        assert message in fault(path)
        lists = read_lists(path, on_error="skip")
        assert rows(lists) == [(0, "a", [1.0])]
        assert [s.line for s in lists.skipped] == [3]

    def test_a_first_row_that_lacks_a_feature_does_not_make_it_disappear(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.csv", "id,text,lm,tm", "0,a,1,", "0,b,1,2")
        assert "lacks feature 'tm'" in fault(path)
        assert rows(read_lists(path, missing=0)) == [(0, "a", [1.0, 0.0]), (0, "b", [1.0, 2.0])]

    def test_headers(self, tmp_path: Path) -> None:
        assert "no column 'id'" in fault(write(tmp_path / "a.csv", "text,lm"), format="csv")
        assert "two columns are called 'lm'" in fault(write(tmp_path / "a.csv", "id,text,lm,lm"))
        assert "no candidate lists" in fault(write(tmp_path / "a.csv", "id,text,lm"))

    def test_an_open_quotation_mark(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.csv", "id,text,lm", "0,a,1", '0,"b,1')
        assert fault(path).startswith(f"{path}:3: no table row")
        assert rows(read_lists(path, on_error="skip")) == [(0, "a", [1.0])]

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_frames_and_parquet(self, tmp_path: Path, library: str) -> None:
        module = pytest.importorskip(library)
        columns: dict[str, list[Any]] = {
            "id": [0, 0, 2],
            "text": ["a", "b", "é"],
            "lm": [1.5, 2.5, -1.0],
            "n": [1, 2, 3],
        }
        expected = [(0, "a", [1.5, 1.0]), (0, "b", [2.5, 2.0]), (2, "é", [-1.0, 3.0])]
        if library == "pyarrow":
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(module.table(columns), tmp_path / "a.parquet")
            assert sniff(tmp_path / "a.parquet") == "parquet"
            assert rows(read_lists(tmp_path / "a.parquet")) == expected
            return
        assert rows(read_lists(module.DataFrame(columns))) == expected
        columns["lm"][1] = float("nan")
        with pytest.raises(InputError, match=r"data frame:3: (feature 'lm' is nan|lacks feature 'lm')"):
            read_lists(module.DataFrame(columns))
        columns["lm"][1], columns["text"][2] = 0.0, None
        with pytest.raises(InputError, match="data frame:4: text is"):
            read_lists(module.DataFrame(columns))

    def test_a_damaged_parquet_file(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
        assert "no readable Parquet file" in fault(tmp_path / "a.parquet")


class TestFairseq:
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

    def test_hypotheses_in_the_order_of_ids(self, tmp_path: Path) -> None:
        lists = read_lists(write(tmp_path / "gen.out", *self.LINES))
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
    def test_a_line_at_fault(self, tmp_path: Path, line: str, message: str) -> None:
        path = write(tmp_path / "gen.out", *self.LINES[:6], line)
        text = fault(path)
        assert message in text
        assert text.startswith(f"{path}:7: ")

    def test_a_hypothesis_without_p_line_among_others_with(self, tmp_path: Path) -> None:
        path = write(tmp_path / "gen.out", *self.LINES[:6], "H-1\t-2\tc")
        assert f"{path}:7: lacks feature 'logprob'" in fault(path)
        assert rows(read_lists(path, on_error="skip")) == [(1, "ab", [-0.5, -1.5, 3])]


class TestSockeye:
    def test_n_best_and_one_best_numbered_from_one(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "out.json",
            '{"sentence_id": 1, "translation": "a", "score": 1, "translations": ["a", "b"], "scores": [[1.5], [2]]}',
            '{"sentence_id": 2, "translation": "c", "score": 3}',
        )
        lists = read_lists(path)
        assert lists.provenance[0].format == "sockeye"
        assert rows(lists) == [(0, "a", [1.5]), (0, "b", [2.0]), (1, "c", [3.0])]

    def test_numbered_from_zero_with_factors(self, tmp_path: Path) -> None:
        line = {"sentence_id": 0, "translations": ["a", "b"], "scores": [[1, 2], [3, 4]]}
        lists = read_lists(write(tmp_path / "o", json.dumps(line)))
        assert lists.feature_names == ("score", "factor1_score")
        assert rows(lists) == [(0, "a", [1.0, 2.0]), (0, "b", [3.0, 4.0])]

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ({"sentence_id": "1"}, "expected a whole number"),
            ({"sentence_id": 1, "translations": ["a"], "scores": []}, "as long as"),
            ({"sentence_id": 1, "translations": "a", "scores": [1]}, "a list of strings"),
            ({"sentence_id": 1, "translations": ["a"], "scores": [["x"]]}, "a number or a list of numbers"),
            ({"sentence_id": 1, "translations": ["a"], "scores": [None]}, "a number or a list of numbers"),
            ({"sentence_id": 1, "translations": ["a"], "scores": [float("nan")]}, "'score' is nan"),
        ],
    )
    def test_a_record_at_fault(self, tmp_path: Path, record: dict[str, Any], message: str) -> None:
        path = write(tmp_path / "o", json.dumps(record))
        assert message in fault(path, format="sockeye")
        assert fault(path, format="sockeye").startswith(f"{path}:1: ")


class TestNemo:
    def test_manifest_with_beams(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "m.json",
            '{"audio_filepath": "a.wav", "text": "r", "pred_text": "a", "beams": [["a", -1.5], ["b", -2]]}',
            '{"audio_filepath": "b.wav", "pred_text": "", "beams": [["", -1]]}',
        )
        lists = read_lists(path)
        assert lists.provenance[0].format == "nemo"
        assert rows(lists) == [(0, "a", [-1.5]), (0, "b", [-2.0]), (1, "", [-1.0])]
        assert lists.references == (("r",), ())

    def test_table_with_the_width_in_its_name(self, tmp_path: Path) -> None:
        path = write(tmp_path / "preds_out_width2_alpha1.0_beta0.5.tsv", "a\t1", "b\t2", "c\t3", "\t4")
        lists = read_lists(path)
        assert rows(lists) == [(0, "a", [1.0]), (0, "b", [2.0]), (1, "c", [3.0]), (1, "", [4.0])]
        write(path, "a\t1", "b\t2", "c\t3")
        assert "3 lines are no whole number of beams of width 2" in fault(path)

    def test_table_with_its_manifest(self, tmp_path: Path) -> None:
        table = write(tmp_path / "out.tsv", "a\t1", "b\t2", "c\t3", "d\t4")
        manifest = write(tmp_path / "m.json", *('{"audio_filepath": "x", "text": "r"}',) * 2)
        lists = read_lists([table, manifest])
        assert lists.offsets.tolist() == [0, 2, 4]
        assert lists.references == (("r",), ("r",))
        assert "cannot tell where an utterance ends" in fault(table)

    def test_a_skipped_line_shifts_nothing(self, tmp_path: Path) -> None:
        path = write(tmp_path / "width2.tsv", "a\t1", "b\tnan", "c", "d\t4")
        assert fault(path).startswith(f"{path}:2: ")
        assert rows(read_lists(path, on_error="skip")) == [(0, "a", [1.0]), (1, "d", [4.0])]

    @pytest.mark.parametrize("beams", [None, "a", [["a"]], [[1, 2]], [["a", "b"]]])
    def test_beams_at_fault(self, tmp_path: Path, beams: Any) -> None:
        path = write(tmp_path / "m", json.dumps({"audio_filepath": "x", "beams": beams}))
        assert fault(path).startswith(f"{path}:1: ")


class TestScoreFolders:
    def test_espnet(self, tmp_path: Path) -> None:
        for rank, (text, score) in enumerate(
            [("u1 a b", "u1 tensor(-1.5)"), ("u1", "u1 tensor(-2., device='cuda:0')")]
        ):
            write(tmp_path / f"{rank + 1}best_recog/text", text, f"u2 c{rank}")
            write(tmp_path / f"{rank + 1}best_recog/score", score, "u2 -3")
            write(tmp_path / f"{rank + 1}best_recog/token", "u1 a b", "u2 c")
        write(tmp_path / "10best_recog/text", "u2 late")
        write(tmp_path / "10best_recog/score", "u2 -9")
        lists = read_lists(tmp_path)
        assert lists.feature_names == ("score",)
        assert rows(lists)[:3] == [("u1", "a b", [-1.5]), ("u1", "", [-2.0]), ("u2", "c0", [-3.0])]
        assert rows(lists)[3:] == [("u2", "c1", [-3.0]), ("u2", "late", [-9.0])]
        write(tmp_path / "2best_recog/score", "u1 -1")
        assert "the score of utterance 'u2' is missing" in fault(tmp_path)
        assert len(rows(read_lists(tmp_path, on_error="skip"))) == 4

    def test_plain(self, tmp_path: Path) -> None:
        write(tmp_path / "text", "0\ta b", "0\t", "1\tc")
        write(tmp_path / "am.txt", "1", "2", "3")
        write(tmp_path / "lm", "-1", "-2", "-3")
        lists = read_lists(tmp_path)
        assert lists.feature_names == ("am", "lm")
        assert rows(lists) == [(0, "a b", [1.0, -1.0]), (0, "", [2.0, -2.0]), (1, "c", [3.0, -3.0])]
        write(tmp_path / "lm", "-1", "-2")
        assert "'lm' has 2 lines, but 'text' 3" in fault(tmp_path)
        write(tmp_path / "lm", "-1", "x", "3")
        assert "text:2: lm is 'x'" in fault(tmp_path)

    def test_plain_with_ids(self, tmp_path: Path) -> None:
        write(tmp_path / "text", "a\tb", "c")
        write(tmp_path / "ids", "u1", "u2")
        write(tmp_path / "am", "1", "2")
        assert rows(read_lists(tmp_path)) == [("u1", "a\tb", [1.0]), ("u2", "c", [2.0])]

    def test_returnn(self, tmp_path: Path) -> None:
        write(tmp_path / "am.py", "{", "'s1': [(-1.5, 'a b'), (-2, '')],", "'s2': [],", "}")
        write(tmp_path / "lm.py", "{'s1': [(-3, 'a b'), (-4, '')], 's2': []}")
        lists = read_lists(tmp_path)
        assert rows(lists) == [("s1", "a b", [-1.5, -3.0]), ("s1", "", [-2.0, -4.0])]
        assert lists.empty_ids == ("s2",)
        write(tmp_path / "lm.py", "{'s1': [(-3, 'other'), (-4, '')], 's2': []}")
        assert "other hypotheses" in fault(tmp_path)
        write(tmp_path / "lm.py", "{'s1': [(nan, 'a b'), (-4, '')], 's2': []}")
        assert "feature 'lm' is inf" in fault(tmp_path)
        write(tmp_path / "lm.py", "{'s1': print(1)}")
        assert "no Python literal" in fault(tmp_path)

    def test_other_directories(self, tmp_path: Path) -> None:
        assert "no files in it" in fault(tmp_path)
        assert "expected folders 1best_recog" in fault(tmp_path, format="score-folder")


class TestSrilm:
    def test_directory_with_extra_scores(self, tmp_path: Path) -> None:
        write(tmp_path / "u1.nbest", "-10.5 -3 2 a b", "-11 -2 0")
        write(tmp_path / "u2.nbest", "-5 -1 1 c")
        write(tmp_path / "rnn/u1.score", "-1 x", "-2")
        write(tmp_path / "rnn/u2", "-3")
        lists = read_lists(tmp_path)
        assert lists.feature_names == ("acoustic", "lm", "nwords", "rnn")
        assert rows(lists) == [
            ("u1", "a b", [-10.5, -3, 2, -1]),
            ("u1", "", [-11, -2, 0, -2]),
            ("u2", "c", [-5, -1, 1, -3]),
        ]
        write(tmp_path / "rnn/u2", "-3", "-4")
        assert "2 lines, but" in fault(tmp_path)
        (tmp_path / "rnn/u2").unlink()
        assert "no scores for u2.nbest" in fault(tmp_path)

    def test_files_with_headers(self, tmp_path: Path) -> None:
        path = write(tmp_path / "7", "NBestList1.0", "(-123) a b", "(-124) a")
        assert rows(read_lists(path))[1] == (7, "a", [-124.0])
        write(path, "NBestList2.0", "(-123) a ( st: 1 )")
        assert "nbest2-to-nbest1" in fault(path)

    @pytest.mark.parametrize("line", ["", "-1 -2", "-1 x 2 a", "-1 nan 2 a"])
    def test_a_line_at_fault(self, tmp_path: Path, line: str) -> None:
        path = write(tmp_path / "u", "-1 -2 1 a", line)
        assert fault(path).startswith(f"{path}:2: ")
        assert rows(read_lists(path, on_error="skip")) == [("u", "a", [-1.0, -2.0, 1.0])]
