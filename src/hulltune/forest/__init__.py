"""Hypothesis spaces as packed arrays: n-best lists, lattices and hypergraphs are one structure."""

from hulltune.forest.builder import ForestBuilder
from hulltune.forest.corpus import Corpus
from hulltune.forest.features import DenseFeatures, SparseFeatures
from hulltune.forest.forest import Forest, Pruned
from hulltune.forest.vocabulary import Vocabulary

__all__ = ["Corpus", "DenseFeatures", "Forest", "ForestBuilder", "Pruned", "SparseFeatures", "Vocabulary"]
