"""Text: sentences, tokens, where an answer stands."""
