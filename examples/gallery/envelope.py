"""The envelope of a lattice: the paths that win for some weight of the language model, and some that come near."""

import hulltune

arcs = [
    (0, 1, "recognise", [-2.0, -1.0]),
    (0, 1, "wreck a nice", [-1.0, -3.0]),
    (1, 2, "speech", [-1.0, -1.0]),
    (1, 2, "peach", [-0.5, -2.5]),
    (1, 2, "beach", [-0.4, -2.0]),
]
lattice = hulltune.Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
picture = hulltune.plot_envelope(lattice, {"am": 1.0}, {"lm": 1.0})
picture.save("envelope.png", dpi=80)
