"""Towns and what is said of them."""

from __future__ import annotations

from canopy.corpora.mini.model import Kind, Relation, texts

_RIVER = Relation(
    "river",
    "river",
    "River",
    texts(
        """{s} lies on {v}.
        {v} flows through {s}.
        {s} stands on the banks of {v}.
        The old town of {s} faces {v}.""",
        """{v} runs past {s}.
        {s} draws its water from {v}.""",
        """{s} grew up along {v}.
        Barges reach {s} by {v}.""",
    ),
    texts(
        """On which river does {s} lie?
        Which river flows through {s}?
        On the banks of which river does {s} stand?
        Which river does {s} face?""",
        "Which river runs past {s}?",
        """Along which river did {s} grow up?
        By which river do barges reach {s}?""",
    ),
    texts("the river on which {s} lies", "the river that runs past {s}", "the river of {s}"),
)

_FOUNDED = Relation(
    "founded",
    "year -150 -60",
    "Founded",
    texts(
        """{s} was founded in {v}.
        The founding of {s} dates from {v}.
        A charter of {v} founded {s}.
        The town of {s} goes back to {v}.""",
        """{s} was established in {v}.
        {v} is given as the year in which {s} was settled.""",
        """The first stones of {s} were laid in {v}.
        {s} began in {v} as a handful of huts.""",
    ),
    texts(
        """When was {s} founded?
        In what year was {s} founded?
        From which year does the founding of {s} date?
        To which year does {s} go back?""",
        "When was {s} settled?",
        """When were the first stones of {s} laid?
        In which year did {s} begin?""",
    ),
    texts("the founding year of {s}", "the year {s} was settled", "the year {s} began"),
    None,
    texts(
        """Which town was founded first, {a} or {b}?
        Was {a} or {b} founded earlier?
        Of {a} and {b}, which is the older town?
        Which goes back further, {a} or {b}?""",
        "Which was settled earlier, {a} or {b}?",
        """Which began earlier, {a} or {b}?
        Were the first stones laid earlier in {a} or in {b}?""",
    ),
)

_FOUNDER = Relation(
    "founder",
    "person",
    "Founder",
    texts(
        """The founder of {s} was {v}.
        {s} was founded by {v}.
        {v} founded {s} with a dozen families.
        Tradition names {v} as the founder of {s}.""",
        """{v} established {s} and drew up its first laws.
        The settlement of {s} was led by {v}.""",
        """{v} laid out the streets of {s}.
        It was {v} who began {s}.""",
    ),
    texts(
        """Who founded {s}?
        Who was the founder of {s}?
        By whom was {s} founded?
        Whom does tradition name as the founder of {s}?""",
        "Who led the settlement of {s}?",
        """Who laid out the streets of {s}?
        Who began {s}?""",
    ),
    texts(
        """the founder of {s}
        the person who founded {s}
        the person named as founder of {s}""",
        "the leader of the settlement of {s}",
        """the person who laid out the streets of {s}
        the person who began {s}""",
    ),
    role="founder",
    anchor="founded",
)

_POPULATION = Relation(
    "population",
    "count 800 64000",
    "Population",
    texts(
        """{s} had {v} inhabitants at the last census.
        The population of {s} was {v}.
        The census counted {v} people in {s}.
        {s} was home to {v} people.""",
        """{v} residents were registered in {s}.
        The rolls of {s} listed {v} residents.""",
        """{v} souls lived in {s}.
        A head count in {s} came to {v}.""",
    ),
    texts(
        """How many inhabitants did {s} have?
        What was the population of {s}?
        How many people did the census count in {s}?
        To how many people was {s} home?""",
        "How many residents were registered in {s}?",
        """How many souls lived in {s}?
        What did the head count in {s} come to?""",
    ),
    texts("the population of {s}", "the number of residents of {s}", "the head count of {s}"),
    None,
    texts(
        """Which town had more inhabitants, {a} or {b}?
        Did {a} or {b} have the larger population?
        Of {a} and {b}, which was home to more people?
        Which was the larger town, {a} or {b}?""",
        "Which had more registered residents, {a} or {b}?",
        """Did more souls live in {a} or in {b}?
        Which head count was higher, that of {a} or that of {b}?""",
    ),
    larger=True,
)

_EXPORT = Relation(
    "export",
    "product",
    "Export",
    texts(
        """The main export of {s} was {v}.
        {s} exported {v}.
        {s} was known for its {v}.
        Traders came to {s} for its {v}.""",
        """{s} sold {v} to its neighbours.
        Most of the income of {s} came from {v}.""",
        """{s} lived from the sale of {v}.
        The wealth of {s} rested on {v}.""",
    ),
    texts(
        """What was the main export of {s}?
        What did {s} export?
        For which goods was {s} known?
        What did traders come to {s} for?""",
        "What did {s} sell to its neighbours?",
        """On what did the wealth of {s} rest?
        From the sale of what did {s} live?""",
    ),
    texts("the main export of {s}", "what {s} sold to its neighbours", "the goods on which {s} lived"),
    same=texts(
        """Did {a} and {b} have the same main export?
        Were {a} and {b} known for the same goods?
        Was the main export of {a} the same as that of {b}?
        Did {a} export the same goods as {b}?""",
        "Did {a} and {b} sell the same goods?",
        """Did the wealth of {a} and {b} rest on the same goods?
        Did {a} live from the same goods as {b}?""",
    ),
)

PLACE = Kind(
    "place",
    "{n}",
    "{n}",
    ("The town", "It"),
    ("town",),
    texts(
        """{s} is a town with a long market street.
        {s} is a town of low stone houses.
        {s} is a harbour town in the west.""",
        "{s} is a quiet town behind a sea wall.",
        """{s} is a town at the end of a valley.
        {s} is a town with two old gates.""",
    ),
    texts(
        """A fire in {year} destroyed {number} houses.
        The town hall of {s} was painted in {year}.
        {person} was mayor in {year}.
        The road to {place} is {number} miles long.
        A school opened in {year} with {number} pupils.
        {s} has {number} wells and one fountain.""",
        """A flood in {year} reached the steps of the church.
        {person} was the doctor there until {year}.
        A coach left for {place} on {number} days of the year.""",
        """The bell tower holds {number} bells.
        {person} painted the market square in {year}.
        {s} quarrelled with {place} over fishing in {year}.
        A bakery opened in {year} and sold {number} loaves a day.""",
    ),
    (_RIVER, _FOUNDED, _FOUNDER, _POPULATION, _EXPORT),
    (-40, 20),
)
