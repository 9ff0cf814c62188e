from __future__ import annotations

import csv
import gzip
import json
import random
import re
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from canopy.contracts import Split
from canopy.corpora.mini import build
from canopy.corpora.mini.kinds import KINDS, generic
from canopy.corpora.mini.model import SPLITS, Entity, Texts, all_texts
from canopy.corpora.mini.names import ENDINGS, Names, split_of
from canopy.corpora.mini.pictures import PICTURES
from canopy.corpora.mini.scenes import FILMS
from canopy.corpora.mini.values import WORDS
from canopy.settings.corpora import MiniRawSettings

TINY = MiniRawSettings(
    passages=40,
    tables=4,
    images=4,
    videos=3,
    video_minutes=(1, 1),
    train_questions=10,
    dev_questions=5,
    test_questions=1,
)
HOTPOT = {
    "train": "hotpot_train_v1.1.json",
    "dev": "hotpot_dev_distractor_v1.json",
    "test": "hotpot_test_v1.json",
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mini") / "raw"
    build.run(TINY, out)
    return out


@cache
def corpus() -> dict[Split, build.Corpus]:
    """The default corpus in memory: everything but pictures and films drawn."""
    return build.make(MiniRawSettings())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native files of the default corpus without pictures and films."""
    out = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("canopy.corpora.mini.lvbench.write_film", lambda path, scenes: None)
        patch.setattr("PIL.Image.Image.save", lambda *args, **options: None)
        build.write(corpus(), out, seed=13)
    return out


def json_lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    return [json.loads(line) for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()]


def template_groups() -> list[tuple[str, Texts]]:
    groups = [group for kind in KINDS.values() for group in all_texts(kind)]
    groups += [(name, value) for name, value in vars(generic).items() if isinstance(value, Texts)]
    shown = [s for picture in PICTURES.values() for s in picture.shown] + [s for film in FILMS for s in film.shown]
    for one in shown:
        groups += [(f"{one.label}.questions", one.questions), (f"{one.label}.phrases", one.phrases)]
        groups += [(f"{one.label}.clauses", one.clauses)] if one.clauses else []
    return groups


def test_no_template_is_shared_between_splits() -> None:
    used: dict[str, set[str]] = {split: set() for split in SPLITS}
    for _, group in template_groups():
        for split in SPLITS:
            used[split] |= {re.sub(r"\W+", " ", template).lower().strip() for template in group.of(split)}
    for one, other in combinations(SPLITS, 2):
        assert used[one] & used[other] == set()


def test_each_relation_has_several_paraphrases() -> None:
    relations = [r for kind in KINDS.values() for r in kind.relations]
    assert len({(r.sentences.train, r.questions.train) for r in relations}) == len(relations) >= 15
    for relation in relations:
        for group in (relation.sentences, relation.questions):
            assert len(set(group.train)) >= 4, relation.name
            assert len(set(group.dev)) >= 1
            assert len(set(group.test)) >= 2


def test_templates_of_facts_hold_subject_and_value() -> None:
    for kind in KINDS.values():
        for relation in kind.relations:
            for split in SPLITS:
                assert all("{v}" in t for t in relation.sentences.of(split)), relation.name
                assert all("{s}" in t for t in relation.questions.of(split) + relation.phrases.of(split))


def test_names_of_a_split_do_not_depend_on_seed_or_size() -> None:
    for split in SPLITS:
        for seed in range(3):
            names = Names(split, random.Random(seed))
            words = [names.word(style) for style in ENDINGS for _ in range(100)]
            assert len(set(words)) == len(words)
            assert {split_of(word) for word in words} == {split}


def test_near_names_differ_in_the_ending_only() -> None:
    names = Names("test", random.Random(1))
    for _ in range(200):
        word = names.word("place")
        near = names.near(word, "place")
        assert near != word
        assert near[:-2] == word[:-2]
        assert split_of(near) == "test"


def text_of(split: Split, written: Path) -> str:
    """Everything that the native files of a split say."""
    part = corpus()[split]
    texts = [passage.text for _, parts in part.nq.articles for passage in parts]
    texts += [title for entity, _ in part.nq.articles for title in (entity.title,)]
    texts += [(written / "hotpotqa" / HOTPOT[split]).read_text()]
    texts += [(written / f"lvbench/video_info.meta.{split}.jsonl").read_text()]
    texts += [json.dumps(json_lines(written / f"mmqa/MMQA_{split}.jsonl.gz"))]
    texts += [passage.text for page in part.mmqa.pages for passage in page.texts.values()]
    texts += [value for page in part.mmqa.pages for drawn in page.images.values() for value in drawn.values.values()]
    for table in part.ottqa.tables:
        name = table.title.replace(" ", "_") + "_0.json"
        texts += [(written / f"ottqa/data/traindev_{kind}_tok" / name).read_text() for kind in ("tables", "request")]
    return " ".join(texts).replace("_", " ")


@cache
def common_words() -> set[str]:
    """Words that all splits may use: of templates, of titles, and ordinary nouns."""
    lines = [t for _, group in template_groups() for split in SPLITS for t in group.of(split)]
    lines += [word for words in WORDS.values() for word in words]
    lines += [r.column for kind in KINDS.values() for r in kind.relations]
    lines += [word for kind in KINDS.values() for word in (kind.name, *kind.types, *kind.pronouns)]
    lines += ["Ships Works Companies Buildings Expeditions Register Society Almanac Museum Gazette"]
    lines += ["Playhouse Pavilion Island Expedition", "January February August September October November December"]
    lines += ["Compose"]  # of native question types
    return {word.lower() for line in lines for word in re.findall(r"\w+", line)}


def test_splits_share_no_name(written: Path) -> None:
    names = {}
    for split in SPLITS:
        # Every invented word has a capital and at least six letters.
        words = set(re.findall(r"\b[A-Z][a-z]{5,}\b", text_of(split, written)))
        names[split] = {word for word in words if word.lower() not in common_words()}
        assert len(names[split]) > 100
        assert {word for word in names[split] if split_of(word) != split} == set()
    for one, other in combinations(SPLITS, 2):
        assert names[one] & names[other] == set()


def test_prose_of_a_split_uses_words_of_that_split_only() -> None:
    for split, part in corpus().items():
        for entity, _ in part.nq.articles:
            word = entity.name.split(" ")[-1]
            assert split_of(word) == split
            for fact in entity.facts.values():
                if fact.target:
                    assert split_of(fact.target.name.split(" ")[-1]) == split


def test_counts_are_reached() -> None:
    settings = MiniRawSettings()
    counted = build.counts(corpus())
    for name in ("passages", "tables", "images", "videos"):
        assert counted[name] >= getattr(settings, name), name
    assert counted["segments"] <= 60
    asked: Counter[str] = Counter()
    for split, part in corpus().items():
        per_benchmark = [
            len(part.nq.asked),
            len(part.hotpotqa.records),
            len(part.ottqa.questions),
            len(part.mmqa.questions),
            sum(len(video.qa) for video in part.lvbench.videos),
        ]
        asked[split] = sum(per_benchmark)
        if split == "test":
            assert per_benchmark == [settings.test_questions] * 5
        if split == "dev":
            assert per_benchmark == [10] * 5
    assert asked["train"] >= settings.train_questions
    assert asked["dev"] >= settings.dev_questions


def test_passages_have_5_to_12_short_sentences() -> None:
    lengths = []
    for part in corpus().values():
        passages = [p for _, parts in part.nq.articles for p in parts] + part.hotpotqa.paragraphs
        passages += list(part.ottqa.linked.values()) + [p for page in part.mmqa.pages for p in page.texts.values()]
        for passage in passages:
            assert 5 <= len(passage.sentences) <= 12
            assert all(re.fullmatch(r"\S.*[.]", s.text) for s in passage.sentences)
            lengths += [len(s.text.split()) for s in passage.sentences]
    lengths.sort()
    assert 8 <= lengths[len(lengths) // 2] <= 12


def test_nq_answers_are_in_the_gold_passage_and_questions_are_lower_case(written: Path) -> None:
    with (written / "nq" / "psgs_w100.tsv").open(newline="") as stream:
        passages = {row["id"]: row for row in csv.DictReader(stream, delimiter="\t")}
    per_title = Counter(row["title"] for row in passages.values())
    assert set(per_title.values()) >= {1, 2}
    assert max(per_title.values()) <= 3
    for split in SPLITS:
        for record in json.loads((written / "nq" / f"biencoder-nq-{split}.json").read_text()):
            (gold,) = record["positive_ctxs"]
            assert gold["score"] == 1000
            assert passages[gold["passage_id"]]["text"] == gold["text"]
            assert record["answers"][0] in gold["text"]
            assert record["question"] == record["question"].lower()
            assert not record["question"].endswith("?")
            assert record["hard_negative_ctxs"]
            for context in record["negative_ctxs"] + record["hard_negative_ctxs"]:
                assert passages[context["passage_id"]]["text"] == context["text"] != gold["text"]


def hotpot_records(written: Path) -> list[dict[str, Any]]:
    return [r for split in SPLITS for r in json.loads((written / "hotpotqa" / HOTPOT[split]).read_text())]


def test_hotpot_supporting_sentences_hold_the_answer(written: Path) -> None:
    kinds: Counter[str] = Counter()
    for record in hotpot_records(written):
        context = dict(record["context"])
        assert len(context) == 10
        facts = [context[title][index] for title, index in record["supporting_facts"]]
        assert len(facts) == 2
        for sentences in context.values():
            assert not sentences[0].startswith(" ")
            assert all(s.startswith(" ") for s in sentences[1:])
        if record["answer"] in ("yes", "no"):
            kinds[record["answer"]] += 1
        elif record["type"] == "comparison":
            kinds["order"] += 1
            assert record["answer"] in [title for title, _ in record["supporting_facts"]]
        else:
            kinds["bridge"] += 1
            assert record["answer"] in facts[1]
    assert kinds["bridge"] > kinds["order"] > 0
    assert kinds["yes"] > 0
    assert kinds["no"] > 0


def test_hotpot_bridge_entity_is_not_in_the_question(written: Path) -> None:
    for record in hotpot_records(written):
        if record["type"] != "bridge":
            continue
        (first, one), (second, _) = record["supporting_facts"]
        context = dict(record["context"])
        assert first in record["question"]
        assert second in context[first][one], "the first hop names the second article"
        assert not any(word in record["question"] for word in second.split() if split_word(word))
        assert first not in "".join(context[second]), "the second article does not lead back to the question"


def split_word(word: str) -> bool:
    """Whether a word of a title is a name, not a common word such as Line or Tower."""
    common = {t for kind in KINDS.values() for name in kind.types for t in name.split()}
    return len(word) >= 6 and word not in common


def test_hotpot_comparisons_agree_with_their_facts() -> None:
    for part in corpus().values():
        for record in part.hotpotqa.records:
            if record["type"] != "comparison" or record["answer"] in ("yes", "no"):
                continue
            context = dict(record["context"])
            facts = [context[title][index] for title, index in record["supporting_facts"]]
            numbers = [int(re.findall(r"\d[\d,]*", fact)[-1].replace(",", "")) for fact in facts]
            earlier = re.search(r"first|earl|before|older|back further", record["question"])
            wanted = min if earlier else max
            right = record["supporting_facts"][numbers.index(wanted(numbers))][0]
            assert record["answer"] == right, record["question"]


def test_ottqa_nodes_hold_the_answer_and_questions_hide_the_row(written: Path) -> None:
    folder = written / "ottqa"
    nodes: Counter[str] = Counter()
    for split in SPLITS:
        for question in json.loads((folder / "released_data" / f"{split}.traced.json").read_text()):
            table = json.loads((folder / "data/traindev_tables_tok" / f"{question['table_id']}.json").read_text())
            texts = json.loads((folder / "data/traindev_request_tok" / f"{question['table_id']}.json").read_text())
            assert table["uid"] == question["table_id"]
            assert set(texts) == {link for row in table["data"] for _, links in row for link in links}
            ((text, (row, column), link, where),) = question["answer-node"]
            nodes[where] += 1
            cell = table["data"][row][column]
            assert cell[0] == text
            source = texts[link] if where == "passage" else text
            assert question["answer-text"] in source
            assert table["data"][row][0][0] not in question["question"], "the row's entity is not named"
            assert table["title"] in question["question"]
            assert question["question"].endswith(" ?")
    assert nodes["passage"] > nodes["table"] > 0


def test_ottqa_linked_passages_do_not_repeat_the_columns() -> None:
    for part in corpus().values():
        for table in part.ottqa.tables:
            for row in table.rows:
                stated = {s.relation for s in part.ottqa.linked[row.title].sentences}
                assert stated.isdisjoint(table.columns)
                assert set(table.told) <= stated


def test_mmqa_answers_are_in_their_gold_evidence(written: Path) -> None:
    folder = written / "mmqa"
    texts = {r["id"]: r["text"] for r in json_lines(folder / "MMQA_texts.jsonl.gz")}
    tables = {r["id"]: r["table"]["table_rows"] for r in json_lines(folder / "MMQA_tables.jsonl.gz")}
    images = {r["id"]: r for r in json_lines(folder / "MMQA_images.jsonl.gz")}
    types: Counter[str] = Counter()
    for split in SPLITS:
        for question in json_lines(folder / f"MMQA_{split}.jsonl.gz"):
            (answer,) = question["answers"]
            types[question["metadata"]["type"]] += 1
            for instance in answer["text_instances"]:
                text = texts[instance["doc_id"]].encode()[instance["start_byte"] :].decode()
                assert text.startswith(answer["answer"])
            for row, column in answer["table_indices"]:
                assert tables[question["metadata"]["table_id"]][row][column]["text"] == answer["answer"]
            for instance in answer["image_instances"]:
                assert instance["doc_id"] in images
                assert answer["answer"] not in images[instance["doc_id"]]["title"]
            found = [*answer["text_instances"], *answer["table_indices"], *answer["image_instances"]]
            assert len(found) == 1
            places = {part["doc_id"] for part in question["supporting_context"]}
            assert places <= texts.keys() | tables.keys() | images.keys()
    assert {"TableQ", "TextQ", "ImageQ", "Compose(TextQ,TableQ)", "Compose(ImageQ,TableQ)"} <= types.keys()


def test_what_pictures_show_is_in_no_text_on_the_same_entity() -> None:
    for part in corpus().values():
        for page in part.mmqa.pages:
            for title, drawn in page.images.items():
                for value in drawn.values.values():
                    assert not re.search(rf"\b{re.escape(value)}\b", page.texts[title].text)
                    assert value not in [f.value for f in drawn.entity.facts.values()]


def test_lvbench_questions_point_to_one_segment_that_shows_the_answer(written: Path) -> None:
    for split, part in corpus().items():
        lines = json_lines(written / "lvbench" / f"video_info.meta.{split}.jsonl")
        videos = {video.key: video for video in part.lvbench.videos}
        assert lines
        for line in lines:
            for qa in line["qa"]:
                start, end = (int(t[:2]) * 60 + int(t[3:]) for t in qa["time_reference"].split("-"))
                assert start < end
                assert start // 30 == (end - 1) // 30
                stop = videos[line["key"]].stops[start // 30]
                stem, *options = qa["question"].split("\n")
                assert stop.name in stem
                assert [o[:4] for o in options] == ["(A) ", "(B) ", "(C) ", "(D) "]
                assert options["ABCD".index(qa["answer"])][4:] in stop.values.values()
                assert len(set(options)) == 4
                others = [s for s in videos[line["key"]].stops if s is not stop]
                assert not any(s.name in stem for s in others)


def test_videos_have_the_asked_length() -> None:
    for part in corpus().values():
        for video in part.lvbench.videos:
            assert 110 <= video.seconds <= 360


def test_annotations_cover_every_train_question(written: Path) -> None:
    notes = json_lines(written / "annotations.train.jsonl")
    by_benchmark: dict[str, dict[str, dict[str, Any]]] = {}
    for note in notes:
        by_benchmark.setdefault(note["benchmark"], {})[note["qid"]] = note
        assert note["steps"]
        assert note["route"] in ("paragraph", "document", "table", "image", "clip")
        for step in note["steps"]:
            assert step["query"].strip()
            assert step["sentence"].endswith(".")
            assert step["missing"]
        if note["benchmark"] not in ("lvbench",) and note["answer"] not in ("yes", "no"):
            told = " ".join(step["sentence"] for step in note["steps"])
            assert note["answer"] in told
    hotpot = json.loads((written / "hotpotqa" / HOTPOT["train"]).read_text())
    assert by_benchmark["hotpotqa"].keys() == {r["_id"] for r in hotpot}
    assert all(by_benchmark["hotpotqa"][r["_id"]]["answer"] == r["answer"] for r in hotpot)
    ott = json.loads((written / "ottqa/released_data/train.traced.json").read_text())
    assert by_benchmark["ottqa"].keys() == {r["question_id"] for r in ott}
    mmqa = json_lines(written / "mmqa/MMQA_train.jsonl.gz")
    assert by_benchmark["mmqa"].keys() == {r["qid"] for r in mmqa}
    lv = json_lines(written / "lvbench/video_info.meta.train.jsonl")
    assert by_benchmark["lvbench"].keys() == {qa["uid"] for line in lv for qa in line["qa"]}
    assert len(by_benchmark["nq"]) == len(json.loads((written / "nq/biencoder-nq-train.json").read_text()))


@pytest.mark.parametrize("seed", range(4))
def test_every_seed_gives_distinct_questions_in_full_number(seed: int) -> None:
    parts = build.make(MiniRawSettings(seed=seed, test_questions=12, passages=400, tables=30, images=30))
    for part in parts.values():
        groups = [
            [question for question, *_ in part.nq.asked],
            [record["_id"] for record in part.hotpotqa.records],
            [question["question_id"] for question in part.ottqa.questions],
            [question["qid"] for question in part.mmqa.questions],
            [qa["uid"] for video in part.lvbench.videos for qa in video.qa],
        ]
        for ids in groups:
            assert len(set(ids)) == len(ids)
            assert part.world.split != "test" or len(ids) == 12


def test_marriages_hold_both_ways() -> None:
    def people(part: build.Corpus) -> list[Entity]:
        return [entity for entity, _ in part.nq.articles if entity.kind == "person"]

    for part in corpus().values():
        for person in people(part):
            spouse = person.facts["spouse"].target
            assert spouse is not None
            assert spouse.facts["spouse"].target is person


def test_same_settings_give_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    build.run(TINY, tmp_path / "again")

    def contents(folder: Path) -> dict[str, bytes]:
        files = [p for p in folder.rglob("*") if p.is_file() and p.name != "manifest.json"]
        return {str(p.relative_to(folder)): p.read_bytes() for p in files}

    first, second = contents(tiny), contents(tmp_path / "again")
    assert {name for name in first if name.endswith(".mp4")}
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_another_seed_gives_another_world(tmp_path: Path) -> None:
    one = build.make(TINY)["test"].hotpotqa.records
    other = build.make(TINY.model_copy(update={"seed": TINY.seed + 1}))["test"].hotpotqa.records
    assert [r["question"] for r in one] != [r["question"] for r in other]


def test_tiny_corpus_has_all_files_and_films_of_a_minute(tiny: Path) -> None:
    import av

    manifest = json.loads((tiny / "manifest.json").read_text())
    assert manifest["facts"]["passages"] >= 40
    for name in (
        "nq/psgs_w100.tsv",
        "nq/NQ-open.train.jsonl",
        "nq/biencoder-nq-test.json",
        "hotpotqa/hotpot_test_v1.json",
        "ottqa/released_data/test.traced.json",
        "mmqa/MMQA_test.jsonl.gz",
        "lvbench/video_info.meta.test.jsonl",
        "annotations.train.jsonl",
    ):
        assert (tiny / name).stat().st_size > 0, name
    assert "constructed" in (tiny / "README.txt").read_text()
    for record in json_lines(tiny / "mmqa/MMQA_images.jsonl.gz"):
        assert (tiny / "mmqa/final_dataset_images" / record["path"]).read_bytes().startswith(b"\x89PNG")
    for split in SPLITS:
        for line in json_lines(tiny / f"lvbench/video_info.meta.{split}.jsonl"):
            with av.open(str(tiny / "lvbench" / "videos" / f"{line['key']}.mp4")) as film:
                stream = film.streams.video[0]
                assert (stream.width, stream.height) == (640, 360)
                assert film.duration == pytest.approx(60 * 1_000_000, abs=600_000)
