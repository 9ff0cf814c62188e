"""Companies and what is said of them."""

from __future__ import annotations

from canopy.corpora.mini.model import Kind, Relation, texts

_FOUNDER = Relation(
    "founder",
    "person",
    "Founder",
    texts(
        """{s} was founded by {v}.
        The founder of {s} was {v}.
        {v} founded {s} with borrowed money.
        It was {v} who founded {s}.""",
        """{v} set up {s} in a disused barn.
        {s} was set up by {v}.""",
        """{v} opened the doors of {s}.
        {s} owes its existence to {v}.""",
    ),
    texts(
        """Who founded {s}?
        Who was the founder of {s}?
        By whom was {s} founded?
        Which person founded {s}?""",
        "Who set up {s}?",
        """Who opened the doors of {s}?
        To whom does {s} owe its existence?""",
    ),
    texts(
        """the founder of {s}
        the person who founded {s}
        the person by whom {s} was founded""",
        "the person who set up {s}",
        """the person who opened the doors of {s}
        the person to whom {s} owes its existence""",
    ),
    texts(
        """founded by {v}
        whose founder was {v}""",
        "set up by {v}",
        "that owes its existence to {v}",
    ),
    role="founder",
    anchor="founded",
)

_SEAT = Relation(
    "seat",
    "place",
    "Head office",
    texts(
        """{s} had its head office in {v}.
        The head office of {s} stood in {v}.
        {s} was based in {v}.
        The directors of {s} met in {v}.""",
        """{v} was the seat of {s}.
        {s} was run from {v}.""",
        """{s} kept its ledgers in {v}.
        {s} had its chief premises in {v}.""",
    ),
    texts(
        """Where was the head office of {s}?
        In which town was {s} based?
        Where did {s} have its head office?
        In which town did the directors of {s} meet?""",
        "From which town was {s} run?",
        """Where did {s} keep its ledgers?
        In which town were the chief premises of {s}?""",
    ),
    texts(
        """the town where {s} was based
        the town of the head office of {s}
        the town in which the directors of {s} met""",
        "the seat of {s}",
        """the town where {s} kept its ledgers
        the town of the chief premises of {s}""",
    ),
    texts(
        """based in {v}
        with its head office in {v}""",
        "run from {v}",
        "that kept its ledgers in {v}",
    ),
)

_FOUNDED = Relation(
    "founded",
    "year -30 -4",
    "Founded",
    texts(
        """{s} was founded in {v}.
        The founding of {s} came in {v}.
        {s} dates from {v}.
        {s} has existed since {v}.""",
        """{s} was registered in {v}.
        The registration of {s} is dated {v}.""",
        """{s} took its first orders in {v}.
        {s} opened for business in {v}.""",
    ),
    texts(
        """When was {s} founded?
        In what year was {s} founded?
        From which year does {s} date?
        Since when has {s} existed?""",
        "When was {s} registered?",
        """When did {s} take its first orders?
        In what year did {s} open for business?""",
    ),
    texts("the founding year of {s}", "the year {s} was registered", "the year {s} opened for business"),
    texts(
        """founded in {v}
        that dates from {v}""",
        "registered in {v}",
        "that opened for business in {v}",
    ),
    texts(
        """Which company was founded first, {a} or {b}?
        Was {a} or {b} founded earlier?
        Of {a} and {b}, which is the older company?
        Which company dates from an earlier year, {a} or {b}?""",
        "Which was registered first, {a} or {b}?",
        """Which opened for business earlier, {a} or {b}?
        Did {a} or {b} take its first orders earlier?""",
    ),
)

_PRODUCT = Relation(
    "product",
    "product",
    "Product",
    texts(
        """{s} made {v}.
        The main product of {s} was {v}.
        {s} was best known for its {v}.
        The works of {s} turned out {v}.""",
        """{s} supplied {v} to the whole region.
        Most of what {s} supplied was {v}.""",
        """{s} dealt in {v}.
        Customers ordered {v} from {s}.""",
    ),
    texts(
        """What did {s} make?
        What was the main product of {s}?
        For which product was {s} best known?
        What did the works of {s} turn out?""",
        "What did {s} supply?",
        """What did {s} deal in?
        What did customers order from {s}?""",
    ),
    texts("the main product of {s}", "what {s} supplied", "what {s} dealt in"),
    texts(
        """that made {v}
        best known for its {v}""",
        "that supplied {v}",
        "that dealt in {v}",
    ),
    same=texts(
        """Did {a} and {b} make the same product?
        Were {a} and {b} known for the same product?
        Was the main product of {a} the same as that of {b}?
        Did {a} make the same goods as {b}?""",
        "Did {a} and {b} supply the same goods?",
        """Did {a} deal in the same goods as {b}?
        Did customers order the same goods from {a} and {b}?""",
    ),
)

_STAFF = Relation(
    "staff",
    "count 40 2400",
    "Workers",
    texts(
        """{s} employed {v} people.
        {s} had {v} workers.
        The number of workers at {s} was {v}.
        {v} people worked for {s}.""",
        """{s} kept {v} people on its payroll.
        The payroll of {s} listed {v} names.""",
        """{s} gave work to {v} people.
        {v} hands were engaged by {s}.""",
    ),
    texts(
        """How many people did {s} employ?
        How many workers did {s} have?
        What was the number of workers at {s}?
        How many people worked for {s}?""",
        "How many people were on the payroll of {s}?",
        """To how many people did {s} give work?
        How many hands were engaged by {s}?""",
    ),
    texts("the number of workers at {s}", "the size of the payroll of {s}", "how many hands {s} engaged"),
    texts(
        """that employed {v} people
        with {v} workers""",
        "with a payroll of {v}",
        "that gave work to {v} people",
    ),
    texts(
        """Which company had more workers, {a} or {b}?
        Did {a} or {b} employ more people?
        Of {a} and {b}, which had the larger number of workers?
        Which of the two employed more people, {a} or {b}?""",
        "Which had the longer payroll, {a} or {b}?",
        """Which gave work to more people, {a} or {b}?
        Were more hands engaged by {a} or by {b}?""",
    ),
    larger=True,
)

COMPANY = Kind(
    "company",
    "{n} {Type}",
    "the {n} {Type}",
    ("It", "The company", "The firm"),
    ("Line", "Foundry", "Mills", "Works", "Trading Company"),
    texts(
        """{s} was a family business for many years.
        {s} was a firm with a good name.
        {s} was one of the larger firms of its day.""",
        "{s} was a firm known for its blue wagons.",
        """{s} was a firm that weathered two crises.
        {s} was a business with many rivals.""",
    ),
    texts(
        """A strike in {year} lasted {number} days.
        {person} kept the books until {year}.
        A branch opened in {place} in {year}.
        Its first workshop had {number} benches.
        A fair in {place} gave {s} a medal in {year}.
        {person} designed its trade mark.""",
        """{s} printed a catalogue of {number} pages in {year}.
        {person} drove its first wagon.
        It lost a lawsuit in {place} in {year}.""",
        """{person} managed its stables until {year}.
        A warehouse in {place} burned down in {year}.
        {s} paid a fine of {number} guilders in {year}.
        It bought {number} carts in {year}.""",
    ),
    (_FOUNDED, _FOUNDER, _SEAT, _PRODUCT, _STAFF),
)
