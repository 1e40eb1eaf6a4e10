"""The cases: command lines whose answers must stay the same to the bit, whatever becomes of the code behind them.

Files are those of ``files.py``; ``shared/…`` is real data that lies beside a checkout, ``decoder`` is that of its
examples. No case has a limit in seconds, and none looks at what standard error says.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

ONE_REF = "--ref lists.ref.0"
TWO_REFS = "--ref lists.ref.0 --ref lists.ref.1"
LISTS = f"lists.moses {ONE_REF}"
PAIRS = f"lists.moses {TWO_REFS}"
LATTICES = "slf --ref lattices.ref"
HYPERGRAPHS = "hypergraphs.forest --ref hypergraphs.ref"
FRENCH = "shared/fr_en/nbest.moses.gz --ref shared/fr_en/refs.txt"
DECODED = "shared/de_en/decoding.weights"
GERMAN = "shared/de_en/nbest.txt.gz --ref shared/de_en/refs.txt"
FORESTS = "shared/de_en/forests --ids name --ref shared/de_en/refs.txt"
FEW = "'shared/de_en/forests/00[0-3]*.hg.gz'"
FEW_FORESTS = f"{FEW} --ids name --ref shared/de_en/refs.txt"
TWO_FORESTS = "'shared/cdec_two_forests/*.hg.gz' " + " ".join(
    f"--ref shared/cdec_two_forests/ref.{number}" for number in range(4)
)
RUSSIAN = "shared/ru_en_lattices --ids name1 --ref shared/ru_en_lattices/refs --metric bleu:tokenize=none"
FEW_RUSSIAN = RUSSIAN.replace("shared/ru_en_lattices --ids", "'shared/ru_en_lattices/[12]?.fst.gz' --ids")
SPEECH = "shared/asr_tts/nbest.txt.gz --ref shared/asr_tts/refs.txt"
SPHINX = "shared/asr_tts/slf --ids shared/asr_tts/ids.txt --ref shared/asr_tts/refs.txt"
LINKS = "shared/alignments_en_fr/nbest.txt.gz --ref shared/alignments_en_fr/gold.txt --metric aer:reference_offset=1"
_ENDINGS = {
    "tune": "--threads {threads} --json --quiet",
    "loop": "--threads {threads} --json --quiet",
    "kbest": "--threads {threads} --quiet",
    "score": "--json --quiet",
    "compare": "--threads {threads} --json --quiet",
    "surface": "--quiet",
    "rerank": "--quiet",
    "convert": "--quiet",
    "info": "--json",
}
"""The last arguments of every command line, by command."""
DECODER = "python decoder translate --input {input} --weights {weights} --output {output}"


@dataclass(frozen=True)
class Case:
    """Commands that run one after the other in a folder with all files; ``files`` are the written files to compare."""

    name: str
    """The command lines themselves, but for the arguments that all commands of a kind have in common."""
    commands: tuple[tuple[str, ...], ...]
    files: tuple[str, ...] = ()
    exhaustive: bool = False
    """Whether it takes too long for the ordinary tests."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The folders of the shared data that the commands name."""
        parts = [word.split("/") for command in self.commands for word in command]
        return tuple(sorted({part[1] for part in parts if part[0] == "shared" and len(part) > 1}))


def _case(*lines: str, threads: int = 1, files: str = "", exhaustive: bool = False) -> Case:
    endings = [_ENDINGS[line.split()[0]].format(threads=threads) for line in lines]
    commands = (shlex.split(f"{line} {ending}") for line, ending in zip(lines, endings, strict=True))
    threaded = f" on {threads} threads" if threads > 1 else ""
    return Case(f"{'; '.join(lines)}{threaded}", tuple(map(tuple, commands)), tuple(files.split()), exhaustive)


def _tune(options: str, *, threads: int = 1, exhaustive: bool = False) -> Case:
    return _case(f"tune {options}", threads=threads, exhaustive=exhaustive)


def all_cases() -> list[Case]:
    """Every case; no two have the same name."""
    found = [*_lists(), *_list_metrics(), *_list_tools(), *_list_formats(), *_forests(), *_forest_tools()]
    found += [*_forest_formats(), *_loops(), *_shared_lists(), *_shared_forests()]
    names = [case.name for case in found]
    assert len(set(names)) == len(names), "two cases have the same name"
    return found


def _lists() -> Iterator[Case]:
    """Searches, policies, constraints and answers over lists."""
    yield _tune(f"{PAIRS} --restarts 4")
    yield _tune(PAIRS, exhaustive=True)
    yield _tune(f"{PAIRS} --restarts 6 --seed 5", threads=2)
    yield _tune(f"{PAIRS} --restarts 4 --seed 7 --directions 5")
    yield _tune(f"{PAIRS} --search coordinate --restarts 3")
    yield _tune(f"{PAIRS} --search powell --restarts 3")
    yield _tune(f"{PAIRS} --search gradient --restarts 2")
    yield _tune(f"{LISTS} --restarts 0 --no-oracle --also wer")
    yield _tune(f"{LISTS} --start lists.w --restarts 2 --metric wer")
    for policy in ("closest", "widest"):
        yield _tune(f"{PAIRS} --policy {policy} --restarts 2")
        yield _tune(f"{PAIRS} --policy {policy} --search coordinate --restarts 2")
    for smoothing in ("min", "mean"):
        yield _tune(f"{PAIRS} --smoothing {smoothing} --restarts 2")
        yield _tune(f"{LISTS} --metric ter --policy widest --smoothing {smoothing} --restarts 2")
    yield from _constraints(LISTS, "lists.w", ("lm", "tm_0", "tm_1", "hint"))
    yield _tune(f"{PAIRS} --folds 3 --restarts 2")
    yield _tune(f"{LISTS} --heldout heldout.moses --heldout-ref heldout.ref.0 --restarts 2")
    yield _tune(f"{PAIRS} --replicates 3 --restarts 2")
    yield _tune(
        f"{LISTS} --replicates 2 --restarts 1 --heldout heldout.moses --heldout-ref heldout.ref.0 --metric chrf"
    )
    yield _tune(f"{LISTS} --replicates 2 --folds 2 --restarts 1", exhaustive=True)
    yield _tune(f"{LISTS} --restarts 1 --metric ter --start lists.w --sign lm=+ --also chrf,meteor")
    free = f"{LISTS} --start lists.w --certify"
    yield _tune(f"{free} --free lm --metric wer --gap 0")
    yield _tune(f"{free} --free lm,words --metric wer --gap 0")
    yield _tune(f"{LISTS} --fix hint=0 --fix words=0 --certify --metric wer --gap 0")
    yield _tune(f"{free} --free lm,tm_0 --metric bleu --gap 0.01")
    yield _tune(f"{free} --free lm,tm_0 --metric chrf --gap 0.01")
    yield _tune(f"{free} --free words,tm_1 --metric ter --gap 0.1")
    yield _tune(f"{free} --free lm,words --min lm=0.25 --max lm=2 --min words=-1 --max words=1 --metric wer --gap 0")
    yield _tune(f"{LISTS} --certify --fix tm_0=0.5 --fix words=0 --tie lm,hint --metric wer --gap 0")
    yield _tune(f"{free} --free lm,words,hint --sign lm=+ --sign words=- --metric wer --gap 0")
    yield _tune(f"{free} --free lm,words,tm_0 --metric wer --gap 0")
    yield _tune(f"{free} --free lm,words,tm_0,hint --metric wer --gap 0.01", exhaustive=True)
    yield _tune(f"{free} --free lm,words --metric wer --gap 0 --heldout heldout.moses --heldout-ref heldout.ref.0")


def _constraints(data: str, start: str, features: tuple[str, str, str, str], rest: str = "") -> Iterator[Case]:
    """Every kind of constraint, alone and together."""
    a, b, c, d = features
    for options in (
        f"--fix {a}=1",
        f"--fix {a}=0",
        f"--start {start} --free {a},{b}",
        f"--min {a}=0.1 --max {a}=0.5 --max {b}=1",
        f"--min {a}=0 --max {b}=0",
        f"--sign {a}=+ --sign {b}=-",
        f"--tie {a},{b}",
        f"--tie {a},{b} --tie {c},{d}",
        "--scale l2",
        "--scale none",
        f"--fix {a}=1 --min {b}=0.125 --max {b}=2 --tie {b},{c} --scale none",
    ):
        yield _tune(f"{data} {options} --restarts 2 {rest}")
    yield _tune(f"{data} --min {a}=0.1 --search coordinate --restarts 1 {rest}")
    yield _tune(f"{data} --sign {a}=+ --search powell --restarts 1 {rest}")
    yield _tune(f"{data} --tie {a},{b} --search gradient --restarts 1 {rest}")


def _list_metrics() -> Iterator[Case]:
    for metric in (
        "bleu:tokenize=none", "bleu:tokenize=intl,lowercase=true", "bleu:smooth_method=floor", "chrf", "chrf++", "ter",
        "chrf:eps_smoothing=true", "mer", "cer", "meteor", "fmeasure", "0.5*bleu - 0.5*ter", "0.5*wer + 0.5*cer",
    ):  # fmt: skip
        references = ONE_REF if metric in ("mer", "cer", "0.5*wer + 0.5*cer") else TWO_REFS
        yield _tune(f"lists.moses {references} --metric '{metric}' --restarts 2")
    yield _tune(f"{LISTS} --metric wer --restarts 2")
    yield _tune(f"{PAIRS} --metric wer --restarts 2")
    yield _tune(f"{LISTS} --metric given:scores=lists.ratings.tsv --restarts 2")
    yield _tune(f"{LISTS} --metric given:scores=lists.ratings.tsv,weight=tokens --restarts 1")
    for metric in ("accuracy", "exact_match:normalize=numeric"):
        yield _tune(f"answers.jsonl --metric {metric} --restarts 2")
    yield _tune("answers.jsonl --metric accuracy --fix votes=1 --certify --gap 0")
    yield _tune("tags.moses --ref tags.ref --metric fmeasure:items=bio --restarts 2")
    yield _tune("tags.moses --ref tags.ref --metric fmeasure:items=bio,beta=2 --search coordinate --restarts 2")
    yield _tune("tags.moses --ref tags.ref --metric fmeasure:items=bio --fix length=0 --certify --gap 0.01")
    yield _case(
        f"tune {LISTS} --metric ask --no-oracle --search coordinate --restarts 0 --questions asked.jsonl",
        files="asked.jsonl",
    )


def _list_tools() -> Iterator[Case]:
    yield _case("rerank lists.moses --weights lists.w")
    yield _case("rerank lists.moses --weights lists.w --best 3")
    yield _case("rerank lists.moses --weights other.w --best 2 --as jsonl")
    yield _case("rerank lists.moses --weights lists.w --as tsv")
    yield _case(f"compare lists.w other.w {PAIRS}")
    yield _case(f"compare baseline lists.w {LISTS} --metric wer")
    yield _case("rerank lists.moses --weights ties.w --best 4")
    yield _case(f"score {PAIRS} --weights lists.w --also chrf,ter,meteor,wer")
    yield _case(f"score {LISTS} --weights other.w --metric cer --also mer")
    yield _case(*[f"score {PAIRS} --weights lists.w --metric ter --store s.sqlite"] * 2)
    for metric in ("wer", "cer", "bleu", "chrf", "ter", "fmeasure"):
        yield _case(f"score {LISTS} --oracle --metric {metric}")
    yield _case(f"score {PAIRS} --oracle --metric wer")
    yield _case(f"score {PAIRS} --oracle --out best.txt", files="best.txt")
    yield _case(f"surface {PAIRS} --weights lists.w --feature words")
    yield _case(f"surface {LISTS} --metric wer --weights lists.w --feature lm --json")
    yield _case(f"surface {LISTS} --metric ter --weights lists.w --to other.w")
    yield _case(f"surface {LISTS} --metric wer --weights lists.w --plane lm words --grid 5x4 --json")
    yield _case("kbest lists.moses --weights lists.w --k 3")
    yield _case("kbest lists.moses --weights ties.w --k 4 --distinct")
    yield _case("kbest lists.moses --weights lists.w --sample 5 --temperature 2 --seed 4")
    yield _case(f"info {PAIRS}")
    yield _case("convert lists.moses lists.hull --features chars,rank", f"tune lists.hull {ONE_REF} --restarts 1")
    yield _case(
        "convert lists.moses lists.copy.jsonl",
        "convert lists.copy.jsonl lists.copy.nbest",
        files="lists.copy.jsonl lists.copy.nbest",
    )
    # The one answer that was changed on purpose: texts used to be written as one word each, spaces and all.
    yield _case("convert heldout.moses pruned/ --to slf --beam 2 --weights lists.w", files="pruned")


def _list_formats() -> Iterator[Case]:
    for file, weights, rest in (
        ("table.csv", "table.w", ""), ("table.tsv", "table.w", ""), ("generate.txt", "score.w", ""),
        ("manifest.json", "score.w", ""), ("sockeye.json", "score.w", "--ref eight.ref"),
        ("scores", "hypergraphs.w", "--ref eight.ref"), ("srilm", "lists.w", ""), ("heldout.jsonl", "lists.w", ""),
        ("heldout.sparse", "lists.w", "--ref heldout.ref.0"),
    ):  # fmt: skip
        rerank = f"rerank {file} --weights {weights} --missing 0 --best 2"
        yield _case(f"info {file} {rest}", rerank)
    yield _tune("lists.jsonl --restarts 2")
    yield _tune(f"lists.sparse {ONE_REF} --restarts 2")
    yield _tune("table.csv --metric wer --restarts 2")
    yield _tune(f"lists.moses heldout.moses {ONE_REF} --restarts 1")
    yield _tune(f"{LISTS} --features chars,rank,consensus,log_length --restarts 1")
    yield _tune(f"{LISTS} --add lists.scores one --add lists.ranked-scores two --restarts 1")
    yield _case("rerank lists.broken --on-error skip --weights lists.w")
    yield _case("info many.moses --ref many.ref", "rerank many.moses --weights hypergraphs.w --missing 0 --best 2")
    yield _tune("many.moses --ref many.ref --restarts 0")
    yield _tune("lacking.jsonl --missing 0 --restarts 1")


def _forests() -> Iterator[Case]:
    yield _tune(f"{LATTICES} --metric wer --restarts 4")
    yield _tune(f"{LATTICES} --metric wer --restarts 4", threads=2)
    yield _tune(f"{LATTICES} --metric wer", exhaustive=True)
    for search in ("coordinate", "powell", "gradient"):
        yield _tune(f"{LATTICES} --metric wer --search {search} --restarts 2")
        yield _tune(f"{HYPERGRAPHS} --search {search} --restarts 2")
    for metric in ("bleu", "chrf", "cer", "mer", "ter", "meteor"):
        yield _tune(f"{LATTICES} --metric {metric} --restarts 1 --start lattices.w")
    yield from _constraints(HYPERGRAPHS, "hypergraphs.w", ("lm", "tm", "words", "glue"), "--metric chrf")
    yield _tune(f"{HYPERGRAPHS} --ref hypergraphs.ref.1 --restarts 4")
    yield _tune(f"{HYPERGRAPHS} --folds 3 --restarts 2")
    yield _tune(f"{HYPERGRAPHS} --replicates 3 --restarts 1 --metric ter")
    yield _tune(f"{HYPERGRAPHS} --heldout with-empty.forest --heldout-ref with-empty.ref --restarts 1")
    yield _tune(f"{HYPERGRAPHS} --no-oracle --also wer --restarts 1 --start hypergraphs.w")
    yield _tune(f"{HYPERGRAPHS} --policy closest --smoothing mean --restarts 2")
    yield _tune(f"{HYPERGRAPHS} --policy widest --smoothing min --restarts 2")
    yield _tune("with-empty.forest --ref with-empty.ref --metric wer --restarts 2")
    yield _tune("sparse.forest --ref sparse.ref --restarts 1")
    yield _tune("sparse.forest --ref sparse.ref --search gradient --restarts 0 --metric chrf")
    yield _tune("slf again --ids lattices.ids --ref lattices.ref --metric wer --restarts 2")
    yield _tune(f"lists.moses 'hg/*.hg' --ids name {ONE_REF} --missing 0 --restarts 2")
    yield _tune(f"{LATTICES} --metric wer --negate language --drop the,a --restarts 1")
    yield _tune(f"{LATTICES} --metric wer --start lattices.w --free language,words --certify --gap 0")
    yield _tune(f"{LATTICES} --metric cer --start lattices.w --free language --certify --gap 0")
    yield _tune(f"{HYPERGRAPHS} --start hypergraphs.w --free lm,tm --certify --gap 0.01")
    yield _tune(
        f"{HYPERGRAPHS} --metric wer --start hypergraphs.w --free tm,glue --min tm=0 --max tm=2 --max glue=1 "
        "--certify --gap 0"
    )


def _forest_tools() -> Iterator[Case]:
    for data, weights in (("slf", "lattices.w"), ("hypergraphs.forest", "hypergraphs.w")):
        yield _case(f"kbest {data} --weights {weights} --k 20")
        yield _case(f"kbest {data} --weights {weights} --k 20 --distinct --as jsonl")
        yield _case(f"kbest {data} --weights {weights} --sample 20 --temperature 3 --seed 2")
        yield _case(f"rerank {data} --weights {weights}", f"rerank {data} --weights {weights} --best 4 --as jsonl")
        other, reference = ("sphinx.w", "lattices.ref") if data == "slf" else ("other.w", "hypergraphs.ref")
        yield _case(f"compare {other} {weights} {data} --ref {reference} --metric wer")
        yield _case(f"info {data}")
        yield _case(f"convert {data} {weights}.forest --to forest", files=f"{weights}.forest")
        for how in ("beam 4", "density 3"):
            out = f"{weights}.{how[:4]}.forest"
            yield _case(f"convert {data} {out} --to forest --{how} --weights {weights}", files=out)
        yield _case(f"convert {data} {weights}.hull", f"kbest {weights}.hull --weights {weights} --k 3")
    yield _case("kbest sparse.forest --weights hypergraphs.w --k 5")
    for metric in ("wer", "cer", "bleu", "mer"):
        yield _case(f"score {LATTICES} --oracle --metric {metric} --weights lattices.w --k 50")
        yield _case(
            f"score {HYPERGRAPHS} --oracle --ref hypergraphs.ref.1 --metric {metric} --weights hypergraphs.w --k 50"
        )
    yield _case(f"score {LATTICES} --oracle --metric wer --out nearest.txt", files="nearest.txt")
    yield _case(f"score {LATTICES} --weights lattices.w --metric wer --also cer,bleu")
    yield _case(f"score {HYPERGRAPHS} --weights hypergraphs.w --also chrf,ter")
    yield _case(f"surface {LATTICES} --metric wer --weights lattices.w --feature language")
    yield _case(f"surface {HYPERGRAPHS} --weights hypergraphs.w --feature words")
    yield _case(f"surface {HYPERGRAPHS} --weights hypergraphs.w --metric wer --plane lm glue --json")
    yield _case("convert slf copy-slf/ --to slf", files="copy-slf")
    yield _case("convert slf copy-fst/ --to openfst-text", files="copy-fst")


def _forest_formats() -> Iterator[Case]:
    for data, weights, rest in (
        ("openfst", "pairs.w", ""), ("kaldi.txt", "kaldi.w", "--symbols words.txt"), ("lattices.plf", "pairs.w", ""),
        ("binary", "score.w", "--symbols words.txt"), ("tuples", "tuples.w", "--symbols words.txt"),
        ("kaldi.ark", "kaldi.w", "--symbols words.txt"),
        ("plain.osg", "transitions.w", ""), ("extended.osg", "core.w", ""), ("cdec", "hypergraphs.w", ""),
        ("travatar.json", "hypergraphs.w", ""), ("joshua", "hypergraphs.w", ""),
    ):  # fmt: skip
        reference = "lattices.ref" if weights != "hypergraphs.w" else "hypergraphs.ref"
        yield _case(
            f"info {data} {rest}",
            f"kbest {data} {rest} --weights {weights} --k 5",
            f"tune {data} {rest} --ref {reference} --metric wer --restarts 1",
        )


def _loops() -> Iterator[Case]:
    for kind in ("", "--lattice", "--forest"):
        yield _case(
            f"loop --decoder '{DECODER}{'/' if kind == '--lattice' else ''} {kind or '--nbest {nbest}'}' --nbest 30 "
            f"--weights loop.w --input loop.de --ref loop.en --iterations 2 --restarts 1 --run loop{kind[1:]}",
            exhaustive=kind == "--forest",
        )


def _shared_lists() -> Iterator[Case]:
    yield _tune(f"{FRENCH} --restarts 2 --seed 3")
    yield _tune(f"{FRENCH} --search coordinate --restarts 1")
    yield _tune(f"{FRENCH} --search powell --restarts 0 --metric ter", exhaustive=True)
    yield _tune(f"{FRENCH} --search gradient --restarts 0")
    yield _tune(
        f"{FRENCH} --metric chrf --fix canoe3=1 --min canoe2=0.125 --sign canoe1=+ "
        "--tie nbestWordPostSrc,nbestWordPostTrg --restarts 1"
    )
    yield _tune(f"{FRENCH} --folds 2 --restarts 0 --no-oracle", exhaustive=True)
    yield _tune(f"{FRENCH} --metric meteor --restarts 0", exhaustive=True)
    yield _tune(FRENCH, exhaustive=True)
    yield _case(f"score {FRENCH} --weights french.w --missing 0 --also chrf,wer")
    yield _case("rerank shared/fr_en/nbest.moses.gz --weights french.w --best 5")
    yield _case(f"surface {FRENCH} --weights french.w --feature canoe1")
    yield _case(f"info {FRENCH}")
    yield _tune(f"{GERMAN} --start {DECODED} --restarts 1")
    yield _tune(f"{GERMAN} --restarts 1 --policy widest --smoothing min", exhaustive=True)
    yield _tune(f"{GERMAN} --restarts 1 --policy closest --scale l2", exhaustive=True)
    yield _tune(f"{GERMAN} --restarts 0 --replicates 2 --metric chrf", exhaustive=True)
    yield _tune(f"{GERMAN} --restarts 0 --folds 3", exhaustive=True)
    yield _tune(GERMAN, exhaustive=True)
    yield _tune(f"{GERMAN} --start {DECODED} --free LanguageModel,WordPenalty --certify")
    yield _tune(
        f"{GERMAN} --start {DECODED} --free LanguageModel,WordPenalty,PhraseModel_0 --certify --gap 0.01",
        exhaustive=True,
    )
    yield _case(f"score {GERMAN} --oracle")
    yield _tune(f"{SPEECH} --metric wer --restarts 3 --fix am=1")
    yield _tune(f"{SPEECH} --metric cer --search powell --restarts 2")
    yield _tune(f"{SPEECH} --metric wer --folds 4 --restarts 1 --fix am=1")
    yield _tune(f"{SPEECH} --metric wer --start speech.w --free lm3,words --certify --gap 0")
    yield _tune(f"{SPEECH} --metric wer --start speech.w --fix am=1 --certify --gap 0", exhaustive=True)
    yield _tune(f"{SPEECH} --metric mer --start speech.w --free lm3,words --certify --gap 0")
    yield _case(f"surface {SPEECH} --metric wer --weights speech.w --plane lm3 words --grid 6x6 --json")
    yield _tune(f"{LINKS} --restarts 3")
    yield _tune(f"{LINKS} --search coordinate --restarts 1 --folds 2")
    yield _tune(f"{LINKS} --start links.w --free links,in_fwd --certify --gap 0.0001")
    yield _case(f"score {LINKS} --weights links.w")


def _shared_forests() -> Iterator[Case]:
    yield _tune(f"{FEW_FORESTS} --restarts 1")
    yield _tune(f"{FORESTS} --restarts 2", exhaustive=True)
    yield _tune(f"{FEW_FORESTS} --search gradient --restarts 0 --metric chrf")
    yield _tune(f"{FORESTS} --search coordinate --restarts 0 --metric ter", exhaustive=True)
    yield _tune(f"{FEW_FORESTS} --start {DECODED} --sign LanguageModel=+ --fix Glue=0 --restarts 0")
    yield _tune(f"shared/de_en/nbest.txt.gz {FORESTS} --restarts 0", exhaustive=True)
    yield _case(f"kbest {FEW} --ids name --weights {DECODED} --k 50 --distinct")
    yield _case(f"score {FEW_FORESTS} --oracle --weights {DECODED}")
    yield _case(
        f"convert {FEW} german.forest --ids name --to forest --beam 3 --weights {DECODED}", files="german.forest"
    )
    yield _case(f"score {FORESTS} --weights {DECODED} --also chrf")
    yield _case(f"surface {TWO_FORESTS} --metric bleu:tokenize=none --weights cdec.w --feature WordPenalty")
    yield _tune(f"{TWO_FORESTS} --metric bleu:tokenize=none --start cdec.w --restarts 0 --search coordinate")
    yield _case("kbest 'shared/cdec_two_forests/*.hg.gz' --weights cdec.w --k 100")
    yield _case("kbest 'shared/cdec_two_forests/*.hg.gz' --weights cdec.w --sample 50 --seed 9")
    yield _tune(f"{FEW_RUSSIAN} --restarts 0 --start russian.w")
    yield _tune(f"{RUSSIAN} --restarts 1 --start russian.w", exhaustive=True)
    yield _tune(f"{RUSSIAN} --restarts 0 --search powell", exhaustive=True)
    yield _case("kbest 'shared/ru_en_lattices/[12]?.fst.gz' --ids name1 --weights russian.w --k 30 --distinct")
    yield _case(f"score {RUSSIAN} --weights russian.w --also chrf")
    yield _case(f"info {RUSSIAN}")
    yield _tune(f"{SPHINX} --metric wer --fix acoustic=1 --restarts 0")
    yield _tune(f"{SPHINX} --metric mer --restarts 3", exhaustive=True)
    yield _tune(f"{SPHINX} --metric wer --start sphinx.w --free language --certify --gap 0")
    yield _tune(f"{SPHINX} --metric wer --fix acoustic=1 --certify --gap 0", exhaustive=True)
    yield _case(f"score {SPHINX} --oracle --metric wer")
    yield _case("rerank shared/asr_tts/slf --ids shared/asr_tts/ids.txt --weights sphinx.w --best 3")
    yield _case(f"surface {SPHINX} --metric wer --weights sphinx.w --plane language words --json", exhaustive=True)
