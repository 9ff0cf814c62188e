"""A question's course through the rounds, and the rows that it leaves in predictions and trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from canopy.contracts import Question
from canopy.index import Hit
from canopy.methods.follow_up import FollowUp, normalise_query
from canopy.reader.engine import Generation
from canopy.reader.parsing import parse_answer
from canopy.reader.prompts import Prompt
from canopy.regions.render import Region

Row = dict[str, Any]

_RANGE = {"item_id": pl.String, "unit_start": pl.Int64, "unit_end": pl.Int64}

PREDICTION_SCHEMA: dict[str, Any] = {
    "qid": pl.String,
    "benchmark": pl.String,
    "answer": pl.String,
    "raw": pl.String,
    "marked": pl.Boolean,
    "rounds": pl.Int64,
    "evidence_tokens": pl.Int64,
    "held_tokens": pl.Int64,
    "prompt_tokens": pl.Int64,
    "dropped": pl.Int64,
    "total_evidence_tokens": pl.Int64,
    "kept": pl.List(pl.Struct(_RANGE)),
}

TRACE_SCHEMA: dict[str, Any] = {
    "qid": pl.String,
    "round": pl.Int64,
    "query": pl.String,
    "route": pl.String,
    "hits": pl.List(pl.Struct({"item_id": pl.String, "score": pl.Float64})),
    "kept": pl.List(pl.Struct({**_RANGE, "score": pl.Float64})),
    "round_tokens": pl.Int64,
    "critic_raw": pl.String,
    "sufficient": pl.Boolean,
    "parsed": pl.Boolean,
    "missing": pl.String,
    "next_query": pl.String,
    "repeated": pl.Boolean,
    "descended": pl.Int64,
    "items": pl.Int64,
    "stop": pl.String,
}


@dataclass
class Course:
    """What a question has asked, holds and has spent so far.

    Attributes:
        question: the question.
        query: the query of the coming round.
        asked: normalised queries so far.
        held: ids of all items retrieved so far.
        evidence: regions in order of arrival: round, rank of the item, document order.
        rounds: rounds with retrieval; a round routed to ``none`` is not one.
        unparsed: follow-ups that could not be read.
        evidence_tokens: evidence tokens of all prompts so far, the same region counted each time.
        trace: one row a round.
        stop: why the rounds ended; empty while they go on.
    """

    question: Question
    query: str = ""
    asked: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    evidence: list[Region] = field(default_factory=list)
    rounds: int = 0
    unparsed: int = 0
    evidence_tokens: int = 0
    trace: list[Row] = field(default_factory=list)
    stop: str = ""

    def __post_init__(self) -> None:
        """The first query is the question itself."""
        self.query = self.question.question
        self.asked.add(normalise_query(self.query))

    def add_round(self, route: str, hits: Sequence[Hit], items: Sequence[Sequence[Region]], descended: int) -> None:
        """Append the new evidence of one round, a list of regions an item, and its trace row."""
        kept = [region for regions in items for region in regions]
        self.rounds += route != "none"
        self.held.update(hit.item_id for hit in hits)
        self.evidence.extend(kept)
        self.trace.append(
            {
                "qid": self.question.qid,
                "round": len(self.trace) + 1,
                "query": self.query,
                "route": route,
                "hits": [{"item_id": hit.item_id, "score": float(hit.score)} for hit in hits],
                "kept": [{**_range(region), "score": float(region.score)} for region in kept],
                "round_tokens": 0,
                "critic_raw": "",
                "sufficient": None,
                "parsed": None,
                "missing": "",
                "next_query": "",
                "repeated": False,
                "descended": descended,
                "items": len(hits),
                "stop": "",
            }
        )

    def end(self, why: str) -> None:
        """No more rounds; the last trace row says why."""
        self.stop = why
        self.trace[-1]["stop"] = why

    def steer(self, follow_up: FollowUp) -> None:
        """End the rounds or set the next query.

        A first follow-up that cannot be read counts as insufficient: the question's own text is
        searched again, which, held items being left out, reaches ``k`` items deeper. A second one
        ends the rounds, and so does a query that was asked before.
        """
        row = self.trace[-1]
        row["critic_raw"], row["sufficient"], row["parsed"] = follow_up.raw, follow_up.sufficient, follow_up.parsed
        row["missing"] = follow_up.missing
        if follow_up.stop:
            self.end(follow_up.stop)
        elif not follow_up.parsed:
            self.unparsed += 1
            if self.unparsed > 1:
                self.end("unparsed")
            else:
                self.query = row["next_query"] = self.question.question
        else:
            row["next_query"] = follow_up.query
            row["repeated"] = normalise_query(follow_up.query) in self.asked
            if row["repeated"]:
                self.end("repeat")
            else:
                self.query = follow_up.query
                self.asked.add(normalise_query(follow_up.query))

    def prediction(self, prompt: Prompt, generation: Generation) -> Row:
        """The row of the final answer. The last ``dropped`` regions of ``kept`` were not in the prompt."""
        parsed = parse_answer(generation.text)
        return {
            "qid": self.question.qid,
            "benchmark": self.question.benchmark,
            "answer": parsed.answer,
            "raw": generation.text,
            "marked": parsed.marked,
            "rounds": self.rounds,
            "evidence_tokens": prompt.evidence_tokens,
            "held_tokens": prompt.held_tokens,
            "prompt_tokens": generation.prompt_tokens,
            "dropped": prompt.dropped,
            "total_evidence_tokens": self.evidence_tokens,
            "kept": [_range(region) for region in self.evidence],
        }


def _range(region: Region) -> Row:
    return {"item_id": region.item_id, "unit_start": region.unit_start, "unit_end": region.unit_end}
