"""Invented names from a syllable grammar, partitioned by split.

A word is a stem of two syllables and an ending of exactly two letters, so the stem can be read off
any word. The split of a stem is a hash of its letters: it depends on no seed and no corpus size, and
an entity of one split can never occur in another, whatever the corpora are.
"""

from __future__ import annotations

import hashlib
import random

from canopy.contracts import Split

_ONSETS = (*"BDFGHJKLMNPRSTVW", "Br", "Dr", "Gr", "Tr", "St", "Sk", "Th", "Fl", "Gl", "Cl", "Kr")
_VOWELS = tuple("aeiou")
_CODAS = ("", "", "", *"lrnsm")
_MIDDLES = tuple("bdfgklmnprstv")
ENDINGS = {
    "feminine": ("la", "na", "ra", "le", "ne", "sa"),
    "masculine": ("rn", "do", "ck", "ld", "nn", "th"),
    "surname": ("rn", "ll", "st", "sk", "nd", "rt", "ck", "ld", "ne", "re", "lm", "ss"),
    "place": ("na", "ra", "nd", "rd", "th", "ne", "va", "re", "lm", "st"),
    "thing": ("na", "ne", "ra", "re", "la", "le", "va", "ve", "ll", "nt"),
}


def split_of(word: str) -> Split:
    """The split that a word of the grammar belongs to."""
    digit = hashlib.sha256(word[:-2].lower().encode()).digest()[0] % 10
    return "train" if digit < 5 else "dev" if digit < 7 else "test"


class Names:
    """Fresh names of one split; no word is given out twice."""

    def __init__(self, split: Split, rng: random.Random) -> None:
        """Names of ``split``, drawn from ``rng``."""
        self._split = split
        self._rng = rng
        self._used: set[str] = set()

    def word(self, style: str) -> str:
        """A new word with an ending of the given style."""
        while True:
            word = self._draw(style)
            if word not in self._used:
                self._used.add(word)
                return word

    def near(self, word: str, style: str) -> str:
        """A new word that differs from a given one in its ending only (another word if all are taken)."""
        endings = [e for e in ENDINGS[style] if word[:-2] + e not in self._used]
        if not endings:
            return self.word(style)
        alike = [e for e in endings if e[0] == word[-2]] or endings
        near = word[:-2] + self._rng.choice(alike)
        self._used.add(near)
        return near

    def first_name(self, feminine: bool) -> str:
        """A first name; unlike other words it may come again."""
        return self._draw("feminine" if feminine else "masculine")

    def _draw(self, style: str) -> str:
        pick = self._rng.choice
        while True:
            first, coda, middle = pick(_ONSETS) + pick(_VOWELS), pick(_CODAS), pick(_MIDDLES)
            word: str = first + ("" if coda == middle else coda) + middle + pick(_VOWELS) + pick(ENDINGS[style])
            if split_of(word) == self._split:
                return word
