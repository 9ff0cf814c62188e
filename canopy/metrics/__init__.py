"""Scores: each benchmark's official metric, and paired bootstrap intervals."""
