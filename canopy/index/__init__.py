"""The index over all item vectors: building it by stages, and searching in it."""

from canopy.index.search import Fingerprinted, Hit, VectorIndex

__all__ = ["Fingerprinted", "Hit", "VectorIndex"]
