"""The metric on the line from the tuned weights to the weights that tuning started from."""

import hulltune
from hulltune.simulate import simulated_task

task = simulated_task(sentences=60, candidates=20, seed=1)
result = hulltune.tune(task.lists, metric="wer")
picture = result.plot_surface(to=result.start)
picture.save("between.png", dpi=80)
