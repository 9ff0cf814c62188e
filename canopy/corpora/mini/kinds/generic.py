"""Sentences that fit every kind of entity, and the wording around tables."""

from __future__ import annotations

from canopy.corpora.mini.model import texts

TRIVIA = texts(
    """A newspaper in {place} wrote about {s} in {year}.
    A box of papers on {s} was found in {year}.
    {person} gave a talk on {s} in {year}.
    The archive in {place} keeps {number} letters about {s}.
    A stamp with a picture of {s} was issued in {year}.
    {person} wrote a song about {s}.
    Little is known about the years before {year}.
    An album with {number} photographs was sold in {place}.
    Some details were doubted by {person} in {year}.
    A street in {place} recalls {s}.""",
    """A folder on {s} lies in the library of {place}.
    {person} lectured about {s} in {year}.
    A medal was struck in {year} in {number} pieces.
    The story of {s} was told on the radio in {year}.
    A plaque in {place} mentions {s}.
    {person} corrected several errors in {year}.
    {number} sketches are kept in {place}.
    A short film was made in {year}.""",
    """An exhibition in {place} showed {number} objects in {year}.
    {person} published notes on {s} in {year}.
    A toy of {s} was sold in {year}.
    Older books confuse the dates before {year}.
    A club in {place} is devoted to {s}.
    {person} left {number} documents to the museum of {place}.
    A calendar of {year} shows {s}.
    Readers of a magazine voted on {s} in {year}.
    {person} spoke of {s} with warmth.
    A postcard from {place} is dated {year}.""",
)

TABLE_REFERENCES = texts(
    """the {noun} {clause} in the list {table}
    the {noun} {clause}, listed under {table},
    the {noun} {clause} in the table {table}
    the {noun} from {table} {clause}""",
    "the {noun} {clause} that is recorded under {table}",
    """the {noun} {clause} among {table}
    the {noun} {clause} on the register {table}""",
)

TABLE_QUESTIONS = texts(
    """In the list {table}, what is given under {column} for {s}?
    What does the table {table} give under {column} for {s}?
    What is listed under {column} for {s} in {table}?
    According to the list {table}, what is the entry under {column} for {s}?""",
    "What is recorded in the column {column} for {s} under {table}?",
    """On the register {table}, what stands beneath {column} for {s}?
    Among {table}, what does the field {column} hold for {s}?""",
)

#: Put before a sentence, which then goes on in lower case.
LEADS = texts(
    """According to the harbour books,
    As far as is known,
    By most accounts,
    A local guide states that
    It is generally agreed that""",
    """As the chronicles have it,
    A footnote adds that""",
    """If the records can be trusted,
    Older sources agree that
    It is on record that""",
)

#: Put in place of a sentence's full stop.
TAILS = texts(
    """, as several letters show.
    , to the surprise of many.
    , which few people disputed.
    , as the town clerk wrote down.""",
    """, as a note in the margin says.
    , as the parish clerk remarked.""",
    """, or so the museum's catalogue says.
    , which nobody had expected.
    , as old neighbours recalled.""",
)

#: Annotation only: what the first hop of a table question has found.
TABLE_FINDINGS: tuple[str, ...] = (
    "In {table}, the {noun} {clause} is {s}.",
    "According to {table}, the {noun} {clause} is {s}.",
)
