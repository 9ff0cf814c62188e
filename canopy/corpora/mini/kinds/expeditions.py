"""Expeditions and what is said of them."""

from __future__ import annotations

from canopy.corpora.mini.model import Kind, Relation, texts

_LEADER = Relation(
    "leader",
    "person",
    "Leader",
    texts(
        """The leader of {s} was {v}.
        {s} was led by {v}.
        {v} led {s} from the first day.
        {v} was chosen as leader of {s}.""",
        """{v} was the head of {s}.
        {s} had {v} at its head.""",
        """{v} guided {s}.
        {s} followed the orders of {v}.""",
    ),
    texts(
        """Who led {s}?
        Who was the leader of {s}?
        By whom was {s} led?
        Who was chosen as leader of {s}?""",
        "Who was the head of {s}?",
        """Who guided {s}?
        Whose orders did {s} follow?""",
    ),
    texts(
        """the leader of {s}
        the person who led {s}
        the person chosen to lead {s}""",
        "the head of {s}",
        """the person who guided {s}
        the person whose orders {s} followed""",
    ),
    texts(
        """led by {v}
        whose leader was {v}""",
        "headed by {v}",
        "guided by {v}",
    ),
    role="leader",
)

_DEPARTED = Relation(
    "departed",
    "year -2 2",
    "Departed",
    texts(
        """{s} departed in {v}.
        The departure of {s} took place in {v}.
        {s} left home in {v}.
        In {v} {s} departed with flags flying.""",
        """{s} set out in {v}.
        It was {v} before {s} set out.""",
        """{s} got under way in {v}.
        The start of {s} fell in {v}.""",
    ),
    texts(
        """When did {s} depart?
        In what year did {s} depart?
        When did the departure of {s} take place?
        In which year did {s} leave home?""",
        "When did {s} set out?",
        """When did {s} get under way?
        In which year did the start of {s} fall?""",
    ),
    texts("the year {s} departed", "the year {s} set out", "the year {s} got under way"),
    texts(
        """that departed in {v}
        that left home in {v}""",
        "that set out in {v}",
        "that got under way in {v}",
    ),
    texts(
        """Which departed first, {a} or {b}?
        Did {a} or {b} depart earlier?
        Of {a} and {b}, which left home first?
        Which of the two departed before the other, {a} or {b}?""",
        "Which set out first, {a} or {b}?",
        """Which got under way earlier, {a} or {b}?
        Did {a} or {b} have the earlier start?""",
    ),
)

_VESSEL = Relation(
    "vessel",
    "ship",
    "Ship",
    texts(
        """{s} sailed on {v}.
        The ship of {s} was {v}.
        {v} carried {s} through the ice.
        {s} travelled aboard {v}.""",
        """{v} was the vessel of {s}.
        {v} was chartered for {s}.""",
        """{s} crossed the sea in {v}.
        The members of {s} berthed in {v}.""",
    ),
    texts(
        """On which ship did {s} sail?
        What was the ship of {s}?
        Which ship carried {s}?
        Aboard which ship did {s} travel?""",
        "Which vessel was chartered for {s}?",
        """In which ship did {s} cross the sea?
        In which ship did the members of {s} berth?""",
    ),
    texts(
        """the ship of {s}
        the ship that carried {s}
        the ship on which {s} sailed""",
        "the vessel chartered for {s}",
        """the ship in which {s} crossed the sea
        the ship in which the members of {s} berthed""",
    ),
    texts(
        """that sailed on {v}
        carried by {v}""",
        "for which {v} was chartered",
        "that crossed the sea in {v}",
    ),
)

_DESTINATION = Relation(
    "destination",
    "island",
    "Destination",
    texts(
        """The destination of {s} was {v}.
        {s} was bound for {v}.
        {s} reached {v} after many weeks.
        The aim of {s} was to map {v}.""",
        """{s} made for {v}.
        {v} was the goal of {s}.""",
        """{s} steered towards {v}.
        {s} planted its flag on {v}.""",
    ),
    texts(
        """What was the destination of {s}?
        For which island was {s} bound?
        Which island did {s} reach?
        Which island did {s} aim to map?""",
        "Which island was the goal of {s}?",
        """Towards which island did {s} steer?
        On which island did {s} plant its flag?""",
    ),
    texts("the destination of {s}", "the goal of {s}", "the island towards which {s} steered"),
    texts(
        """bound for {v}
        that reached {v}""",
        "that made for {v}",
        "that steered towards {v}",
    ),
)

_SPONSOR = Relation(
    "sponsor",
    "company",
    "Sponsor",
    texts(
        """{s} was paid for by {v}.
        The sponsor of {s} was {v}.
        {v} gave the money for {s}.
        {s} was sponsored by {v}.""",
        """{v} financed {s}.
        The funds of {s} came from {v}.""",
        """{v} met the bills of {s}.
        {s} had its costs covered by {v}.""",
    ),
    texts(
        """Which company paid for {s}?
        Who was the sponsor of {s}?
        Which company gave the money for {s}?
        By which company was {s} sponsored?""",
        "Which company financed {s}?",
        """Which company met the bills of {s}?
        By which company were the costs of {s} covered?""",
    ),
    texts(
        """the sponsor of {s}
        the company that paid for {s}
        the company that gave the money for {s}""",
        "the company that financed {s}",
        """the company that met the bills of {s}
        the company that covered the costs of {s}""",
    ),
    texts(
        """sponsored by {v}
        paid for by {v}""",
        "financed by {v}",
        "whose bills were met by {v}",
    ),
)

_MEMBERS = Relation(
    "members",
    "number 7 88 members",
    "Members",
    texts(
        """{s} had {v}.
        {s} counted {v} when it left.
        There were {v} in {s}.
        {s} was made up of {v}.""",
        """{s} consisted of {v}.
        The list of {s} showed {v}.""",
        """{s} set off with {v}.
        {v} signed on for {s}.""",
    ),
    texts(
        """How many members did {s} have?
        How many members did {s} count?
        How many members were there in {s}?
        Of how many members was {s} made up?""",
        "Of how many members did {s} consist?",
        """With how many members did {s} set off?
        How many members signed on for {s}?""",
    ),
    texts("the number of members of {s}", "how many members were on the list of {s}", "how many signed on for {s}"),
    texts(
        """that had {v}
        made up of {v}""",
        "consisting of {v}",
        "that set off with {v}",
    ),
    texts(
        """Which had more members, {a} or {b}?
        Did {a} or {b} have more members?
        Of {a} and {b}, which counted more members?
        Which of the two was made up of more members, {a} or {b}?""",
        "Which consisted of more members, {a} or {b}?",
        """Which set off with more members, {a} or {b}?
        Did more members sign on for {a} or for {b}?""",
    ),
    larger=True,
)

EXPEDITION = Kind(
    "expedition",
    "{n} Expedition",
    "the {n} Expedition",
    ("It", "The expedition"),
    ("expedition",),
    texts(
        """{s} was a journey into little known waters.
        {s} was a voyage of discovery.
        {s} was a costly and much discussed enterprise.""",
        "{s} was a journey that filled many newspapers.",
        """{s} was a journey planned over five years.
        {s} was an enterprise with a slow start.""",
    ),
    texts(
        """It lost {number} sledges in {year}.
        {person} kept the weather log.
        A depot near {place} held {number} crates.
        {person} fell ill in {year} and went home.
        A film about {s} was shown in {place} in {year}.
        The members wrote {number} letters home.""",
        """{person} repaired the instruments for {number} days.
        A stone in {place} recalls {s}.
        Its diary was printed in {year}.""",
        """{person} drew {number} charts on the way.
        A feast in {place} was held in {year}.
        {s} ran short of coal for {number} days.
        Its stamps were sold in {year}.""",
    ),
    (_LEADER, _DEPARTED, _VESSEL, _DESTINATION, _SPONSOR, _MEMBERS),
)
