"""Corpora: the constructed mini corpus, the five benchmarks' native files, and their union."""
