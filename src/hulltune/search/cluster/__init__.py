"""Searches over many processes or machines: workers hold shards of the sentences, and one driver decides.

What is where:

- protocol: the questions that the driver puts to workers, and their answers
- shard_files: shards as packed files that are named by their content
- worker: answers questions about one shard
- told: statistics that only the driver knows
- fleets: who carries questions to workers (the interface, and the book of open calls); processes and its other end,
  process, over plain local processes; actors over Ray (ray_session: joining it)
- bins: the best steps along lines from sums over bins of η, exact, at a cost that does not grow with the corpus
- driver: the searcher that tuning sees; it chooses between bins and everything at once
- journal: the answers of a run on disk, so that a run that was killed goes on where it was
- starting: a driver for a name, "processes" or "ray"
"""
