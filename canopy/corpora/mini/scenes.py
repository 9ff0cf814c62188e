"""The films: journeys from stop to stop, each stop with signs that show something of its own."""

from __future__ import annotations

from dataclasses import dataclass

from canopy.corpora.mini.model import texts
from canopy.corpora.mini.pictures import Shown


@dataclass(frozen=True, slots=True)
class Film:
    """A kind of film: its title, what its stops are called, and what is shown at each."""

    title: str
    type: str
    stop: str
    name: str
    shown: tuple[Shown, ...]


_COAST = Film(
    "A VOYAGE ALONG THE {n} COAST",
    "documentary",
    "HARBOUR",
    "Port {n}",
    (
        Shown(
            "fee",
            "HARBOUR FEE",
            "money",
            texts(
                """What harbour fee is shown on the board at {s}?
                Which harbour fee does the film show at {s}?
                How much is the harbour fee at {s}?
                What does the board at {s} give as the harbour fee?""",
                "What mooring charge does the film name for {s}?",
                """How much must a skipper pay at {s}, as seen on screen?
                What amount is on the fee board of {s}?""",
            ),
            texts("the harbour fee at {s}", "the mooring charge at {s}", "what a skipper pays at {s}"),
            "The board at {s} shows a harbour fee of {v}.",
        ),
        Shown(
            "ferry",
            "NEXT FERRY",
            "time",
            texts(
                """When does the next ferry leave {s} according to the board?
                What time of the next ferry is shown at {s}?
                Which ferry time does the film show at {s}?
                At what time does the next ferry go from {s}?""",
                "What hour does the film name for the ferry of {s}?",
                """When, as seen on screen, can one catch the boat from {s}?
                What hour is on the ferry board of {s}?""",
            ),
            texts("the time of the next ferry at {s}", "the ferry hour of {s}", "when the boat leaves {s}"),
            "The board at {s} says that the next ferry leaves at {v}.",
        ),
        Shown(
            "depth",
            "WATER DEPTH",
            "metres 3 48",
            texts(
                """What water depth is shown at {s}?
                How deep is the water at {s} according to the board?
                Which water depth does the film show at {s}?
                What depth does the board at {s} give?""",
                "How deep does the film say the basin of {s} is?",
                """How far down, as seen on screen, does the basin of {s} go?
                What measure of the basin is on the board of {s}?""",
            ),
            texts("the water depth at {s}", "how deep the basin of {s} is", "how far down {s} goes"),
            "The board at {s} gives a water depth of {v}.",
        ),
    ),
)

_MARKET = Film(
    "MARKET DAY IN {n}",
    "life record",
    "STALL",
    "Stall {n}",
    (
        Shown(
            "goods",
            "TODAY",
            "product",
            texts(
                """What does the sign at {s} offer?
                Which goods are shown on the sign of {s}?
                What is for sale at {s}?
                Which goods does the film show at {s}?""",
                "What wares does the film name for {s}?",
                """What, as seen on screen, can shoppers take home from {s}?
                What is on the goods board of {s}?""",
            ),
            texts("the goods of {s}", "the wares of {s}", "what shoppers take from {s}"),
            "The sign at {s} offers {v}.",
        ),
        Shown(
            "price",
            "PRICE",
            "money",
            texts(
                """What price is shown at {s}?
                How much do the goods at {s} cost according to the sign?
                Which price does the film show at {s}?
                What does the sign at {s} give as the price?""",
                "How much does the film say one pays at {s}?",
                """How much, as seen on screen, do the wares of {s} come to?
                What amount is on the price board of {s}?""",
            ),
            texts("the price at {s}", "what one pays at {s}", "what the wares of {s} come to"),
            "The sign at {s} shows a price of {v}.",
        ),
        Shown(
            "closes",
            "CLOSES AT",
            "time",
            texts(
                """When does {s} close according to its sign?
                What closing time is shown at {s}?
                Which closing time does the film show at {s}?
                At what time does {s} close?""",
                "Until what hour does the film say {s} trades?",
                """When, as seen on screen, are the shutters of {s} let down?
                What hour is on the closing board of {s}?""",
            ),
            texts("the closing time of {s}", "the hour until which {s} trades", "when the shutters of {s} go down"),
            "The sign at {s} says that it closes at {v}.",
        ),
    ),
)

_MUSEUM = Film(
    "INSIDE THE {n} MUSEUM",
    "tv show",
    "ROOM",
    "{n} Room",
    (
        Shown(
            "exhibit",
            "MADE OF",
            "material",
            texts(
                """What is the exhibit in the {s} made of according to its label?
                Which material is shown on the label in the {s}?
                What material does the film show in the {s}?
                Of which material is the statue in the {s}?""",
                "What stuff does the film name for the piece in the {s}?",
                """From what, as seen on screen, was the piece in the {s} carved?
                What stuff is on the card in the {s}?""",
            ),
            texts("the material in the {s}", "the stuff of the piece in the {s}", "what the piece in the {s} is"),
            "The label in the {s} says that the exhibit is made of {v}.",
        ),
        Shown(
            "found",
            "FOUND IN",
            "year -60 60",
            texts(
                """In what year was the exhibit in the {s} found?
                Which year of finding is shown in the {s}?
                When was the exhibit in the {s} found according to its label?
                What year does the label in the {s} give?""",
                "In what year does the film say the piece in the {s} came to light?",
                """When, as seen on screen, was the piece in the {s} dug up?
                What date is on the card in the {s}?""",
            ),
            texts("the year of the exhibit in the {s}", "when the {s} piece came to light", "when it was dug up"),
            "The label in the {s} says that the exhibit was found in {v}.",
        ),
        Shown(
            "number",
            "CATALOGUE NO.",
            "count 1000 9999",
            texts(
                """What catalogue number is shown in the {s}?
                Which catalogue number does the exhibit in the {s} have?
                What is the catalogue number on the label in the {s}?
                Which catalogue number does the film show in the {s}?""",
                "What inventory figure does the film name in the {s}?",
                """Under what number, as seen on screen, is the piece in the {s} kept?
                What number is on the card in the {s}?""",
            ),
            texts("the catalogue number in the {s}", "the inventory figure in the {s}", "the number in the {s}"),
            "The label in the {s} shows the catalogue number {v}.",
        ),
    ),
)

FILMS: tuple[Film, ...] = (_COAST, _MARKET, _MUSEUM)
