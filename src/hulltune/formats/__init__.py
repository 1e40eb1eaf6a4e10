"""Files of all formats, one module a format: reading first, writing last; errors carry file:line.

What is where:

- any format: read (the way in), write (the way out), registry (which formats there are, and which one a file is in),
  found_files (of names, patterns and folders)
- on the way to a dataset: rows (lists), records (names with values), forest_files (what every reader of forests takes
  and gives), forest_reading (many such files by threads and processes), forest_names (which sentence each belongs to)
- formats of lists: moses, jsonl (also records from memory), table, toolkits (fairseq, NeMo, Sockeye), srilm,
  score_folder; beside them: further_features (scores in other files, and what the words give)
- formats of forests: forest_text (also Joshua's), cdec_json, travatar, moses_graph, plf
- formats of lattices: openfst, kaldi, slf, k2; parts of the first two: fst_binary, fst_text, symbols
- documents that rankers scored: trec (runs and judgements), letor, hits (features that search engines log); rankings
  (what becomes lists of them), engines (weights as search engines take them)
- beside them: packed (packed files), references, weights, result_files
- what readers share: streams (files), numbers; for JSON: json_text; for forests: forest_building,
  lattice_writing, word_rules; what writers share: writing (files that appear whole)
"""

from __future__ import annotations

from hulltune.formats.further_features import add_builtin_features
from hulltune.formats.jsonl import write_jsonl
from hulltune.formats.packed import open_packed, pack
from hulltune.formats.read import read
from hulltune.formats.references import as_references, read_references
from hulltune.formats.registry import sniff
from hulltune.formats.weights import read_weights, write_weights
from hulltune.formats.write import write
from hulltune.names import BUILTIN_FEATURES, FORMATS, WEIGHT_FORMATS

__all__ = [
    "BUILTIN_FEATURES",
    "FORMATS",
    "WEIGHT_FORMATS",
    "add_builtin_features",
    "as_references",
    "open_packed",
    "pack",
    "read",
    "read_references",
    "read_weights",
    "sniff",
    "write",
    "write_jsonl",
    "write_weights",
]
