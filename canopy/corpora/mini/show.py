"""Values that are only drawn, and questions on them."""

from __future__ import annotations

from canopy.corpora.mini.asking import Step, tidy
from canopy.corpora.mini.pictures import Shown
from canopy.corpora.mini.world import World

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_HALLS = ("Hall", "Playhouse", "Pavilion")


def shown_value(world: World, shown: Shown) -> str:
    """A random value of something shown."""
    rng = world.rng
    if shown.value == "time":
        return f"{rng.randint(5, 22):02d}:{rng.choice((10, 15, 20, 25, 35, 40, 45, 50, 55))}"
    if shown.value == "money":
        return f"{rng.randint(2, 98)} crowns"
    if shown.value == "date":
        return f"{rng.randint(1, 28)} {rng.choice(_MONTHS)}"
    if shown.value == "hall":
        return f"{world.names.word('place')} {rng.choice(_HALLS)}"
    return world.literal(shown.value, 1870)


def ask_shown(world: World, shown: Shown, subject: str, year: str = "") -> str:
    """A question on something shown."""
    return tidy(world.rng.choice(shown.questions.of(world.split)).format(s=subject, year=year))


def clause_shown(world: World, shown: Shown, value: str, year: str = "") -> str:
    """What picks an entity out by what its picture shows."""
    assert shown.clauses is not None
    return world.rng.choice(shown.clauses.of(world.split)).format(v=value, year=year)


def step_shown(world: World, shown: Shown, title: str, subject: str, value: str, query: str, year: str = "") -> Step:
    """The hop that reads a picture or a scene."""
    phrase = world.rng.choice(shown.phrases.of(world.split))
    return Step(
        title=title,
        query=query,
        sentence=shown.sentence.format(s=subject, v=value, year=year),
        missing=phrase.format(s=subject, year=year),
    )
