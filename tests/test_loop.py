from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from methods_world import (
    ITEMS,
    BagEncoder,
    BruteIndex,
    ScriptedReader,
    ask,
    asked_question,
    searching,
    settings,
    write_corpus,
)

from canopy.errors import UserError
from canopy.index import VectorIndex
from canopy.index.ids import ItemIds, write_ids
from canopy.methods.follow_up import normalise_query
from canopy.methods.loop import Batch, answer_batch
from canopy.methods.retrieve import ROUTES, UNROUTED, ItemStore, retrieve
from canopy.methods.run import shard_of, summary
from canopy.reader import parsing
from canopy.settings.runs import RunSettings
from canopy.shards import StoredVectors

CAPTAIN = ask("nq:1", "Where was the captain of the Marlune born?")
MAYOR = ask("nq:2", "Who is the mayor of Drevik?")
CRITIC = {"rounds": 3, "follow_up": "critic"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("world") / "corpus")


def verdict(query: str, missing: str = "a fact") -> str:
    return json.dumps({"sufficient": False, "missing": missing, "query": query})


def in_turn(*words: str) -> Callable[[str], str]:
    """A script for one question: the n-th call says the n-th words."""
    left = list(words)
    return lambda prompt: left.pop(0)


def play(corpus: Path, run: RunSettings, reader: ScriptedReader, *questions: object) -> Batch:
    search = searching(corpus, run.method.compression != "none")
    return answer_batch(questions or (CAPTAIN,), run, reader, search)  # type: ignore[arg-type]


def test_critic_fetches_what_is_missing_and_stops_when_sufficient(corpus: Path) -> None:
    reader = ScriptedReader(critic=in_turn(verdict("Tessaly Orn born", "birthplace"), '{"sufficient": true}'))
    batch = play(corpus, settings(k=1, **CRITIC), reader)
    first, second = batch.trace
    assert (first["query"], first["missing"], first["next_query"]) == (
        CAPTAIN.question,
        "birthplace",
        "Tessaly Orn born",
    )
    assert (first["sufficient"], first["parsed"], first["stop"]) == (False, True, "")
    assert [h["item_id"] for h in second["hits"]] == ["nq:b"]
    assert (second["query"], second["sufficient"], second["stop"]) == ("Tessaly Orn born", True, "sufficient")
    assert [k["item_id"] for k in batch.predictions[0]["kept"]] == ["nq:a", "nq:b"], "in order of arrival"
    assert batch.predictions[0]["rounds"] == 2
    assert [kind for kind, _ in reader.calls] == ["critic", "critic", "answer"]
    assert "Tessaly Orn was born in Drevik." in reader.prompts[-1]


def test_last_round_asks_no_critic(corpus: Path) -> None:
    reader = ScriptedReader(critic=in_turn(verdict("Tessaly Orn"), verdict("Drevik town")))
    batch = play(corpus, settings(k=1, **CRITIC), reader)
    assert [row["stop"] for row in batch.trace] == ["", "", "rounds"]
    last = batch.trace[-1]
    assert (last["sufficient"], last["parsed"], last["next_query"], last["critic_raw"]) == (None, None, "", "")


@pytest.mark.parametrize("again", ["WHERE was the captain of the 'Marlune' born", "Tessaly Orn!"])
def test_repeated_query_stops(corpus: Path, again: str) -> None:
    reader = ScriptedReader(critic=in_turn(verdict("tessaly orn"), verdict(again)))
    batch = play(corpus, settings(k=1, **CRITIC), reader)
    assert [row["stop"] for row in batch.trace] == ["", "repeat"]
    assert batch.trace[-1]["repeated"] and batch.trace[-1]["next_query"] == again
    assert summary([batch])["repeat_rate"] == 0.5


@pytest.mark.parametrize("garbage", ["", "I think so", "[1, 2]", '{"sufficient": "perhaps"}', '{"sufficient": false}'])
def test_unparsable_verdict_searches_deeper_once_then_stops(corpus: Path, garbage: str) -> None:
    reader = ScriptedReader(critic=in_turn(garbage, garbage))
    batch = play(corpus, settings(k=2, **CRITIC), reader)
    first, second = batch.trace
    assert (first["stop"], second["stop"]) == ("", "unparsed")
    assert first["parsed"] is False and first["sufficient"] is False and not first["repeated"]
    assert second["query"] == CAPTAIN.question
    ranked = BruteIndex(ITEMS, BagEncoder()).search(BagEncoder().encode([CAPTAIN.question]), 4)[0]
    assert [h["item_id"] for h in first["hits"] + second["hits"]] == [h.item_id for h in ranked], "k deeper, none twice"
    assert summary([batch])["parse_failure_rate"] == 1.0


def test_unparsable_verdict_then_a_good_one_goes_on(corpus: Path) -> None:
    reader = ScriptedReader(critic=in_turn("?", '{"sufficient": true}'))
    assert [row["stop"] for row in play(corpus, settings(**CRITIC), reader).trace] == ["", "sufficient"]


def test_reasoning_sentence_is_the_next_query_until_the_answer_is_given(corpus: Path) -> None:
    reader = ScriptedReader(
        reason=in_turn("The captain of the Marlune is Tessaly Orn. She", "So the answer is: Drevik."),
        answer=lambda prompt: "Answer: Drevik",
    )
    batch = play(corpus, settings(k=1, rounds=3, follow_up="reasoning"), reader)
    first, second = batch.trace
    assert first["next_query"] == second["query"] == "The captain of the Marlune is Tessaly Orn."
    assert second["stop"] == "answered" and second["sufficient"] is None
    assert batch.predictions[0]["answer"] == "Drevik" and reader.calls[-1] == ("answer", 1)


@pytest.mark.parametrize("compression", ["none", "frozen"])
def test_one_round_of_canopy_is_no_iteration(corpus: Path, compression: str) -> None:
    canopy = play(
        corpus, settings(compression=compression, **CRITIC), ScriptedReader(critic=in_turn('{"sufficient": true}'))
    )
    single = play(corpus, settings(compression=compression, rounds=1, follow_up="critic"), ScriptedReader())
    bare = play(corpus, settings(compression=compression, rounds=1), ScriptedReader())
    assert single.predictions == bare.predictions and single.trace == bare.trace
    assert single.predictions[0]["raw"] == canopy.predictions[0]["raw"]
    assert single.trace[0]["kept"] == canopy.trace[0]["kept"]


def test_compression_keeps_parts_of_the_same_items(corpus: Path) -> None:
    plain = play(corpus, settings(k=3, rounds=1), ScriptedReader())
    refined = play(corpus, settings(k=3, rounds=1, compression="frozen"), ScriptedReader())
    units = {item.item_id: len(item.units) for item in ITEMS}
    assert plain.trace[0]["hits"] == refined.trace[0]["hits"]
    assert [(k["unit_start"], k["unit_end"]) for k in plain.trace[0]["kept"]] == [
        (0, units[k["item_id"]]) for k in plain.trace[0]["kept"]
    ]
    assert plain.trace[0]["descended"] == 0 and plain.trace[0]["items"] == 3
    whole = {k["item_id"] for k in refined.trace[0]["kept"] if k["unit_end"] - k["unit_start"] == units[k["item_id"]]}
    assert refined.trace[0]["descended"] == 3 - len(whole) > 0
    assert refined.predictions[0]["evidence_tokens"] < plain.predictions[0]["evidence_tokens"]
    assert {k["item_id"] for k in refined.trace[0]["kept"]} == {k["item_id"] for k in plain.trace[0]["kept"]}


def test_without_rounds_nothing_is_retrieved() -> None:
    reader = ScriptedReader()
    batch = answer_batch([CAPTAIN, MAYOR], settings(rounds=0), reader, None)
    assert batch.trace == [] and reader.calls == [("answer", 2)]
    assert [p["qid"] for p in batch.predictions] == ["nq:1", "nq:2"]
    assert all(p["rounds"] == p["evidence_tokens"] == p["total_evidence_tokens"] == 0 for p in batch.predictions)


@pytest.mark.parametrize(
    ("label", "question", "expected"),
    [
        ("paragraph", "captain of the Marlune", {"nq:a"}),
        ("document", "captain of the Marlune", {"nq:a", "nq:a2"}),
        ("table", "captain of the Marlune", {"ottqa:t"}),
        ("image", "captain of the Marlune", {"mmqa:i"}),
        ("clip", "blue pier", {"lvbench:v#1"}),
        ("video", "blue pier", {"lvbench:v#0", "lvbench:v#1"}),
        ("none", "blue pier", set()),
    ],
)
def test_routes(corpus: Path, label: str, question: str, expected: set[str]) -> None:
    reader = ScriptedReader(route=lambda prompt: label)
    batch = play(corpus, settings(k=1, rounds=1, routing=True), reader, ask("nq:9", question))
    assert {h["item_id"] for h in batch.trace[0]["hits"]} == expected
    assert batch.trace[0]["route"] == label
    assert batch.predictions[0]["rounds"] == (label != "none")
    assert summary([batch])["routes"] == {label: 1}


def test_document_comes_in_document_order_once(corpus: Path) -> None:
    index, encoder = BruteIndex(ITEMS, BagEncoder()), BagEncoder()
    vectors = encoder.encode(["Marlune shipyard records builder timber"])
    assert index.search(vectors, 1, [frozenset({"text"})])[0][0].item_id == "nq:a2"
    [hits] = retrieve(index, vectors, ["document"], [set()], 2)
    assert [hit.item_id for hit in hits][:2] == ["nq:a", "nq:a2"] and len({h.item_id for h in hits}) == len(hits)
    [rest] = retrieve(index, vectors, ["document"], [{"nq:a2"}], 1)
    assert "nq:a2" not in {hit.item_id for hit in rest}


@pytest.mark.parametrize("label", [UNROUTED, *(name for name in ROUTES if name != "none")])
def test_retrieval_by_the_real_index_is_that_of_exact_search(tmp_path: Path, label: str) -> None:
    encoder = BagEncoder()
    brute = BruteIndex(ITEMS, encoder)
    ids = pl.DataFrame([{"item_id": i.item_id, "modality": i.modality, "doc_id": i.doc_id} for i in brute.items])
    write_ids([ids], tmp_path / "ids")
    index = VectorIndex(StoredVectors([brute.vectors], encoder.dim), ItemIds.load(tmp_path / "ids"))
    vectors = encoder.encode([CAPTAIN.question, MAYOR.question, "pier"])
    held: list[set[str]] = [set(), {"nq:c", "nq:a"}, {item.item_id for item in ITEMS}]
    found = retrieve(index, vectors, [label] * 3, held, 2)
    expected = retrieve(brute, vectors, [label] * 3, held, 2)
    assert [[hit.item_id for hit in hits] for hits in found] == [[hit.item_id for hit in hits] for hits in expected]
    assert found[2] == [], "all held"


def test_unknown_label_falls_back_to_paragraph_and_is_counted(corpus: Path) -> None:
    batch = play(corpus, settings(rounds=1, routing=True), ScriptedReader(route=lambda prompt: "no modality"))
    assert batch.trace[0]["route"] == "paragraph"
    facts = summary([batch])
    assert (facts["route_fallbacks"], facts["route_fallback_rate"]) == (1, 1.0)


def test_routes_are_those_of_the_parser() -> None:
    assert set(ROUTES) == set(parsing.ROUTES) and parsing.FALLBACK_ROUTE == "paragraph"


def test_every_round_is_routed_by_its_query(corpus: Path) -> None:
    reader = ScriptedReader(
        route=lambda prompt: "table" if "ships" in asked_question(prompt) else "image",
        critic=in_turn(verdict("list of ships"), '{"sufficient": true}'),
    )
    batch = play(corpus, settings(k=1, routing=True, **CRITIC), reader)
    assert [row["route"] for row in batch.trace] == ["image", "table"]


def test_corpus_smaller_than_k_and_empty_modality(tmp_path: Path) -> None:
    few = write_corpus(tmp_path / "corpus", items=ITEMS[:2])
    search = searching(few, True, ITEMS[:2])
    reader = ScriptedReader(critic=lambda prompt: verdict(f"query {len(reader.prompts)}"))
    batch = answer_batch([CAPTAIN], settings(k=10, compression="frozen", **CRITIC), reader, search)
    assert [len(row["hits"]) for row in batch.trace] == [2, 0, 0]
    assert summary([batch])["searches_without_hits"] == 2

    routed = settings(k=10, rounds=1, routing=True)
    batch = answer_batch(
        [CAPTAIN], routed, ScriptedReader(route=lambda prompt: "table"), searching(few, False, ITEMS[:2])
    )
    assert batch.predictions[0]["kept"] == [] and batch.predictions[0]["evidence_tokens"] == 0
    assert summary([batch])["questions_without_evidence"] == 1


def test_options_are_in_prompts_but_not_in_queries(corpus: Path) -> None:
    question = ask("lvbench:1", "Which pier?", ("red", "blue"))
    reader = ScriptedReader()
    batch = play(corpus, settings(rounds=1), reader, question)
    assert batch.trace[0]["query"] == "Which pier?" and "(B) blue" in reader.prompts[-1]


def test_over_budget_evidence_is_dropped_from_the_end_and_counted(corpus: Path) -> None:
    reader = ScriptedReader()
    wide = play(corpus, settings(k=8, rounds=1), reader)
    assert wide.predictions[0]["dropped"] == 0
    tight = settings(k=8, rounds=1, context_tokens=120)
    cut = play(corpus, tight, reader)
    assert 0 < cut.predictions[0]["dropped"] < 8 and cut.counts["prompts_cut"] == 1
    assert cut.predictions[0]["prompt_tokens"] <= 120 - tight.reader.answer_tokens
    assert CAPTAIN.question in reader.prompts[-1]


def test_tokens_of_rounds_and_of_all_calls(corpus: Path) -> None:
    reader = ScriptedReader(critic=in_turn(verdict("Drevik town")))
    batch = play(corpus, settings(k=1, rounds=2, follow_up="critic"), reader)
    first, second = (row["round_tokens"] for row in batch.trace)
    prediction = batch.predictions[0]
    assert first > 0 and second > 0
    assert prediction["evidence_tokens"] == first + second
    assert prediction["total_evidence_tokens"] == first + (first + second), "critic of round 1, then the answer"


def test_steps_are_batched(corpus: Path) -> None:
    reader = ScriptedReader(
        critic=lambda prompt: '{"sufficient": true}' if "mayor" in prompt else verdict("Tessaly Orn")
    )
    search = searching(corpus, True)
    answer_batch([CAPTAIN, MAYOR], settings(k=1, compression="frozen", **CRITIC), reader, search)
    assert reader.calls == [("critic", 2), ("critic", 1), ("answer", 2)]
    assert reader.forgotten == 1, "a batch starts with nothing kept of the one before"
    assert search.index.searches == [2, 1]  # type: ignore[attr-defined]


WORDS = ["Marlune", "captain", "Drevik", "river", "pier", "mayor", "ship", "born", "1902", "chess"]
QUESTIONS = [ask(f"nq:{n}", f"Question {n} about {WORDS[n]} and {WORDS[(n * 3) % 10]}") for n in range(10)]


def talkative() -> ScriptedReader:
    """Follow-ups, routes and answers that depend on the prompt alone: all stops occur."""

    def choose(prompt: str, options: list[str]) -> str:
        return options[sum(prompt.encode()) % len(options)]

    return ScriptedReader(
        critic=lambda p: choose(p, ['{"sufficient": true}', verdict("Drevik"), verdict("ship captain"), "??"]),
        route=lambda p: choose(p, [*ROUTES, "nonsense"]),
    )


@pytest.mark.parametrize("routing", [False, True])
def test_results_do_not_depend_on_the_batch(corpus: Path, routing: bool) -> None:
    run = settings(k=2, compression="frozen", routing=routing, **CRITIC)
    together = answer_batch(QUESTIONS, run, talkative(), searching(corpus, True))
    alone = [answer_batch([q], run, talkative(), searching(corpus, True)) for q in QUESTIONS]
    assert [b.predictions[0] for b in alone] == together.predictions
    assert [row for b in alone for row in b.trace] == together.trace
    assert len(summary([together])["stops"]) >= 3, "the script is varied enough to mean something"


@hypothesis_settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["", "?", '{"sufficient": true}', *map(verdict, WORDS)]), min_size=3, max_size=9),
    st.lists(st.sampled_from([*ROUTES, "x"]), min_size=10, max_size=10),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_invariants(corpus: Path, verdicts: list[str], routes: list[str], k: int, rounds: int) -> None:
    run = settings(k=k, routing=True, rounds=rounds, follow_up="critic", compression="frozen")
    reader = ScriptedReader(
        critic=lambda p: verdicts[sum(p.encode()) % len(verdicts)], route=lambda p: routes[sum(p.encode()) % 10]
    )
    batch = answer_batch(QUESTIONS[:4], run, reader, searching(corpus, True))
    for prediction in batch.predictions:
        rows = [row for row in batch.trace if row["qid"] == prediction["qid"]]
        assert [row["round"] for row in rows] == list(range(1, len(rows) + 1)) and len(rows) <= rounds
        assert [bool(row["stop"]) for row in rows] == [False] * (len(rows) - 1) + [True]
        held = [h["item_id"] for row in rows for h in row["hits"]]
        assert len(held) == len(set(held)), "no item is held twice"
        assert {kept["item_id"] for kept in prediction["kept"]} == set(held), "no item is compressed away"
        assert sum((row["parsed"] is False) for row in rows) <= 2


def test_shards_partition_the_questions_and_share_the_benchmarks() -> None:
    questions = [ask(f"{name}:{n}", "?") for name in ("hotpotqa", "nq", "ottqa") for n in range(7)]
    shards = [shard_of(questions[::-1], n, 3) for n in range(3)]
    assert sorted(q.qid for s in shards for q in s) == sorted(q.qid for q in questions)
    assert all({q.benchmark for q in s} == {"hotpotqa", "nq", "ottqa"} for s in shards)
    with pytest.raises(UserError, match="--shard 3"):
        shard_of(questions, 3, 3)


def test_index_of_another_corpus_is_an_error(corpus: Path) -> None:
    with pytest.raises(UserError, match="lacks nq:zzz"):
        ItemStore(corpus).get(["nq:a", "nq:zzz"])


def test_corpus_without_items_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"items\.parquet does not exist"):
        ItemStore(tmp_path)
    (tmp_path / "items.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UserError, match="not readable"):
        ItemStore(tmp_path)


@given(st.text())
def test_normalised_query_is_stable(text: str) -> None:
    assert normalise_query(normalise_query(text)) == normalise_query(text) == normalise_query(f"  {text}?! ")
