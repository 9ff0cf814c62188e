"""The encoder of queries, items and region nodes, and its fine-tuning on gold preferences."""
