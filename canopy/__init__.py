"""CANOPY: post-retrieval evidence compression for multimodal RAG.

Each retrieved item becomes a tree of its own regions; a region is kept only where it stands out
against its parent; a critic asks for what is still missing.
"""

__version__ = "0.1.0"
