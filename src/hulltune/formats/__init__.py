"""One file per format: parse and write; errors carry file:line.

What is where:

- any format: read (lists), read_forests, sniff and forest_formats (which it is), convert (written again)
- what they become: candidates (lists; rows on the way, records without a file), forest_set (forest_files, what every
  reader takes and gives)
- formats of lists: moses, jsonl, table, fairseq, nemo, sockeye, srilm, score_folder; further scores: extra_scores,
  builtin_features
- formats of forests: forest_text, cdec_json, travatar, joshua, moses_graph, plf
- formats of lattices: openfst, openfst_writing, kaldi, fst_binary, fst_text, symbols; slf, slf_reading, slf_scales,
  slf_writing; k2
- beside them: references, weights, ranked (reranked lists), result_files
- packed files: packed, packed_forests, packed_file
- what readers share: streams, problems, numbers, growing; of JSON, json_lines and json_text; of forests, raw_edges,
  source_text, lattices, lattice_writing, word_rules
"""

from __future__ import annotations

from hulltune.formats.builtin_features import BUILTIN_FEATURES, add_builtin_features
from hulltune.formats.candidates import CandidateLists, Provenance
from hulltune.formats.forest_set import ForestSet
from hulltune.formats.jsonl import write_jsonl
from hulltune.formats.packed import open_packed, pack
from hulltune.formats.packed_forests import open_forests, pack_forests
from hulltune.formats.problems import Skipped
from hulltune.formats.read import read_lists
from hulltune.formats.read_forests import read_forests
from hulltune.formats.references import match_references, read_references
from hulltune.formats.sniff import FORMATS, sniff
from hulltune.formats.weights import WEIGHT_FORMATS, read_weights, write_weights

__all__ = [
    "BUILTIN_FEATURES",
    "FORMATS",
    "WEIGHT_FORMATS",
    "CandidateLists",
    "ForestSet",
    "Provenance",
    "Skipped",
    "add_builtin_features",
    "match_references",
    "open_forests",
    "open_packed",
    "pack",
    "pack_forests",
    "read_forests",
    "read_lists",
    "read_references",
    "read_weights",
    "sniff",
    "write_jsonl",
    "write_weights",
]
