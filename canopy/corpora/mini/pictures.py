"""What pictures show and no text says: sailing notices, posters, visitor signs, charts and calls for crew."""

from __future__ import annotations

from dataclasses import dataclass

from canopy.corpora.mini.model import Texts, texts


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing that a picture or a scene of a film shows.

    Attributes:
        name: unique within the picture or scene.
        label: what is drawn before the value.
        value: "time", "money", "date", "hall" or a literal kind of ``values.py``.
        questions: questions with ``{s}``.
        phrases: noun phrases for the value, with ``{s}``.
        clauses: what picks the entity out by the value; None in films.
        sentence: annotation only, a sentence with ``{s}`` and ``{v}``.
    """

    name: str
    label: str
    value: str
    questions: Texts
    phrases: Texts
    sentence: str
    clauses: Texts | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """What the picture of an entity of one kind looks like: a heading and lines, or a bar chart."""

    heading: str
    shown: tuple[Shown, ...]
    chart: bool = False


_NOTICE = Picture(
    "SAILING NOTICE",
    (
        Shown(
            "departs",
            "DEPARTS",
            "time",
            texts(
                """At what time does {s} depart according to the sailing notice?
                What departure time does the sailing notice of {s} show?
                When does {s} sail, as shown on its sailing notice?
                Which time of departure is printed on the sailing notice of {s}?""",
                "At what hour does the sailing notice say {s} leaves?",
                """What hour of sailing can be read on the notice for {s}?
                By the printed notice, what time does {s} cast off?""",
            ),
            texts("the departure time of {s}", "the hour at which {s} leaves", "the hour {s} casts off"),
            "The sailing notice says that {s} departs at {v}.",
            texts("that departs at {v}", "leaving at {v}", "that casts off at {v}"),
        ),
        Shown(
            "berth",
            "BERTH",
            "number 2 40 EAST",
            texts(
                """At which berth does {s} lie according to the sailing notice?
                Which berth does the sailing notice of {s} give?
                What berth is printed on the sailing notice of {s}?
                From which berth does {s} sail, as its notice shows?""",
                "Which berth does the notice name for {s}?",
                """Where along the quay, by its notice, does {s} tie up?
                What berth can be read on the notice for {s}?""",
            ),
            texts("the berth of {s}", "the berth named for {s}", "where {s} ties up"),
            "The sailing notice gives {v} as the berth of {s}.",
            texts("that sails from berth {v}", "lying at berth {v}", "that ties up at berth {v}"),
        ),
        Shown(
            "fare",
            "FARE",
            "money",
            texts(
                """What fare does the sailing notice of {s} show?
                How much is the fare on {s} according to its sailing notice?
                Which fare is printed on the sailing notice of {s}?
                What does a passage on {s} cost, as its notice shows?""",
                "What price of passage does the notice name for {s}?",
                """How much must a traveller pay, by its notice, to board {s}?
                What charge can be read on the notice for {s}?""",
            ),
            texts("the fare on {s}", "the price of passage on {s}", "the charge for boarding {s}"),
            "The sailing notice shows a fare of {v} for {s}.",
            texts("with a fare of {v}", "with a passage price of {v}", "that costs {v} to board"),
        ),
    ),
)

_POSTER = Picture(
    "TONIGHT ON STAGE",
    (
        Shown(
            "first_night",
            "FIRST NIGHT",
            "date",
            texts(
                """On what date is the first night of {s} according to the poster?
                Which date of the first night does the poster of {s} show?
                What first night is printed on the poster of {s}?
                When is the first night of {s}, as its poster shows?""",
                "What opening date does the poster name for {s}?",
                """For what day does the placard announce the start of {s}?
                What day can be read on the placard of {s}?""",
            ),
            texts("the date of the first night of {s}", "the opening date of {s}", "the starting day of {s}"),
            "The poster gives {v} as the first night of {s}.",
            texts("with its first night on {v}", "opening on {v}", "starting on {v}"),
        ),
        Shown(
            "ticket",
            "TICKETS",
            "money",
            texts(
                """What do tickets for {s} cost according to the poster?
                Which ticket price does the poster of {s} show?
                How much is a ticket for {s}, as its poster shows?
                What price is printed on the poster of {s}?""",
                "What seat price does the poster name for {s}?",
                """How much, by its placard, does admission to {s} come to?
                What charge can be read on the placard of {s}?""",
            ),
            texts("the ticket price of {s}", "the seat price of {s}", "the charge for a seat at {s}"),
            "The poster shows a ticket price of {v} for {s}.",
            texts("with tickets at {v}", "with seats at {v}", "with admission at {v}"),
        ),
        Shown(
            "hall",
            "AT",
            "hall",
            texts(
                """At which hall is {s} given according to the poster?
                Which hall does the poster of {s} name?
                Where is {s} played, as its poster shows?
                What hall is printed on the poster of {s}?""",
                "What stage does the poster name for {s}?",
                """Which house, by its placard, puts on {s}?
                What house can be read on the placard of {s}?""",
            ),
            texts("the hall where {s} is given", "the stage of {s}", "the house that puts on {s}"),
            "The poster says that {s} is given at {v}.",
            texts("given at {v}", "on the stage of {v}", "put on at {v}"),
        ),
    ),
)

_SIGN = Picture(
    "VISITORS WELCOME",
    (
        Shown(
            "opens",
            "OPEN FROM",
            "time",
            texts(
                """From what time is {s} open according to the visitor sign?
                Which opening time does the sign at {s} show?
                When does {s} open, as the sign there shows?
                What opening time is printed on the sign at {s}?""",
                "At what hour does the sign let people into {s}?",
                """What hour of entry can be read on the board at {s}?
                By the board there, when are the doors of {s} unlocked?""",
            ),
            texts("the opening time of {s}", "the hour people are let into {s}", "the hour of entry at {s}"),
            "The sign says that {s} is open from {v}.",
            texts("open from {v}", "letting people in at {v}", "unlocked at {v}"),
        ),
        Shown(
            "entry",
            "ENTRY",
            "money",
            texts(
                """What does entry to {s} cost according to the visitor sign?
                Which entry fee does the sign at {s} show?
                How much is the entry to {s}, as the sign there shows?
                What entry fee is printed on the sign at {s}?""",
                "What admission does the sign name for {s}?",
                """How much, by the board there, must a guest of {s} pay?
                What charge can be read on the board at {s}?""",
            ),
            texts("the entry fee of {s}", "the admission to {s}", "the charge for guests of {s}"),
            "The sign shows an entry fee of {v} for {s}.",
            texts("with an entry fee of {v}", "with an admission of {v}", "that charges guests {v}"),
        ),
        Shown(
            "steps",
            "TO THE TOP",
            "number 41 399 STEPS",
            texts(
                """How many steps lead to the top of {s} according to the sign?
                What number of steps does the sign at {s} show?
                How many steps to the top are there in {s}, as the sign shows?
                Which number of steps is printed on the sign at {s}?""",
                "How long a climb in steps does the sign name for {s}?",
                """How many stairs, by the board there, must one climb in {s}?
                What number of stairs can be read on the board at {s}?""",
            ),
            texts("the number of steps of {s}", "the climb in {s}", "the number of stairs in {s}"),
            "The sign says that {v} lead to the top of {s}.",
            texts("with {v} to the top", "with a climb of {v}", "where one climbs {v}"),
        ),
    ),
)

_CHART = Picture(
    "OUTPUT A YEAR",
    (
        Shown(
            "first_bar",
            "{year}",
            "count 210 980",
            texts(
                """What output does the chart of {s} show for {year}?
                How high is the output of {s} in {year} according to the chart?
                Which number stands at the bar for {year} in the chart of {s}?
                In the chart of {s}, what is the value for {year}?""",
                "What figure does the chart name for {s} in {year}?",
                """How much did {s} turn out in {year}, by its diagram?
                What amount can be read off the diagram of {s} for {year}?""",
            ),
            texts("the output of {s} in {year}", "the figure of {s} for {year}", "the amount of {s} for {year}"),
            "The chart shows an output of {v} for {s} in {year}.",
            texts("with an output of {v} in {year}", "with a figure of {v} for {year}", "turning out {v} in {year}"),
        ),
    ),
    chart=True,
)

_CALL = Picture(
    "CREW WANTED",
    (
        Shown(
            "pay",
            "PAY",
            "money",
            texts(
                """What pay does the crew poster of {s} offer?
                How much pay is printed on the crew poster of {s}?
                Which pay does {s} offer, as its poster shows?
                What does {s} pay its crew according to the poster?""",
                "What wage does the poster name for {s}?",
                """How much, by its placard, does {s} promise its hands?
                What reward can be read on the placard of {s}?""",
            ),
            texts("the pay offered by {s}", "the wage of {s}", "the reward promised by {s}"),
            "The poster offers a pay of {v} for {s}.",
            texts("that offers a pay of {v}", "with a wage of {v}", "that promises its hands {v}"),
        ),
        Shown(
            "apply_by",
            "APPLY BY",
            "date",
            texts(
                """By what date must the crew of {s} apply according to the poster?
                Which date to apply by does the poster of {s} show?
                Until when can one apply for {s}, as its poster shows?
                What date is printed on the crew poster of {s}?""",
                "What last day does the poster name for joining {s}?",
                """By its placard, on what day does signing up for {s} close?
                What closing day can be read on the placard of {s}?""",
            ),
            texts("the date to apply by for {s}", "the last day for joining {s}", "the closing day of {s}"),
            "The poster says that one must apply by {v} for {s}.",
            texts("with applications by {v}", "to be joined by {v}", "with a closing day of {v}"),
        ),
    ),
)

PICTURES: dict[str, Picture] = {
    "ship": _NOTICE,
    "work": _POSTER,
    "building": _SIGN,
    "company": _CHART,
    "expedition": _CALL,
}
