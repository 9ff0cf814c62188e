"""The small reader's adapter: its training examples, training, and card."""
