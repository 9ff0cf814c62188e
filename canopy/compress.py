"""Compression alone: what a retriever returned in, the regions that bear on the query out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from canopy.contracts import Item
from canopy.documents import table_item, text_item
from canopy.encoder.model import TextEncoder
from canopy.errors import UserError
from canopy.regions.refine import Refiner
from canopy.regions.render import Region
from canopy.settings.encoder import EncoderSettings, TreeSettings

__all__ = ["Compressor", "Region", "table_item", "text_item"]


class Compressor:
    """Keeps of each item the regions that stand out against the rest of it (parent-relative refinement).

    Attributes:
        encoder: the node encoder.
        description: which one it is, for people.
    """

    def __init__(
        self,
        adapter: Path | None = None,
        encoder: EncoderSettings = EncoderSettings(),  # noqa: B008  # frozen
        tree: TreeSettings = TreeSettings(),  # noqa: B008
    ) -> None:
        """Load the encoder, once for any number of calls.

        Args:
            adapter: directory of a fine-tuned encoder (canopy encoder); None for the frozen one.
            encoder: batch size and longest text, in tokens.
            tree: shape of the region trees.

        Raises:
            UserError: the weights or the adapter are missing.
        """
        self._queries = TextEncoder.load(encoder)
        self.encoder = self._queries if adapter is None else TextEncoder.load(encoder, adapter=adapter)
        self.description = (
            f"frozen {encoder.model}" if adapter is None else f"{encoder.model} fine-tuned by the adapter in {adapter}"
        )
        self._refiner = Refiner(self.encoder, tree)

    def compress(self, query: str, items: Sequence[Item]) -> list[list[Region]]:
        """The regions kept of each item, in document order.

        Every item keeps at least one region: refinement narrows what was retrieved, it does not
        judge whether it should have been. Node vectors of up to 20,000 items are remembered.

        Args:
            query: the question.
            items: from :func:`text_item`, :func:`table_item` or a corpus.

        Raises:
            UserError: the query is empty.
        """
        if not query.strip():
            raise UserError("the query is empty")
        vectors = self._queries.encode([query])
        return self._refiner.refine(vectors, [(0, item) for item in items])
