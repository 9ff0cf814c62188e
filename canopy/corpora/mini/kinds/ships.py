"""Ships and what is said of them."""

from __future__ import annotations

from canopy.corpora.mini.model import Kind, Relation, texts

_CAPTAIN = Relation(
    "captain",
    "person",
    "Captain",
    texts(
        """The captain of {s} was {v}.
        {v} commanded {s} for most of her working life.
        Command of {s} was given to {v}.
        {s} sailed under {v}, who was her captain.
        Her owners chose {v} as captain of {s}.""",
        """{v} served as master of {s} on all her longer passages.
        The master of {s} was {v}.""",
        """{s} had {v} as her skipper.
        On the bridge of {s} stood {v}, the commanding officer.
        {v} was the skipper of {s} until she was laid up.""",
    ),
    texts(
        """Who was the captain of {s}?
        Who commanded {s}?
        Which captain sailed {s}?
        Who was in command of {s}?""",
        """Who served as master of {s}?""",
        """Who was the skipper of {s}?
        Which commanding officer did {s} have?""",
    ),
    texts(
        """the captain of {s}
        the person who commanded {s}
        the officer in command of {s}""",
        "the master of {s}",
        """the skipper of {s}
        the commanding officer of {s}""",
    ),
    texts(
        """commanded by {v}
        that had {v} as captain""",
        "with {v} as master",
        """whose skipper was {v}""",
    ),
    role="captain",
)

_BUILT_AT = Relation(
    "built_at",
    "place",
    "Built at",
    texts(
        """{s} was built at {v}.
        The keel of {s} was laid in the yards of {v}.
        Shipwrights in {v} built {s} within a single year.
        {s} came from a shipyard in {v}.""",
        """{v} was the place where {s} was constructed.
        The construction of {s} was carried out in {v}.""",
        """{s} took shape on the slipways of {v}.
        Carpenters and riveters at {v} put {s} together.""",
    ),
    texts(
        """Where was {s} built?
        In which town was {s} built?
        At which place was the keel of {s} laid?
        Which town's shipyard built {s}?""",
        """Where did the construction of {s} take place?""",
        """On the slipways of which town did {s} take shape?
        Which town put {s} together?""",
    ),
    texts(
        """the town where {s} was built
        the town whose shipyard built {s}
        the place where the keel of {s} was laid""",
        "the place of construction of {s}",
        """the town on whose slipways {s} took shape
        the town that put {s} together""",
    ),
    texts(
        """built at {v}
        that came from a shipyard in {v}""",
        "constructed in {v}",
        "that took shape at {v}",
    ),
)

_LAUNCHED = Relation(
    "launched",
    "year -2 2",
    "Launched",
    texts(
        """{s} was launched in {v}.
        The launch of {s} took place in {v}.
        In {v} a small crowd watched the launch of {s}.
        {s} first touched the water in {v}.""",
        """{s} left her slipway in {v}.
        It was {v} when {s} was set afloat.""",
        """{s} slid into the harbour in {v}.
        The year {v} saw {s} enter the water.""",
    ),
    texts(
        """When was {s} launched?
        In what year was {s} launched?
        What was the launch year of {s}?
        In which year did {s} first touch the water?""",
        "When was {s} set afloat?",
        """In what year did {s} enter the water?
        When did {s} slide into the harbour?""",
    ),
    texts("the launch year of {s}", "the year {s} was set afloat", "the year {s} entered the water"),
    texts(
        """launched in {v}
        that first touched the water in {v}""",
        "set afloat in {v}",
        "that entered the water in {v}",
    ),
    texts(
        """Which ship was launched first, {a} or {b}?
        Was {a} or {b} launched earlier?
        Of {a} and {b}, which had the earlier launch?
        Which of the two was launched before the other, {a} or {b}?""",
        "Which was set afloat first, {a} or {b}?",
        """Which entered the water earlier, {a} or {b}?
        Did {a} or {b} slide into the harbour first?""",
    ),
)

_OWNER = Relation(
    "owner",
    "company",
    "Owner",
    texts(
        """{s} belonged to {v}.
        The owner of {s} was {v}.
        {v} bought {s} before she was finished.
        {s} flew the house flag of {v}.""",
        """{v} held the title to {s}.
        {s} was the property of {v}.""",
        """{s} earned her keep in the fleet of {v}.
        {v} paid for {s} and kept her on its books.""",
    ),
    texts(
        """Which company owned {s}?
        Who was the owner of {s}?
        To which company did {s} belong?
        Whose house flag did {s} fly?""",
        "Which company held the title to {s}?",
        """In the fleet of which company did {s} earn her keep?
        Which company kept {s} on its books?""",
    ),
    texts(
        """the company that owned {s}
        the owner of {s}
        the company whose flag {s} flew""",
        "the holder of the title to {s}",
        """the company whose fleet included {s}
        the company that kept {s} on its books""",
    ),
    texts(
        """owned by {v}
        that belonged to {v}""",
        "held by {v}",
        "kept on the books of {v}",
    ),
)

_LENGTH = Relation(
    "length",
    "metres 31 140",
    "Length",
    texts(
        """{s} was {v} long.
        The length of {s} was {v}.
        From bow to stern {s} measured {v}.
        Her plans give {s} a length of {v}.""",
        """{s} stretched over {v}.
        Surveyors measured {s} at {v} overall.""",
        """{s} ran to {v} from end to end.
        Overall, {s} came to {v} in length.""",
    ),
    texts(
        """How long was {s}?
        What was the length of {s}?
        How many metres long was {s}?
        What length did {s} have?""",
        "What did surveyors measure {s} at?",
        """How far did {s} run from end to end?
        What did {s} come to in length?""",
    ),
    texts("the length of {s}", "the measurement of {s}", "how far {s} ran"),
    texts(
        """that was {v} long
        with a length of {v}""",
        "measured at {v}",
        "that ran to {v}",
    ),
    texts(
        """Which ship was longer, {a} or {b}?
        Was {a} or {b} the longer ship?
        Of {a} and {b}, which had the greater length?
        Which of the two was longer, {a} or {b}?""",
        "Which did surveyors find longer, {a} or {b}?",
        """Which ran further from end to end, {a} or {b}?
        Did {a} or {b} come to more in length?""",
    ),
    larger=True,
)

_CARGO = Relation(
    "cargo",
    "cargo",
    "Cargo",
    texts(
        """{s} mostly carried {v}.
        The usual cargo of {s} was {v}.
        On most voyages the hold of {s} was filled with {v}.
        {s} was known for carrying {v}.""",
        """The freight of {s} was made up of {v}.
        As freight {s} nearly always took {v}.""",
        """{s} hauled {v} in every season.
        Merchants loaded {s} with {v}.""",
    ),
    texts(
        """What did {s} mostly carry?
        What was the usual cargo of {s}?
        Which cargo was {s} known for?
        What filled the hold of {s}?""",
        "What made up the freight of {s}?",
        """What did {s} haul?
        What did merchants load {s} with?""",
    ),
    texts("the cargo of {s}", "the freight of {s}", "what {s} hauled"),
    texts(
        """that mostly carried {v}
        known for carrying {v}""",
        "whose freight was {v}",
        "that hauled {v}",
    ),
    same=texts(
        """Did {a} and {b} carry the same cargo?
        Was the usual cargo of {a} the same as that of {b}?
        Were {a} and {b} both known for the same cargo?
        Did {a} carry the same kind of cargo as {b}?""",
        "Did {a} and {b} share one kind of freight?",
        """Did {a} haul the same goods as {b}?
        Were {a} and {b} loaded with the same goods?""",
    ),
)

SHIP = Kind(
    "ship",
    "{n}",
    "the {n}",
    ("She", "The ship", "The vessel"),
    ("barque", "brig", "steamer", "schooner", "ferry", "cutter"),
    texts(
        """{s} was a {type} known along the whole coast.
        {s} was a {type} of the northern trade.
        {s} was a {type} with a painted figurehead.""",
        "{s} is remembered as a {type} of modest size.",
        """{s} worked as a {type} on the outer routes.
        Among sailors {s} was a well liked {type}.""",
    ),
    texts(
        """{s} was refitted in {year} after a hard winter.
        Her first mate was {person}, who left in {year}.
        In {year} a storm off {place} carried away two of her boats.
        A crew of {number} was needed to work her.
        A model of {s} was shown at {place} in {year}.
        She lay idle for {number} weeks during a dock strike.""",
        """A fire in {year} scorched the deck but did little harm.
        The cook, {person}, kept a diary for {number} months.
        {s} called at {place} on {number} occasions.""",
        """New boilers or sails were fitted in {year}.
        The purser, {person}, came from {place}.
        In {year} she grounded near {place} and lost {number} barrels.
        Repairs in {year} took {number} days.""",
    ),
    (_CAPTAIN, _BUILT_AT, _LAUNCHED, _OWNER, _LENGTH, _CARGO),
)
