"""Lighthouses, bridges and other buildings, and what is said of them."""

from __future__ import annotations

from canopy.corpora.mini.model import Kind, Relation, texts

_ARCHITECT = Relation(
    "architect",
    "person",
    "Architect",
    texts(
        """The architect of {s} was {v}.
        {s} was designed by {v}.
        {v} designed {s} after a long dispute.
        The design of {s} is by {v}.""",
        """{v} drew the plans of {s}.
        The plans of {s} were drawn by {v}.""",
        """{s} was the idea of {v}.
        {v} planned {s} and chose its site.""",
    ),
    texts(
        """Who was the architect of {s}?
        Who designed {s}?
        By whom was {s} designed?
        Which architect designed {s}?""",
        "Who drew the plans of {s}?",
        """Whose idea was {s}?
        Who planned {s}?""",
    ),
    texts(
        """the architect of {s}
        the person who designed {s}
        the designer of {s}""",
        "the person who drew the plans of {s}",
        """the person whose idea {s} was
        the planner of {s}""",
    ),
    texts(
        """designed by {v}
        whose architect was {v}""",
        "with plans by {v}",
        "planned by {v}",
    ),
    role="architect",
)

_COMPLETED = Relation(
    "completed",
    "year -2 2",
    "Completed",
    texts(
        """{s} was completed in {v}.
        Work on {s} ended in {v}.
        The builders finished {s} in {v}.
        The completion of {s} came in {v}.""",
        """{s} stood ready in {v}.
        {s} was handed over in {v}.""",
        """The scaffolding around {s} came down in {v}.
        {s} received its last stone in {v}.""",
    ),
    texts(
        """When was {s} completed?
        In what year was {s} completed?
        When did work on {s} end?
        When did the builders finish {s}?""",
        "When was {s} handed over?",
        """When did the scaffolding around {s} come down?
        In what year did {s} receive its last stone?""",
    ),
    texts("the year {s} was completed", "the year {s} was handed over", "the year {s} received its last stone"),
    texts(
        """completed in {v}
        that was finished in {v}""",
        "handed over in {v}",
        "that received its last stone in {v}",
    ),
    texts(
        """Which was completed first, {a} or {b}?
        Was {a} or {b} completed earlier?
        Of {a} and {b}, which was finished first?
        Which of the two was completed before the other, {a} or {b}?""",
        "Which was handed over earlier, {a} or {b}?",
        """Which received its last stone earlier, {a} or {b}?
        Did the scaffolding come down first at {a} or at {b}?""",
    ),
)

_LOCATION = Relation(
    "location",
    "place",
    "Location",
    texts(
        """{s} stands in {v}.
        {s} is located in {v}.
        {s} was built for the town of {v}.
        Visitors find {s} in {v}.""",
        """{v} is the home of {s}.
        {s} is found at {v}.""",
        """{s} rises over {v}.
        The roofs of {v} surround {s}.""",
    ),
    texts(
        """Where does {s} stand?
        In which town is {s} located?
        For which town was {s} built?
        Where do visitors find {s}?""",
        "Which town is the home of {s}?",
        """Over which town does {s} rise?
        The roofs of which town surround {s}?""",
    ),
    texts(
        """the town where {s} stands
        the town in which {s} is located
        the town for which {s} was built""",
        "the home of {s}",
        """the town over which {s} rises
        the town whose roofs surround {s}""",
    ),
    texts(
        """located in {v}
        that stands in {v}""",
        "found at {v}",
        "that rises over {v}",
    ),
)

_HEIGHT = Relation(
    "height",
    "metres 9 96",
    "Height",
    texts(
        """{s} is {v} high.
        The height of {s} is {v}.
        {s} reaches a height of {v}.
        At its highest point {s} measures {v}.""",
        """{s} is {v} tall.
        {s} towers {v} above the ground.""",
        """{s} climbs to {v}.
        From base to top {s} measures {v}.""",
    ),
    texts(
        """How high is {s}?
        What is the height of {s}?
        What height does {s} reach?
        How many metres high is {s}?""",
        "How tall is {s}?",
        """To what height does {s} climb?
        What does {s} measure from base to top?""",
    ),
    texts("the height of {s}", "how tall {s} is", "the height to which {s} climbs"),
    texts(
        """that is {v} high
        with a height of {v}""",
        "that is {v} tall",
        "that climbs to {v}",
    ),
    texts(
        """Which is higher, {a} or {b}?
        Does {a} or {b} have the greater height?
        Of {a} and {b}, which is higher?
        Which of the two reaches a greater height, {a} or {b}?""",
        "Which is taller, {a} or {b}?",
        """Which climbs higher, {a} or {b}?
        Does {a} or {b} measure more from base to top?""",
    ),
    larger=True,
)

_MATERIAL = Relation(
    "material",
    "material",
    "Material",
    texts(
        """{s} was built of {v}.
        The walls of {s} are made of {v}.
        The builders of {s} used {v}.
        {s} is made of {v}.""",
        """The material chosen for {s} was {v}.
        {s} consists mainly of {v}.""",
        """{s} was raised in {v}.
        Carts hauled in {v} to make {s}.""",
    ),
    texts(
        """What was {s} built of?
        What are the walls of {s} made of?
        Which material did the builders of {s} use?
        What is {s} made of?""",
        "Which material was chosen for {s}?",
        """In what material was {s} raised?
        What was hauled in to make {s}?""",
    ),
    texts("the material of {s}", "the material chosen for {s}", "what {s} was raised in"),
    texts(
        """built of {v}
        with walls of {v}""",
        "that consists of {v}",
        "raised in {v}",
    ),
    same=texts(
        """Are {a} and {b} built of the same material?
        Were {a} and {b} made of the same material?
        Is the material of {a} the same as that of {b}?
        Did the builders of {a} and {b} use the same material?""",
        "Was one material chosen for both {a} and {b}?",
        """Were {a} and {b} raised in the same material?
        Was {a} raised in the same material as {b}?""",
    ),
)

BUILDING = Kind(
    "building",
    "{n} {Type}",
    "the {n} {Type}",
    ("It", "The building"),
    ("Lighthouse", "Bridge", "Abbey", "Tower", "Observatory"),
    texts(
        """{s} is a landmark of the coast.
        {s} is a building with a curious history.
        {s} is shown on many old prints.""",
        "{s} is a monument with a small museum.",
        """{s} is a sight that travellers seldom miss.
        {s} is a building with a plain front.""",
    ),
    texts(
        """Lightning struck it in {year}.
        {person} was its keeper until {year}.
        Repairs in {year} used {number} cartloads of lime.
        A path of {number} steps leads up from the road.
        {s} was closed for {number} months in {year}.
        A painting of it hangs in {place}.""",
        """An earth tremor in {year} cracked {number} windows.
        {person} gave tours of {s}.
        Its bell was cast in {place} in {year}.""",
        """A new roof was added in {year}.
        {person} carved {number} figures for its gate.
        {s} was copied in {place} in {year}.
        It was lit by {number} lamps.""",
    ),
    (_ARCHITECT, _COMPLETED, _LOCATION, _HEIGHT, _MATERIAL),
)
