"""Compiled kernels: the only room that imports Numba.

Every kernel works on plain arrays, releases the GIL, and has a slow, readable oracle in the tests. Nothing outside
imports these modules at import time: `import hulltune` stays quick, and the first call pays for Numba.

What is where:

- scores, and what makes sums exact: scores, magnitudes, exact, segments, feature_ranges
- the envelope of a forest: envelopes (many), hull and lanes (the two methods), graph (order of nodes)
- the envelope of a list: list_envelopes (many), scan (one); with scores and all, for tuning: list_lines, list_chains,
  list_scores, list_features (a matrix or sparse rows)
- from envelopes to the next step: surface, line_surface, steps, step_limits
- other passes over forests: inside, inside_hull, marginals, kbest, kbest_pool, sampling, derivations, depths,
  output, nearest_output
- certified search: certify, choices
- metrics: tokens, ngrams, edits, ter, meteor, metric_scores
- reading lists: moses, moses_fields, moses_tables; and the texts of candidates: texts
- reading lattices: fst_binary, fst_text, slf
- what readers share: decimals, blanks, interning
- tools: _jit (the decorator), simd
"""
