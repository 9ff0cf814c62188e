"""The kinds of entity of the constructed world, one module a kind."""

from __future__ import annotations

from canopy.corpora.mini.kinds.buildings import BUILDING
from canopy.corpora.mini.kinds.companies import COMPANY
from canopy.corpora.mini.kinds.expeditions import EXPEDITION
from canopy.corpora.mini.kinds.people import PERSON
from canopy.corpora.mini.kinds.places import PLACE
from canopy.corpora.mini.kinds.ships import SHIP
from canopy.corpora.mini.kinds.works import WORK
from canopy.corpora.mini.model import Kind

KINDS: dict[str, Kind] = {kind.name: kind for kind in (SHIP, PERSON, PLACE, WORK, COMPANY, BUILDING, EXPEDITION)}
#: Kinds that are the subject of tables.
LISTED: tuple[str, ...] = ("ship", "work", "company", "building", "expedition")
