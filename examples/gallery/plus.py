"""A ⊕ B, the sum of the semiring: the larger of two envelopes, and the hull of the union of their points."""

import hulltune
from hulltune.semirings import Hull

a = Hull.from_lines([(-1.0, 1.2), (-0.25, 2.0), (1.0, 1.1)])
b = Hull.from_lines([(-0.6, 0.2), (0.2, 0.5), (1.4, -0.3)])
picture = hulltune.plot_plus(a, b)
picture.save("plus.png", dpi=80)
