"""Literal values of relations: years, measures, counts, goods and other common words."""

from __future__ import annotations

import random

from canopy.corpora.mini.names import Names

WORDS: dict[str, tuple[str, ...]] = {
    "cargo": ("tea", "timber", "salt", "coal", "wool", "slate", "copper ore", "grain", "dried fish", "wine"),
    "product": (
        "clocks", "rope", "glass", "paper", "felt hats", "church bells", "soap", "candles", "lamp oil", "silk ribbon",
        "salted herring", "honey", "linen", "barometers", "pottery",
    ),
    "material": ("granite", "red brick", "limestone", "cast iron", "oak", "white marble", "sandstone", "basalt"),
    "profession": (
        "teacher", "lawyer", "painter", "botanist", "printer", "surgeon", "astronomer", "tailor", "organist", "chemist",
    ),
    "captain": ("sea captain", "naval officer", "harbour pilot", "whaler"),
    "author": ("novelist", "poet", "playwright", "journalist"),
    "architect": ("architect", "civil engineer", "master builder", "stonemason"),
    "leader": ("geographer", "surveyor", "geologist", "naturalist"),
    "founder": ("merchant", "banker", "landowner", "inventor"),
    "adjective": ("Glass", "Silent", "Crooked", "Amber", "Broken", "Second", "Hollow", "Winter", "Scarlet", "Paper"),
    "thing": ("Harbour", "Ledger", "Orchard", "Lantern", "Mirror", "Wedding", "Staircase", "Garden", "Letter", "Bell"),
    "school": ("Academy", "College", "Institute", "Seminary"),
}  # fmt: skip


def literal(value: str, year: int, role: str, names: Names, rng: random.Random) -> str:
    """A random value.

    Args:
        value: the relation's value kind, for example ``year -2 2`` or ``metres 31 140``.
        year: the year around which the entity's life lies.
        role: what a person does for a living; "" leaves it open.
        names: gives schools, rivers and islands their names.
        rng: source of randomness.
    """
    kind, *rest = value.split()
    if kind in ("year", "metres", "count", "number"):
        low, high = int(rest[0]), int(rest[1])
        drawn = rng.randint(low, high)
        return {
            "year": str(year + drawn),
            "metres": f"{drawn} metres",
            "count": f"{drawn:,}",
            "number": f"{drawn} {' '.join(rest[2:])}",
        }[kind]
    if kind == "school":
        return f"{names.word('place')} {rng.choice(WORDS['school'])}"
    if kind == "river":
        return f"the {names.word('thing')} River"
    if kind == "island":
        return f"{names.word('place')} Island"
    return rng.choice(WORDS[role or kind] if kind == "profession" else WORDS[kind])
