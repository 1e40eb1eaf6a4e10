"""Lists as toolkits write them: fairseq, NeMo, Sockeye, SRILM, and folders of scores (ESPnet, RETURNN, plain).

What holds of all formats, and faults of single lines, are in test_contract.py.
"""

from __future__ import annotations

import json
from pathlib import Path

from hulltune import read
from tests.formats.list_files import fault, rows, write

FAIRSEQ = (
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


def test_hypotheses_of_fairseq_in_the_order_of_ids(tmp_path: Path) -> None:
    lists = read(write(tmp_path / "gen.out", *FAIRSEQ))
    assert lists.feature_names == ("score", "logprob", "length")
    assert rows(lists) == [(0, "", [-1, -1, 1]), (1, "ab", [-0.5, -1.5, 3]), (1, "a", [-0.75, -1.5, 2])]
    assert (lists.references, lists.sources) == (((), ("a b",)), ("z", "x y"))
    assert lists.scores is not None
    assert lists.scores.tolist() == [-1, -0.5, -0.75]


def test_a_hypothesis_of_fairseq_without_its_p_line(tmp_path: Path) -> None:
    path = write(tmp_path / "gen.out", *FAIRSEQ[:6], "H-1\t-2\tc")
    assert f"{path}:7: lacks feature 'logprob'" in fault(path)
    assert rows(read(path, on_error="skip")) == [(1, "ab", [-0.5, -1.5, 3])]
    for line, message in (("D-0\t-1\tother sentence", "without the H- line"), ("T-1\tother", "other references")):
        assert message in fault(write(path, *FAIRSEQ[:6], line))


def test_manifests_of_nemo(tmp_path: Path) -> None:
    path = write(
        tmp_path / "m.json",
        '{"audio_filepath": "a.wav", "text": "r", "pred_text": "a", "beams": [["a", -1.5], ["b", -2]]}',
        '{"audio_filepath": "b.wav", "pred_text": "", "beams": [["", -1]]}',
    )
    lists = read(path)
    assert rows(lists) == [(0, "a", [-1.5]), (0, "b", [-2.0]), (1, "", [-1.0])]
    assert lists.references == (("r",), ())
    for beams in (None, "a", [["a"]], [[1, 2]], [["a", "b"]]):
        write(path, json.dumps({"audio_filepath": "x", "beams": beams}))
        assert fault(path).startswith(f"{path}:1: ")


def test_tables_of_nemo_have_the_width_in_their_name_or_a_manifest(tmp_path: Path) -> None:
    path = write(tmp_path / "preds_out_width2_alpha1.0_beta0.5.tsv", "a\t1", "b\t2", "c\t3", "\t4")
    assert rows(read(path)) == [(0, "a", [1.0]), (0, "b", [2.0]), (1, "c", [3.0]), (1, "", [4.0])]
    assert "3 lines are no whole number of beams of width 2" in fault(write(path, "a\t1", "b\t2", "c\t3"))
    table = write(tmp_path / "out.tsv", "a\t1", "b\t2", "c\t3", "d\t4")
    manifest = write(tmp_path / "m.json", *('{"audio_filepath": "x", "text": "r"}',) * 2)
    lists = read([table, manifest])
    assert lists.corpus.sentence_edges.tolist() == [0, 2, 4]
    assert lists.references == (("r",), ("r",))
    assert "cannot tell where an utterance ends" in fault(table)


def test_a_skipped_line_of_nemo_shifts_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "width2.tsv", "a\t1", "b\tnan", "c", "d\t4")
    assert rows(read(path, on_error="skip")) == [(0, "a", [1.0]), (1, "d", [4.0])]


def test_lists_of_sockeye_count_from_one_or_from_zero(tmp_path: Path) -> None:
    path = write(
        tmp_path / "out.json",
        '{"sentence_id": 1, "translation": "a", "score": 1, "translations": ["a", "b"], "scores": [[1.5], [2]]}',
        '{"sentence_id": 2, "translation": "c", "score": 3}',
    )
    assert rows(read(path)) == [(0, "a", [1.5]), (0, "b", [2.0]), (1, "c", [3.0])]
    line = {"sentence_id": 0, "translations": ["a", "b"], "scores": [[1, 2], [3, 4]]}
    lists = read(write(tmp_path / "o", json.dumps(line)))
    assert lists.feature_names == ("score", "factor1_score")
    assert rows(lists) == [(0, "a", [1.0, 2.0]), (0, "b", [3.0, 4.0])]


def test_a_folder_of_srilm_with_further_scores(tmp_path: Path) -> None:
    write(tmp_path / "u1.nbest", "-10.5 -3 2 a b", "-11 -2 0")
    write(tmp_path / "u2.nbest", "-5 -1 1 c")
    write(tmp_path / "rnn/u1.score", "-1 x", "-2")
    write(tmp_path / "rnn/u2", "-3")
    lists = read(tmp_path)
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


def test_files_of_decipher(tmp_path: Path) -> None:
    path = write(tmp_path / "7", "NBestList1.0", "(-123) a b", "(-124) a")
    assert rows(read(path))[1] == (7, "a", [-124.0])
    write(path, "NBestList2.0", "(-123) a ( st: 1 )")
    assert "nbest2-to-nbest1" in fault(path)


def test_folders_of_espnet(tmp_path: Path) -> None:
    for rank, (text, score) in enumerate([("u1 a b", "u1 tensor(-1.5)"), ("u1", "u1 tensor(-2., device='cuda:0')")]):
        write(tmp_path / f"{rank + 1}best_recog/text", text, f"u2 c{rank}")
        write(tmp_path / f"{rank + 1}best_recog/score", score, "u2 -3")
        write(tmp_path / f"{rank + 1}best_recog/token", "u1 a b", "u2 c")
    write(tmp_path / "10best_recog/text", "u2 late")
    write(tmp_path / "10best_recog/score", "u2 -9")
    lists = read(tmp_path)
    assert lists.feature_names == ("score",)
    assert rows(lists)[:3] == [("u1", "a b", [-1.5]), ("u1", "", [-2.0]), ("u2", "c0", [-3.0])]
    assert rows(lists)[3:] == [("u2", "c1", [-3.0]), ("u2", "late", [-9.0])]
    write(tmp_path / "2best_recog/score", "u1 -1")
    assert "score is missing; expected a finite number" in fault(tmp_path)
    assert len(rows(read(tmp_path, on_error="skip"))) == 4


def test_plain_folders(tmp_path: Path) -> None:
    write(tmp_path / "text", "0\ta b", "0\t", "1\tc")
    write(tmp_path / "am.txt", "1", "2", "3")
    write(tmp_path / "lm", "-1", "-2", "-3")
    lists = read(tmp_path)
    assert lists.feature_names == ("am", "lm")
    assert rows(lists) == [(0, "a b", [1.0, -1.0]), (0, "", [2.0, -2.0]), (1, "c", [3.0, -3.0])]
    write(tmp_path / "lm", "-1", "-2")
    assert f"{tmp_path / 'text'}: 3 lines, but 'lm' has 2" in fault(tmp_path)
    write(tmp_path / "lm", "-1", "x", "3")
    assert fault(tmp_path).startswith(f"{tmp_path / 'text'}:2: lm is 'x'")
    write(tmp_path / "lm", "-1", "-2", "-3")
    write(tmp_path / "ids", "u1", "u1", "u2")
    assert rows(read(tmp_path))[0] == ("u1", "0\ta b", [1.0, -1.0])


def test_folders_of_returnn(tmp_path: Path) -> None:
    write(tmp_path / "am.py", "{", "'s1': [(-1.5, 'a b'), (-2, '')],", "'s2': [],", "}")
    write(tmp_path / "lm.py", "{'s1': [(-3, 'a b'), (-4, '')], 's2': []}")
    lists = read(tmp_path)
    assert rows(lists) == [("s1", "a b", [-1.5, -3.0]), ("s1", "", [-2.0, -4.0])]
    assert lists.empty_ids == ("s2",)
    for content, message in (
        ("{'s1': [(-3, 'other'), (-4, '')], 's2': []}", "other hypotheses"),
        ("{'s1': [(nan, 'a b'), (-4, '')], 's2': []}", "feature 'lm' is inf"),
        ("{'s1': print(1)}", "no Python literal"),
    ):
        write(tmp_path / "lm.py", content)
        assert message in fault(tmp_path)


def test_other_folders(tmp_path: Path) -> None:
    assert "no files in it" in fault(tmp_path)
    assert "expected folders 1best_recog" in fault(tmp_path, format="score-folder")
