"""Duality: three of four lines win somewhere, one is obscured; in the dual, three points are on the lower hull."""

import hulltune

forest = hulltune.Forest.from_nbest(
    ["y1", "y2", "y3", "y4"],
    [[-1.0, 1.2], [-0.25, 2.0], [0.45, 1.2], [1.0, 1.1]],
    feature_names=["direction", "origin"],
)
picture = hulltune.plot_envelope(forest, {"origin": 1.0}, {"direction": 1.0})
picture.save("duality.png", dpi=80)
