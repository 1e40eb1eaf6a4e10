"""The metric over two weights, small enough for a README: pictures are figures of matplotlib, to be changed at will."""

import hulltune
from hulltune.simulate import simulated_task

task = simulated_task(sentences=100, candidates=20, seed=1)
weights = {"forward": 1.0, "backward": 0.6, "fluency": 0.8, "hint": 0.3}
plane = hulltune.metric_plane(task.lists, weights, ("hint", "length"), metric="wer", grid=(6, 6))
picture = plane.plot()
picture.set_size_inches(4.1, 3.1)
picture.axes[0].set_title("")
picture.legends[0].remove()
handles = picture.axes[0].get_legend_handles_labels()[0]
picture.legend(handles=[handles[2], *handles[:2], *handles[3:]], loc="outside upper center", frameon=False)
picture.save("plane_small.png", dpi=200)
