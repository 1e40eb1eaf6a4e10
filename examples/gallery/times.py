"""A ⊗ B, the product of the semiring: the sum of two envelopes, and the hull of all sums of their points."""

import hulltune
from hulltune.semirings import Hull

a = Hull.from_lines([(-1.0, 1.2), (-0.25, 2.0), (1.0, 1.1)])
b = Hull.from_lines([(-0.6, 0.2), (0.2, 0.5), (1.4, -0.3)])
picture = hulltune.plot_times(a, b)
picture.save("times.png", dpi=80)
