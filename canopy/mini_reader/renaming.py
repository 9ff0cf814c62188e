"""New names for the invented ones, so that the reader learns to copy names and not to know them.

A renaming swaps letters of one kind for each other, in all names alike: what is spelled alike, or nearly alike,
stays so.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

from canopy.contracts import Item
from canopy.prompts import NAMES, template_text
from canopy.regions.render import render

_KINDS = ("aeiou", "bdgptk", "lr", "mn", "fsv")
# A word in more items than this is no one's name: Expedition, Register.
_MOST_ITEMS = 8
_KEPT = 0.25
_WORD = re.compile(r"[^\W\d_]+")


class Renamer:
    """Draws renamings of the names of a corpus."""

    def __init__(self, items: Sequence[Item], seed: int) -> None:
        """Find the names: words of four letters or more that are always capitalised and occur in few items."""
        texts = [render(item, 0, len(item.units)) for item in items]
        bags = [set(_WORD.findall(text)) for text in texts]
        lower = {word for bag in bags for word in bag if word[0].islower()}
        lower |= {word.casefold() for prompt in NAMES for word in _WORD.findall(template_text(prompt))}
        counts = Counter(name for bag in bags for name in {word.casefold() for word in bag})
        capitalised = {word.casefold() for bag in bags for word in bag if word[0].isupper()}
        self.names = frozenset(name for name in capitalised - lower if len(name) > 3 and counts[name] <= _MOST_ITEMS)
        self._draw = random.Random(seed)

    def draw(self) -> Callable[[str], str]:
        """A function that renames a text; one time in four it changes nothing."""
        if self._draw.random() < _KEPT:
            return lambda text: text
        table: dict[int, int] = {}
        for kind in _KINDS:
            mixed = "".join(self._draw.sample(kind, len(kind)))
            table |= str.maketrans(kind + kind.upper(), mixed + mixed.upper())

        def renamed(match: re.Match[str]) -> str:
            word = match.group()
            return word.translate(table) if word.casefold() in self.names else word

        return lambda text: _WORD.sub(renamed, text)
