"""People and what is said of them."""

from __future__ import annotations

from canopy.corpora.mini.model import Kind, Relation, texts

_BIRTHPLACE = Relation(
    "birthplace",
    "place",
    "Birthplace",
    texts(
        """{s} was born in {v}.
        The birthplace of {s} was {v}.
        {s} came into the world in {v} as the youngest of four children.
        {v} was the town in which {s} was born.""",
        """{s} was a native of {v}.
        The parish book of {v} records the birth of {s}.""",
        """{s} first saw the light of day in {v}.
        The cradle of {s} stood in {v}.""",
    ),
    texts(
        """Where was {s} born?
        In which town was {s} born?
        What was the birthplace of {s}?
        What is the name of the town in which {s} was born?""",
        "Of which town was {s} a native?",
        """Where did {s} first see the light of day?
        In what town did the cradle of {s} stand?""",
    ),
    texts(
        """the birthplace of {s}
        the town where {s} was born
        the town in which {s} was born""",
        "the native town of {s}",
        """the town where {s} first saw the light of day
        the town where the cradle of {s} stood""",
    ),
)

_BORN = Relation(
    "born",
    "year -48 -26",
    "Born",
    texts(
        """{s} was born in the year {v}.
        The year of birth of {s} was {v}.
        Records give {v} as the year in which {s} was born.
        The birth of {s} fell in {v}.""",
        """{s} entered the world in {v}.
        A baptism entry dates {s} to {v}.""",
        """{s} arrived in {v}, according to the family Bible.
        The life of {s} began in {v}.""",
    ),
    texts(
        """When was {s} born?
        In what year was {s} born?
        What was the year of birth of {s}?
        In which year did the birth of {s} fall?""",
        "In what year did {s} enter the world?",
        """In what year did the life of {s} begin?
        When, by the family Bible, did {s} arrive?""",
    ),
    texts("the year of birth of {s}", "the year {s} entered the world", "the year the life of {s} began"),
    None,
    texts(
        """Who was born first, {a} or {b}?
        Was {a} or {b} born earlier?
        Of {a} and {b}, who has the earlier year of birth?
        Who was older, {a} or {b}?""",
        "Who entered the world first, {a} or {b}?",
        """Whose life began earlier, {a} or {b}?
        Did {a} or {b} arrive first?""",
    ),
)

_PROFESSION = Relation(
    "profession",
    "profession",
    "Profession",
    texts(
        """{s} worked as a {v}.
        By profession {s} was a {v}.
        {s} made a name as a {v}.
        For many years {s} was employed as a {v}.""",
        """{s} earned a living as a {v}.
        The trade of {s} was that of a {v}.""",
        """{s} took up the calling of {v}.
        Colleagues valued {s} as a {v}.""",
    ),
    texts(
        """What was the profession of {s}?
        What did {s} work as?
        What was {s} by profession?
        As what was {s} employed?""",
        "What trade did {s} follow?",
        """What calling did {s} take up?
        As what did colleagues value {s}?""",
    ),
    texts("the profession of {s}", "the trade of {s}", "the calling of {s}"),
    same=texts(
        """Did {a} and {b} have the same profession?
        Were {a} and {b} of the same profession?
        Was the profession of {a} the same as that of {b}?
        Did {a} and {b} both work in one profession?""",
        "Did {a} and {b} follow one trade?",
        """Did {a} take up the same calling as {b}?
        Were {a} and {b} valued for the same work?""",
    ),
)

_STUDIED = Relation(
    "studied",
    "school",
    "Studied at",
    texts(
        """{s} studied at {v}.
        {s} was a student of {v} for three years.
        {v} was where {s} studied.
        {s} completed a course of study at {v}.""",
        """{s} received an education at {v}.
        {v} counted {s} among its pupils.""",
        """{s} was trained at {v}.
        {s} took a diploma from {v}.""",
    ),
    texts(
        """Where did {s} study?
        At which school did {s} study?
        Of which school was {s} a student?
        Where did {s} complete a course of study?""",
        "Which school counted {s} among its pupils?",
        """Where was {s} trained?
        Which school gave {s} a diploma?""",
    ),
    texts("the school where {s} studied", "the school that educated {s}", "the school that trained {s}"),
)

_SPOUSE = Relation(
    "spouse",
    "person",
    "Spouse",
    texts(
        """{s} married {v} in a small chapel.
        {s} was married to {v}.
        The marriage of {s} and {v} lasted many years.
        {v} and {s} were husband and wife.""",
        """{s} was wed to {v}.
        A quiet wedding joined {s} and {v}.""",
        """{s} shared a home with {v}, who was the spouse.
        {s} took {v} as life partner.""",
    ),
    texts(
        """Whom did {s} marry?
        Who was {s} married to?
        Who was married to {s}?
        Who was the husband or wife of {s}?""",
        "To whom was {s} wed?",
        """Who was the spouse of {s}?
        Whom did {s} take as life partner?""",
    ),
    texts(
        """the person {s} married
        the husband or wife of {s}
        the person who was married to {s}""",
        "the person wed to {s}",
        """the spouse of {s}
        the life partner of {s}""",
    ),
)

_DIED = Relation(
    "died",
    "year 12 38",
    "Died",
    texts(
        """{s} died in {v}.
        The death of {s} came in {v}.
        {s} lived until {v}.
        Newspapers reported the death of {s} in {v}.""",
        """{s} passed away in {v}.
        A gravestone names {v} as the last year of {s}.""",
        """{s} was buried in {v}.
        The life of {s} ended in {v}.""",
    ),
    texts(
        """When did {s} die?
        In what year did {s} die?
        What was the year of death of {s}?
        Until which year did {s} live?""",
        "When did {s} pass away?",
        """In what year was {s} buried?
        In what year did the life of {s} end?""",
    ),
    texts("the year {s} died", "the year {s} passed away", "the year the life of {s} ended"),
)

PERSON = Kind(
    "person",
    "{n}",
    "{n}",
    (),
    ("person",),
    texts(
        """{s} was a well known figure of the time.
        {s} belonged to the best known people of the coast.
        {s} is the subject of two short biographies.""",
        "{s} was often mentioned in the papers of the day.",
        """{s} had a long and varied career.
        {s} is still remembered in several towns.""",
    ),
    texts(
        """In {year} {s} spent {number} weeks in {place}.
        A brother, {person}, moved to {place} in {year}.
        {s} kept a house with {number} windows.
        An early teacher was {person}.
        {s} turned down an honour in {year}.
        Letters to {person} were printed in {year}.""",
        """{s} owned {number} maps and gave them away in {year}.
        A cousin, {person}, lived near {place}.
        A fever in {year} kept {s} in bed for {number} days.""",
        """{s} collected {number} clocks over the years.
        A rival, {person}, wrote a sharp letter in {year}.
        {s} crossed the bay to {place} in {year}.
        In {year} {s} lent {number} coins to {person}.""",
    ),
    (_BIRTHPLACE, _BORN, _PROFESSION, _STUDIED, _SPOUSE, _DIED),
    (-16, 11),
)
