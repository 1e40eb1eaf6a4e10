"""Compiled kernels: the only room that imports Numba, and only to build the shared library of machine code.

Every kernel works on plain arrays, releases the GIL, and has a slow, readable oracle in the tests.

What is where:

- scores/: scores, and what makes sums exact: scores, magnitudes, exact, segments
- lists/: from features to envelopes: lines (many directions at once), chains (where rounding leaves doubt), scores and
  winners, features (a matrix or sparse rows)
- forests/: forest (the arrays), envelopes (many), hull and lanes (the two methods), graph (order of nodes); other
  passes: inside, marginals, kbest, kbest_pool, sampling, derivations
- outputs/: output, nearest_output, texts (of candidates)
- surfaces/: from envelopes to the next step: sweep (sums of statistics along lines), steps (the rule), rows (of
  outputs), constants
- orders/: orders of documents: changes (of their value along a line), bounds (of it, through a box of weights)
- certify/: certified search: choices, winners
- metrics/: packed, tokens, ngrams, edits, ter, meteor, scores
- reading/: lists: moses; lattices: fst_binary, fst_text, slf; what readers share:
  decimals, blanks, interning
- directions/: lines to search: intervals (within bounds), matrices (the same bits everywhere)
- simd/: simd and operations (sixteen doubles at once)
- load/: where machine code comes from: kernel (the decorators), library (the shared library of this machine, loaded),
  build and compile (making it, by Numba), runtime.c (kernels as functions of Python, and the memory of their arrays)
"""
