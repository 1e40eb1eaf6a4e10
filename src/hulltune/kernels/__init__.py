"""Compiled kernels: the only room that imports Numba.

Every kernel works on plain arrays, releases the GIL, and has a slow, readable oracle in the tests. Machine code comes
with the package (_library) and is loaded without Numba, which is imported only to compile what that does not have.

What is where:

- scores, and what makes sums exact: scores, magnitudes, exact, segments, feature_ranges
- the envelope of a forest: envelopes (many), hull and lanes (the two methods), graph (order of nodes)
- the envelope of a list: list_envelopes (many), scan (one); with scores and all, for tuning: list_lines, list_chains,
  list_scores, list_features (a matrix or sparse rows)
- from envelopes to the next step: joining, surface, line_surface, rows, line_minima, bins, rough_kinds, steps,
  step_limits
- exact judging: judge, near_ties (in forests), list_winners, rounding (bounds), exact_features (what numbers mean),
  pairs (of doubles), wholes (whole numbers)
- other passes over forests: inside, inside_hull, marginals, kbest, kbest_pool, sampling, derivations, depths,
  output, nearest_output
- certified search: certify, choices
- metrics: tokens, ngrams, edits, ter, meteor, metric_scores
- reading lists: moses, moses_fields, moses_tables; and the texts of candidates: texts
- reading lattices: fst_binary, fst_text, slf
- what readers share: decimals, blanks, interning
- lines to search: intervals (within bounds), evolution, cholesky
- tools: simd and simd_operations (sixteen doubles at once)
- where machine code comes from: _jit (the decorator), _calls (the types of a call), _library (compiled kernels in a
  file), _building (making such a file), _compiler (Numba and its cache), _options
  (of Numba), _trust (files that may be loaded)
"""
