"""A small file of each format, and what the contract of all readers needs to know of it (see test_contract.py).

To add a format, or another dialect of one, add a row to SAMPLES: its checks come by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hulltune.names import FOREST_FORMATS
from tests.formats.lattice_oracles import (
    BinaryArc,
    BinaryState,
    binary_fst,
    compact,
    floats,
    sparse_tuple,
    symbol_table,
)


class Broken(NamedTuple):
    """A change that makes a sample faulty, and what the message says: ``file:line: …reason…``."""

    old: str
    new: str
    reason: str


@dataclass(frozen=True)
class Sample:
    """A small file of a format."""

    format: str
    content: str | bytes
    """Bytes for formats that are no lines of text."""
    dialect: str = ""
    name: str = "sample"
    """The name of the file, where it matters."""
    number: str = ""
    """The value of a feature, which occurs once: other numbers, and what is none, are put in its place."""
    word: str = ""
    """A word of an output, which occurs once: bytes that are no UTF-8, and nothing, are put in its place."""
    may_be_empty: bool = True
    """Whether ``word`` may be left out, so that an output is empty."""
    broken: tuple[Broken, ...] = ()
    """Faults of one line beside the ones that all formats share."""
    last: str = ""
    """A part of the content at its end: of a file that is cut off before it, a reader can tell that it is."""
    alone: str = ""
    """The start of the content, of which parts are whole files, too."""
    blank_is_a_list: bool = False
    """Whether an empty file of this format is a list without hypotheses."""

    @property
    def is_of_forests(self) -> bool:
        """Whether the format is one of forests."""
        return self.format in FOREST_FORMATS

    @property
    def is_text(self) -> bool:
        """Whether the content is lines of text."""
        return isinstance(self.content, str)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.content.encode() if isinstance(self.content, str) else self.content

    def write(self, folder: Path, data: bytes | None = None) -> Path:
        """Write the file, with this content or its own."""
        path = folder / self.name
        path.write_bytes(self.data if data is None else data)
        return path

    def changed(self, old: str, new: str) -> bytes:
        """The content with something in the place of something that occurs once."""
        assert isinstance(self.content, str)
        assert self.content.count(old) == 1, (self.format, old)
        return self.content.replace(old, new).encode()

    def line_of(self, part: str) -> int:
        """The number of the line in which a part of the content begins."""
        assert isinstance(self.content, str)
        return self.content[: self.content.index(part)].count("\n") + 1

    def __str__(self) -> str:
        return f"{self.format} {self.dialect}".strip()


RANKINGS = [
    Sample(
        "trec",
        "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 -1.25 bm25\nq2 Q0 d30 1 7 bm25\n",
        number="-1.25",
        word="d30",
        may_be_empty=False,
        broken=(
            Broken("d2 2 -1.25", "2 -1.25", "5 fields; expected query, Q0, document, rank, score, tag"),
            Broken("d2 2 -1.25", "d1 2 -1.25", r"document d1 of query q1 again \(first in line 1\)"),
            Broken("d2 2 -1.25", "d2 two -1.25", "the rank is 'two'; expected a finite number"),
        ),
    ),
    Sample(
        "letor",
        "2 qid:q1 1:0.5 2:3 # d1\n0 qid:q1 1:-0.25 2:-1 # d2\n1 qid:q2 2:7 # d30\n",
        number="-0.25",
        word="d30",
        may_be_empty=False,
        broken=(
            Broken("0 qid:q1", "0", "no qid:; expected 'grade qid:1"),
            Broken("0 qid:q1", "good qid:q1", "the grade is 'good'; expected a number"),
            Broken("2:-1", "two:-1", "got 'two:-1'; expected a number of a feature and a value"),
            Broken("2:-1", "1:-1", "feature 1 twice; expected each once"),
            Broken("d2", "d1", r"document d1 of query q1 again \(first in line 1\)"),
        ),
    ),
    Sample(
        "csv",
        "qid,docid,bm25,dense,grade\nq1,d1,-1.5,2,1\nq1,d2,3,4,0\nq2,d30,5,6,2\n",
        "of documents",
        number="-1.5",
        word="d30",
        may_be_empty=False,
        broken=(
            Broken("q1,d2", "q1,d1", "document d1 of query q1 again; expected each once"),
            Broken("4,0", "4,nan", "feature 'grade' is nan; expected a finite number"),
            Broken("4,0", "4,good", "column 'grade' is 'good'; expected a finite number"),
        ),
    ),
    Sample(
        "hits",
        '{"qid": "q1", "hits": {"hits": [{"_id": "d1", "fields": {"_ltrlog": [{"log": [{"name": "a", "value": 2}]}]}},'
        '{"_id": "d2", "fields": {"_ltrlog": [{"log": [{"name": "a", "value": -1.5}]}]}}]}}\n'
        '{"qid": "q2", "hits": {"hits": ['
        '{"_id": "d30", "fields": {"_ltrlog": [{"log": [{"name": "a", "value": 3}]}]}}]}}\n',
        "of Elasticsearch",
        number="-1.5",
        word="d30",
        may_be_empty=False,
        broken=(
            Broken('"_id": "d2"', '"_id": "d1"', "hit 1 of query q1: document d1 of query q1 again"),
            Broken('"value": -1.5', '"value": "x"', "hit 1 of query q1: feature 'a' is 'x'; expected a number"),
            Broken('"qid": "q2", ', "", "no query_id; expected the id of the query beside the hits"),
        ),
    ),
    Sample(
        "hits",
        '{"qid": "q1", "root": {"children": [{"id": "id:n:t::d1", "fields": {"matchfeatures": {"bm25(text)": 2}}}]}}\n'
        '{"qid": "q2", "root": {"children": [{"id": "id:n:t::d1", "fields": {"matchfeatures": {"bm25(text)": 1}}},'
        '{"id": "id:n:t::d2", "fields": {"matchfeatures": {"bm25(text)": -1.5}}}]}}\n',
        "of Vespa",
        number="-1.5",
        word="t::d2",
        may_be_empty=False,
        broken=(
            Broken('{"bm25(text)": -1.5}', '{"bm25(text)": {"type": "tensor"}}', r"feature 'bm25\(text\)' is .*tensor"),
            Broken('"matchfeatures": {"bm25(text)": -1.5}', "", "hit 1 of query q2: no logged features"),
        ),
    ),
]

LISTS = [
    Sample(
        "moses",
        "0 ||| a house ||| lm= -2 tm= -1.5 -3 ||| -6.5\n"
        "0 ||| the home ||| lm= -2.5 tm= -1 -3 ||| -7\n"
        "1 ||| it is cold ||| lm= -4 tm= -2 -1 ||| -7\n",
        "dense",
        number="-1.5",
        word="home",
        broken=(
            Broken("0 ||| the home ||| lm= -2.5 tm= -1 -3 ||| -7", "   ", "blank line"),
            Broken("0 ||| the", " ||| the", "no id before the first"),
            Broken("lm= -2.5 ", "lm= ", "feature 'lm' has no value"),
            Broken("-1 -3 ||| -7", "-1 -3 =5 ||| -7", "no name before '='"),
            Broken("-1 -3 ||| -7", "-1 -3 z=1 5 ||| -7", "'5' belongs to no feature"),
            Broken("-1 -3 ||| -7", "-1 -3 ||| 1 2", "more than one number in the score field"),
            Broken("-1 -3 ||| -7", "-1 -3 ||| nan", "the score is 'nan'; expected a finite number"),
            Broken("-1 -3 ||| -7", "-1 nan ||| -7", "feature 'tm_1' is 'nan'; expected a finite number"),
            Broken("lm= -2.5 ", "", "lacks feature 'lm'"),
            Broken("lm= -2.5", "xx= -2.5", "is not among those of the first hypothesis"),
            Broken("-2.5 tm=", "-2.5 1 tm=", "feature 'lm' has 2 values; expected 1"),
            Broken(" ||| -7\n1", "\n1", "no score, unlike the first hypothesis"),
            Broken("the home ||| lm= -2.5 tm= -1 -3 ||| -7", "the home", "2 fields; expected 'id"),
        ),
    ),
    Sample(
        "moses",
        "u1 ||| a house ||| lm=-1.5 rare_x=1 ||| -6.5\n"
        "u1 ||| the home ||| lm=-2.5 ||| -7\n"
        "u2 ||| it is cold ||| lm=-4 other=2 ||| -7\n",
        "sparse",
        number="-1.5",
        word="home",
        broken=(
            Broken("lm=-2.5", "lm=-2.5 lm=1", "feature 'lm' occurs twice"),
            Broken("lm=-2.5", "=-2.5", "no name before '='"),
        ),
    ),
    Sample(
        "jsonl",
        '{"id": 0, "refs": ["a house"], "candidates": [{"text": "the home", "features": {"lm": -1.5}, "score": 2}]}\n'
        '{"id": 1, "refs": ["cold"], "candidates": [{"text": "it", "features": {"lm": -4}, "score": 1}]}\n',
        "native",
        number="-1.5",
        word="the home",
        broken=(
            Broken('"text": "it"', '"text": 3', '"text" is 3; expected a string'),
            Broken('{"lm": -4}', "[]", '"features" is .*; expected an object'),
            Broken('{"id": 1, ', "{", "no id, unlike those before"),
            Broken('"score": 1}]}', '"score": 1}]', "no JSON"),
        ),
    ),
    Sample(
        "jsonl",
        '{"id": 0, "text": "a house", "lm": -1.5, "right": true}\n'
        '{"id": 0, "text": "home", "lm": -2.5, "right": false}\n',
        "flat",
        number="-1.5",
        word="home",
        broken=(
            Broken('"lm": -2.5, ', "", "lacks feature 'lm'"),
            Broken('"id": 0, "text": "home"', '"id": 0', "'text'"),
        ),
    ),
    Sample(
        "csv",
        "id,text,lm,tm,ref\n0,a house,-1.5,3,a house\n0,home,-2,2,a house\n1,it is cold,-4,1,cold\n",
        number="-1.5",
        word="home",
        broken=(
            Broken("0,home,-2,2,a house", "0,home,-2,2", "4 cells; expected 5, as in the header"),
            Broken("0,home", ",home", "id is ''; expected a name or a number"),
            Broken("0,home,-2,2,a house", "", "blank line; expected 5"),
            Broken("0,home,-2", "0,home,x", "column 'lm' is 'x'; expected a finite number; if it is no feature"),
            Broken("0,home,-2", "0,home,", "lacks feature 'lm'"),
            Broken("1,it", '1,"it', "no table row"),
        ),
    ),
    Sample(
        "tsv",
        "id\ttext\tlm\ttm\n0\ta house\t-1.5\t3\n0\thome\t-2\t2\n1\tit is cold\t-4\t1\n",
        number="-1.5",
        word="home",
        broken=(Broken("home\t-2", "home", "3 cells; expected 4, as in the header"),),
    ),
    Sample(
        "fairseq",
        "loading the model\n"
        "S-0\tein Haus\nT-0\ta house\n"
        "H-0\t-1.5\ta hou@@ se\nD-0\t-1.5\ta house\nP-0\t-1 -2\n"
        "H-0\t-1.75\thome\nD-0\t-1.75\ta home\nP-0\t-1 -3\n",
        number="-1.75\thome",
        word="a home",
        broken=(
            Broken("D-0\t-1.5\ta house", "D-0\ta house", "expected one 'D-number'"),
            Broken("P-0\t-1 -3", "P-0\tx", "expected one 'P-number'"),
            Broken("H-0\t-1.75\thome", "H-0\thome", "expected 'H-number', a score and the text"),
        ),
    ),
    Sample(
        "nemo",
        '{"audio_filepath": "a.wav", "text": "a house", "beams": [["a house", -1.5], ["home", -2]]}\n'
        '{"audio_filepath": "b.wav", "text": "cold", "beams": [["it is cold", -4]]}\n',
        "manifest",
        number="-1.5",
        word="home",
        broken=(Broken('["it is cold", -4]', '["it is cold"]', 'in "beams"; expected a pair'),),
    ),
    Sample(
        "nemo",
        "a house\t-1.5\nhome\t-2\nit is cold\t-4\nit is old\t-5\n",
        "table",
        name="preds_out_width2_alpha1.tsv",
        number="-1.5",
        word="home",
        broken=(Broken("\t-5", "", "expected text, tab, score"),),
    ),
    Sample(
        "sockeye",
        '{"sentence_id": 1, "translations": ["a house", "home"], "scores": [[-1.5], [-2]]}\n'
        '{"sentence_id": 2, "translations": ["it is cold"], "scores": [[-4]]}\n',
        number="-1.5",
        word="home",
        broken=(
            Broken("[[-4]]", "[]", '"scores" is .*; expected a list as long'),
            Broken("[[-4]]", "[[null]]", "expected a number or a list of numbers"),
            Broken('["it is cold"]', '"it"', '"translations" is .*; expected a list of strings'),
            Broken('"sentence_id": 2', '"sentence_id": "2"', "expected a whole number"),
        ),
    ),
    Sample(
        "srilm",
        "-10 -1.5 2 a house\n-11 -2 1 home\n-12 -4 3 it is cold\n",
        name="u1.nbest",
        blank_is_a_list=True,
        number="-1.5",
        word="home",
        broken=(
            Broken("-11 -2 1 home", "home -2 1", "expected 'acoustic lm nwords words…'"),
            Broken("-11 -2 1 home", "-11 -2", "expected 'acoustic lm nwords words…'"),
            Broken("-11 -2 1 home", "", "blank line"),
        ),
    ),
]

INFINITY = float("inf")
OPENFST = binary_fst(
    "standard", [BinaryState(floats(INFINITY), [BinaryArc(7, floats(0.5), 1)]), BinaryState(floats(0))]
)
NAMED = binary_fst(
    "standard",
    [
        BinaryState(floats(INFINITY), [BinaryArc(1, floats(0.5), 1), BinaryArc(2, floats(1), 1)]),
        BinaryState(floats(2)),
    ],
    flags=2,
    tables=symbol_table({0: "<eps>", 1: "house", 2: "home"}),
)
TUPLES = binary_fst(
    "tropicalsparsetuple",
    [
        BinaryState(sparse_tuple({}, INFINITY), [BinaryArc(5, sparse_tuple({1: 1.0, 3: -2.0}), 1)]),
        BinaryState(sparse_tuple({})),
    ],
)
COMPACT = b"u1 " + binary_fst(
    "compactlattice44",
    [
        BinaryState(compact(INFINITY, INFINITY), [BinaryArc(5, compact(0.5, -20.25, [1, 2]), 1)]),
        BinaryState(compact(0.25, -1, [4, 4])),
    ],
)

FORESTS = [
    Sample(
        "forest",
        "2 3\n1\n<s> ||| f=1\n2\n[0] house ||| f=-1.5 g=1\n[0] home ||| g=2\n",
        number="-1.5",
        word="home",
        broken=(Broken("[0] home", "[7] home", "7"),),
        last="||| g=2",
    ),
    Sample(
        "plf",
        "((('a',{'F':0.5},1),('the',{'F':-1.5},1),),(('house',{},1),),)\n",
        number="-1.5",
        word="house",
        broken=(Broken("{},1", "{},9", "."),),
        last="\n",
    ),
    Sample(
        "slf",
        "VERSION=1.0\nN=3 L=2\nI=0\nI=1\nI=2\nJ=0 S=0 E=1 W=house a=-3 l=-1.5\nJ=1 S=1 E=2 W=home a=-4 l=1\n",
        name="7.slf",
        number="-1.5",
        word="home",
        may_be_empty=False,
        broken=(Broken("S=1 E=2", "S=1 E=9", "."),),
        last="J=1",
    ),
    Sample(
        "kaldi",
        "u1 \n0\t1\thouse\t1,-1.5,3_4\n1\n\nu2 \n0\t1\thome\t2,-1,\n1\t0.5,0.25,\n\n",
        number="-1.5",
        word="home",
        may_be_empty=False,
        broken=(Broken("0\t1\thome", "0\tx\thome", "."),),
    ),
    Sample(
        "openfst-text",
        "0 1 house -1.5\n0 1 home 0.5\n1 2 b 1\n2\n",
        number="-1.5",
        word="home",
        may_be_empty=False,
        broken=(Broken("1 2 b 1", "1 x b 1", "."),),
    ),
    Sample(
        "joshua",
        "# target ||| features\n2 3\n1\nthe ||| lm_0=-1.5\na ||| lm_0=-2\n2\n[1] home ||| lm_0=-1\n",
        number="-1.5",
        word="home",
        broken=(
            Broken("[1] home", "[7] home", "no node .7.; expected one that has edges"),
            Broken("a ||| lm_0=-2", "a", "no '|||'"),
        ),
        last="||| lm_0=-1\n",
    ),
    Sample(
        "moses-graph",
        "7 hyp=0 stack=0\n"
        "7 hyp=1 stack=1 back=0 score=-1 transition=-1.5 forward=2 fscore=-3 covered=0-0 out=it is\n"
        "7 hyp=2 stack=2 back=1 score=-2 transition=-2 forward=-1 fscore=0 covered=1-1 out=home\n",
        "plain",
        number="-1.5",
        word="home",
        broken=(
            Broken("back=1", "back=5", "back=5, but this sentence has no such node"),
            Broken("hyp=2 stack", "stack", "no field hyp="),
            Broken("transition=-2 ", "", "neither transition= nor scores="),
        ),
        last="out=home",
        alone="7 hyp=0 stack=0\n",
    ),
    Sample(
        "moses-graph",
        "4 hyp=0 stack=0 forward=1 fscore=-3\n"
        '4 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=-1 fscore=-3 covered=0-0 scores="core=(0.5,-1.5) oov=1" '
        'out="ich|home "\n',
        "extended",
        number="-1.5",
        word="home",
        broken=(
            Broken("core=(", "cor=(", "its scores cannot be read"),
            Broken("oov=1", "oov", "'oov' is no feature"),
            Broken("ich|", "", "expected 'source|target'"),
        ),
        last='out="ich',
        alone="4 hyp=0 stack=0 forward=1 fscore=-3\n",
    ),
    Sample(
        "cdec-json",
        '{"rules":[1,"[X] ||| das ||| the",2,"[S] ||| [X,1] haus ||| [1] home"],"features":["lm"],"edges":[{"tail":[],'
        '"feats":[0,-1.5],"rule":1}],"node":{"in_edges":[0]},"edges":[{"tail":[0],"feats":[0,-1],"rule":2}],'
        '"node":{"in_edges":[1]}}\n',
        number="-1.5",
        word="home",
        broken=(Broken('"tail":[0]', '"tail":[3]', "edge 1: no node 3"),),
        last="\n",
    ),
    Sample(
        "travatar",
        '{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"head": 0, "tails": [1], "trg": [{"words": [-1, "home"]}], '
        '"features": {"lm": -1}}, {"head": 1, "trg": [{"words": ["the"]}], "features": {"lm": -1.5}}], "words": []}\n',
        number="-1.5",
        word="home",
        may_be_empty=False,
        broken=(Broken('"tails": [1]', '"tails": [3]', "edge 0: no node 3"),),
        last="\n",
    ),
    Sample("openfst", OPENFST),
    Sample("openfst", NAMED, "with words"),
    Sample("openfst", TUPLES, "sparse tuples"),
    Sample("kaldi", COMPACT, "compact binary"),
    Sample(
        "kaldi",
        "u1 \n0 1 17 house 0.5,-1.5\n0 2 17 home 1,-30\n1 2 18 x 0,0\n2 0.25,-1\n\n",
        "lattice",
        number="-1.5",
        word="home",
        may_be_empty=False,
        broken=(Broken("17 home", "home", "got '0 2 home 1,-30'"),),
    ),
]

SAMPLES = [*LISTS, *RANKINGS, *FORESTS]
