"""The constructed mini corpus: an invented world, written out in five native raw formats."""
