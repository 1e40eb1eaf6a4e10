"""The lines of a candidate list with their upper envelope, beside the dual points with their lower hull."""

import hulltune

forest = hulltune.Forest.from_nbest(
    ["the cat sleeps", "a cat sleeps", "cat sleep", "the cat the cat"],
    [[-2.0, 3], [-2.5, 3], [-4.0, 2], [-6.0, 4]],
    feature_names=["lm", "words"],
)
picture = hulltune.plot_envelope(forest, {"lm": 1.0}, {"words": 1.0})
picture.save("candidates.png", dpi=80)
