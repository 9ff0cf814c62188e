"""Loading what a method needs, and nothing that it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from canopy.artefacts import read_manifest
from canopy.encoder.model import TextEncoder
from canopy.errors import UserError
from canopy.index import VectorIndex
from canopy.methods.loop import Search
from canopy.methods.retrieve import ItemStore
from canopy.reader.engine import Engine, load_engine
from canopy.regions.refine import Refiner
from canopy.settings.runs import RunSettings


@dataclass(frozen=True)
class Places:
    """Artefact directories of a run; index and encoder may be left out where the method needs none."""

    corpus: Path
    reader: Path
    index: Path | None = None
    encoder: Path | None = None

    def used(self, settings: RunSettings) -> list[Path]:
        """The directories that this method reads.

        Raises:
            UserError: one is missing or unfinished; the message names the option.
        """
        needed = [("--corpus", self.corpus, "canopy corpus"), ("--reader", self.reader, "canopy reader-model")]
        for name in settings.method.needs:
            directory = {"index": self.index, "encoder": self.encoder}[name]
            if directory is None:
                raise UserError(f"method {settings.name} needs --{name} DIR")
            needed.append((f"--{name}", directory, f"canopy {name}"))
        for option, directory, command in needed:
            if not directory.is_dir():
                raise UserError(f"{option} {directory}: no such directory; `{command}` makes it")
            read_manifest(directory)
        return [directory for _, directory, _ in needed]


@dataclass
class Tools:
    """Loaded models. Load them through :meth:`load`."""

    engine: Engine
    search: Callable[[], Search | None]
    encoders: list[TextEncoder]

    @classmethod
    def load(cls, settings: RunSettings, places: Places) -> Tools:
        """Load the reader and, for methods with rounds, index and encoders.

        ``search()`` makes a :class:`Search` with an empty cache of node vectors. Each batch takes a
        new one: a vector kept from an earlier batch may differ in its last bits from the one that a
        resumed job computes, and resumed and unbroken runs must agree.

        Raises:
            UserError: a directory is missing, unfinished or does not fit the others.
        """
        places.used(settings)
        engine = load_engine(settings.reader, places.reader)
        if places.index is None or not settings.method.rounds:
            return cls(engine, lambda: None, [])
        frozen = TextEncoder.load(settings.encoder)
        nodes = _node_encoder(settings, places, frozen)
        index = VectorIndex.load(places.index, frozen)
        store = ItemStore(places.corpus)

        def search() -> Search:
            return Search(store, index, frozen, Refiner(nodes, settings.tree) if nodes else None)

        return cls(engine, search, [frozen] if nodes in (None, frozen) else [frozen, nodes])

    def forward_seconds(self) -> float:
        """Seconds inside model forward passes since loading, all models together."""
        return self.engine.forward_seconds + sum(encoder.forward_seconds for encoder in self.encoders)


def _node_encoder(settings: RunSettings, places: Places, frozen: TextEncoder) -> TextEncoder | None:
    if settings.method.compression == "none":
        return None
    if settings.method.compression == "frozen":
        return frozen
    return TextEncoder.load(settings.encoder, adapter=places.encoder)
