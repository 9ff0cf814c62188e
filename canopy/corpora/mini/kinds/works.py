"""Novels, operas and plays, and what is said of them."""

from __future__ import annotations

from canopy.corpora.mini.model import Kind, Relation, texts

_AUTHOR = Relation(
    "author",
    "person",
    "Author",
    texts(
        """{s} was written by {v}.
        The author of {s} is {v}.
        {v} wrote {s} in a rented room.
        {v} is best known as the author of {s}.""",
        """{s} came from the pen of {v}.
        {v} created {s} over two winters.""",
        """{s} is the work of {v}.
        The title page of {s} names {v}.""",
    ),
    texts(
        """Who wrote {s}?
        Who is the author of {s}?
        By whom was {s} written?
        Which author wrote {s}?""",
        "From whose pen did {s} come?",
        """Whose work is {s}?
        Whom does the title page of {s} name?""",
    ),
    texts(
        """the author of {s}
        the person who wrote {s}
        the writer of {s}""",
        "the creator of {s}",
        """the person whose work {s} is
        the person named on the title page of {s}""",
    ),
    texts(
        """written by {v}
        by the author {v}""",
        "from the pen of {v}",
        "that is the work of {v}",
    ),
    role="author",
)

_PUBLISHED = Relation(
    "published",
    "year -3 3",
    "Published",
    texts(
        """{s} was published in {v}.
        The first edition of {s} appeared in {v}.
        {s} was first published in {v}.
        The publication of {s} followed in {v}.""",
        """{s} came out in {v}.
        Readers could buy {s} from {v} on.""",
        """{s} was printed in {v}.
        {s} left the press in {v}.""",
    ),
    texts(
        """When was {s} published?
        In what year was {s} first published?
        When did the first edition of {s} appear?
        What was the year of publication of {s}?""",
        "When did {s} come out?",
        """In what year was {s} printed?
        When did {s} leave the press?""",
    ),
    texts("the year of publication of {s}", "the year {s} came out", "the year {s} left the press"),
    texts(
        """published in {v}
        that first appeared in {v}""",
        "that came out in {v}",
        "that left the press in {v}",
    ),
    texts(
        """Which was published first, {a} or {b}?
        Was {a} or {b} published earlier?
        Of {a} and {b}, which appeared first?
        Which has the earlier year of publication, {a} or {b}?""",
        "Which came out first, {a} or {b}?",
        """Which left the press earlier, {a} or {b}?
        Was {a} or {b} printed first?""",
    ),
)

_SETTING = Relation(
    "setting",
    "place",
    "Setting",
    texts(
        """{s} is set in {v}.
        The story of {s} takes place in {v}.
        The action of {s} is set in {v}.
        {v} is the setting of {s}.""",
        """{s} plays in {v}.
        The events of {s} unfold in {v}.""",
        """{s} leads its audience to {v}.
        The scene of {s} is {v}.""",
    ),
    texts(
        """Where is {s} set?
        In which town is {s} set?
        Where does the story of {s} take place?
        What is the setting of {s}?""",
        "Where do the events of {s} unfold?",
        """To which town does {s} lead its audience?
        What town is the scene of {s}?""",
    ),
    texts(
        """the setting of {s}
        the town where {s} is set
        the town in which the story of {s} takes place""",
        "the town where the events of {s} unfold",
        """the town that is the scene of {s}
        the town to which {s} leads its audience""",
    ),
    texts(
        """set in {v}
        whose story takes place in {v}""",
        "whose events unfold in {v}",
        "that leads its audience to {v}",
    ),
)

_DEDICATEE = Relation(
    "dedicatee",
    "person",
    "Dedicated to",
    texts(
        """{s} is dedicated to {v}.
        The dedication of {s} names {v}.
        {v} is the person to whom {s} is dedicated.
        A short dedication offers {s} to {v}.""",
        """{s} was inscribed to {v}.
        An inscription gives {s} to {v}.""",
        """{s} honours {v} on its opening leaf.
        The opening leaf of {s} thanks {v}.""",
    ),
    texts(
        """To whom is {s} dedicated?
        Whom does the dedication of {s} name?
        Who is the person to whom {s} is dedicated?
        Who received the dedication of {s}?""",
        "To whom was {s} inscribed?",
        """Whom does {s} honour on its opening leaf?
        Whom does the opening leaf of {s} thank?""",
    ),
    texts(
        """the person to whom {s} is dedicated
        the person named in the dedication of {s}
        the person who received the dedication of {s}""",
        "the person to whom {s} was inscribed",
        """the person honoured on the opening leaf of {s}
        the person thanked on the opening leaf of {s}""",
    ),
    texts(
        """dedicated to {v}
        whose dedication names {v}""",
        "inscribed to {v}",
        "that honours {v}",
    ),
)

_PARTS = Relation(
    "parts",
    "number 3 48 parts",
    "Parts",
    texts(
        """{s} has {v}.
        {s} is divided into {v}.
        The author divided {s} into {v}.
        There are {v} in {s}.""",
        """{s} consists of {v}.
        {v} make up {s}.""",
        """{s} falls into {v}.
        {s} is spread over {v}.""",
    ),
    texts(
        """How many parts does {s} have?
        Into how many parts is {s} divided?
        How many parts are there in {s}?
        What is the number of parts of {s}?""",
        "Of how many parts does {s} consist?",
        """Into how many parts does {s} fall?
        Over how many parts is {s} spread?""",
    ),
    texts("the number of parts of {s}", "how many parts make up {s}", "how many parts {s} falls into"),
    texts(
        """that has {v}
        divided into {v}""",
        "consisting of {v}",
        "spread over {v}",
    ),
    texts(
        """Which has more parts, {a} or {b}?
        Does {a} or {b} have more parts?
        Of {a} and {b}, which is divided into more parts?
        Which has the larger number of parts, {a} or {b}?""",
        "Which consists of more parts, {a} or {b}?",
        """Which falls into more parts, {a} or {b}?
        Is {a} or {b} spread over more parts?""",
    ),
    larger=True,
)

WORK = Kind(
    "work",
    "The {adjective} {thing} of {n}",
    "{t}",
    ("It", "The work"),
    ("novel", "opera", "play"),
    texts(
        """{s} is a {type} in an old style.
        {s} is a {type} about a lost inheritance.
        {s} is a {type} that divided the critics.""",
        "{s} is a {type} with a large cast.",
        """{s} is a {type} full of storms.
        {s} is a {type} that was slow to find friends.""",
    ),
    texts(
        """A critic, {person}, praised it in {year}.
        A second edition sold {number} copies in {year}.
        A draft was found in {place} in {year}.
        The manuscript has {number} pages.
        {person} made drawings for it in {year}.
        A reading of {s} in {place} drew {number} guests.""",
        """A translation by {person} followed in {year}.
        {number} letters about {s} survive.
        It was banned in {place} for {number} months.""",
        """{person} turned it into a song in {year}.
        A copy of {s} was sold in {place} for {number} guilders.
        Its cover was changed in {year}.
        Schools in {place} read it from {year} on.""",
    ),
    (_AUTHOR, _PUBLISHED, _SETTING, _DEDICATEE, _PARTS),
)
