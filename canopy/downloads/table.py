"""The official files of the benchmarks: name, location, size, licence, use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from canopy.errors import UserError

Need = Literal["needed", "full collection", "optional"]

_NQ_OPEN = (
    "https://raw.githubusercontent.com/google-research-datasets/natural-questions/"
    "fb26a3073b1fe636c97302890a27b491d6530130/nq_open/"
)
_DPR = "https://dl.fbaipublicfiles.com/dpr/"
_HOTPOT = "http://curtis.ml.cmu.edu/datasets/hotpot/"
_HOTPOT_DUMP = "enwiki-20171001-pages-meta-current-withlinks-abstracts.tar.bz2"
_OTTQA_COMMIT = "b289bcca691db21a5259c3420e6b9819a9be9ba3"
_OTTQA = f"https://raw.githubusercontent.com/wenhuchen/OTT-QA/{_OTTQA_COMMIT}/"
_OTTQA_CORPUS = "https://opendomainhybridqa.s3-us-west-2.amazonaws.com/"
_MMQA = "https://raw.githubusercontent.com/allenai/multimodalqa/4dd14328c6d02a4daa357cc6032915a0b14602e3/dataset/"
_MMQA_IMAGES = "https://multimodalqa-images.s3-us-west-2.amazonaws.com/final_dataset_images/final_dataset_images.zip"
_LVBENCH = "https://huggingface.co/datasets/THUDM/LVBench/resolve/main/video_info.meta.jsonl"

_NQ_LICENCE = "CC BY-SA 3.0"
_DPR_LICENCE = "CC BY-NC 4.0 (DPR); texts CC BY-SA 3.0"
_HOTPOT_LICENCE = "CC BY-SA 4.0"
_OTTQA_LICENCE = "MIT; texts CC BY-SA"
_MMQA_LICENCE = "Apache-2.0 (repository); texts CC BY-SA"


@dataclass(frozen=True, slots=True)
class Unpack:
    """How an archive is unpacked.

    Attributes:
        to: the folder to make, under the benchmark's folder.
        factor: unpacked bytes for each byte of the archive, about.
        strip: leading parts of the members' names that are dropped.
        only: what the names begin with, after stripping, of the members that are unpacked; empty for all.
    """

    to: str
    factor: float
    strip: int = 0
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """One official file.

    Attributes:
        name: its place under the benchmark's folder; of an archive, where a copy made by hand is looked for.
        url: the official location.
        licence: of the content.
        use: what it is for.
        need: "needed" for questions with a small collection, "full collection" for what the paper retrieves from;
            "optional" files are fetched by name only.
        size: bytes, None where no figure is known.
        exact: the size is exact; otherwise it is rounded.
        sha256: published digest, where there is one.
        unpack: None for a file that stays as it is.
    """

    name: str
    url: str
    licence: str
    use: str
    need: Need = "needed"
    size: int | None = None
    exact: bool = False
    sha256: str = ""
    unpack: Unpack | None = None

    @property
    def made(self) -> str:
        """The file or, of an archive, the folder that the parser reads; under the benchmark's folder."""
        return self.unpack.to if self.unpack else self.name


FILES: dict[str, tuple[OfficialFile, ...]] = {
    "nq": (
        OfficialFile(
            "biencoder-nq-train.json.gz",
            f"{_DPR}data/retriever/biencoder-nq-train.json.gz",
            _DPR_LICENCE,
            "train questions with gold passages",
        ),
        OfficialFile(
            "biencoder-nq-dev.json.gz",
            f"{_DPR}data/retriever/biencoder-nq-dev.json.gz",
            _DPR_LICENCE,
            "dev questions with gold passages",
        ),
        OfficialFile(
            "NQ-open.dev.jsonl", f"{_NQ_OPEN}NQ-open.dev.jsonl", _NQ_LICENCE, "test questions of the open-domain papers"
        ),
        OfficialFile(
            "psgs_w100.tsv.gz",
            f"{_DPR}wikipedia_split/psgs_w100.tsv.gz",
            _DPR_LICENCE,
            "21 M passages",
            "full collection",
            4_700_000_000,
        ),
        OfficialFile(
            "NQ-open.train.jsonl",
            f"{_NQ_OPEN}NQ-open.train.jsonl",
            _NQ_LICENCE,
            "train questions without passages; answers as they were written",
            "optional",
        ),
        *(
            OfficialFile(
                f"nq-{split}.qa.csv",
                f"{_DPR}data/retriever/nq-{split}.qa.csv",
                _DPR_LICENCE,
                f"DPR's {split} questions without passages",
                "optional",
            )
            for split in ("train", "dev", "test")
        ),
    ),
    # Digests: published with the data set's loader in huggingface/datasets, datasets/hotpot_qa/dataset_infos.json.
    "hotpotqa": (
        OfficialFile(
            "hotpot_train_v1.1.json",
            f"{_HOTPOT}hotpot_train_v1.1.json",
            _HOTPOT_LICENCE,
            "train questions with ten paragraphs each",
            size=566_426_227,
            exact=True,
            sha256="26650cf50234ef5fb2e664ed70bbecdfd87815e6bffc257e068efea5cf7cd316",
        ),
        OfficialFile(
            "hotpot_dev_distractor_v1.json",
            f"{_HOTPOT}hotpot_dev_distractor_v1.json",
            _HOTPOT_LICENCE,
            "dev questions with ten paragraphs each",
            size=46_320_117,
            exact=True,
            sha256="4e9ecb5c8d3b719f624d66b60f8d56bf227f03914f5f0753d6fa1b359d7104ea",
        ),
        OfficialFile(
            _HOTPOT_DUMP,
            f"https://nlp.stanford.edu/projects/hotpotqa/{_HOTPOT_DUMP}",
            _HOTPOT_LICENCE,
            "abstracts of 5.2 M Wikipedia articles; without it the collection is the questions' paragraphs",
            "full collection",
            1_550_000_000,
            unpack=Unpack("enwiki-abstracts", factor=1.1),
        ),
        OfficialFile(
            "hotpot_dev_fullwiki_v1.json",
            f"{_HOTPOT}hotpot_dev_fullwiki_v1.json",
            _HOTPOT_LICENCE,
            "the dev questions with retrieved paragraphs",
            "optional",
            47_454_698,
            exact=True,
            sha256="2f1f3e594a3066a3084cc57950ca2713c24712adaad03af6ccce18d1846d5618",
        ),
        OfficialFile(
            "hotpot_test_fullwiki_v1.json",
            f"{_HOTPOT}hotpot_test_fullwiki_v1.json",
            _HOTPOT_LICENCE,
            "test questions, without answers",
            "optional",
            46_213_747,
            exact=True,
            sha256="c61a5274b9aa6deca3f7d2dc4d7757684c158fbd2264f759307699fb53801c2b",
        ),
    ),
    "ottqa": (
        *(
            OfficialFile(
                f"released_data/{split}.traced.json",
                f"{_OTTQA}released_data/{split}.traced.json",
                _OTTQA_LICENCE,
                f"{split} questions with answer nodes",
            )
            for split in ("train", "dev")
        ),
        OfficialFile(
            f"OTT-QA-{_OTTQA_COMMIT}.tar.gz",
            f"https://github.com/wenhuchen/OTT-QA/archive/{_OTTQA_COMMIT}.tar.gz",
            _OTTQA_LICENCE,
            "the 8,891 tables of the train and dev questions with their linked passages",
            unpack=Unpack("data", factor=10, strip=2, only=("traindev_tables_tok/", "traindev_request_tok/")),
        ),
        OfficialFile(
            "all_plain_tables.json",
            f"{_OTTQA_CORPUS}all_plain_tables.json",
            _OTTQA_LICENCE,
            "400 K tables",
            "full collection",
        ),
        OfficialFile(
            "all_passages.json", f"{_OTTQA_CORPUS}all_passages.json", _OTTQA_LICENCE, "5 M passages", "full collection"
        ),
        OfficialFile(
            "released_data/test.blind.json",
            f"{_OTTQA}released_data/test.blind.json",
            _OTTQA_LICENCE,
            "test questions, without tables and answers",
            "optional",
        ),
        OfficialFile(
            "released_data/dev_reference.json",
            f"{_OTTQA}released_data/dev_reference.json",
            _OTTQA_LICENCE,
            "dev answers, and which are in tables and which in passages: for `canopy score`, no parser reads it",
            "optional",
        ),
    ),
    "mmqa": (
        OfficialFile(
            "MMQA_train.jsonl.gz", f"{_MMQA}MMQA_train.jsonl.gz", _MMQA_LICENCE, "train questions", size=11_700_000
        ),
        OfficialFile("MMQA_dev.jsonl.gz", f"{_MMQA}MMQA_dev.jsonl.gz", _MMQA_LICENCE, "dev questions"),
        OfficialFile(
            "MMQA_texts.jsonl.gz", f"{_MMQA}MMQA_texts.jsonl.gz", _MMQA_LICENCE, "paragraphs", size=45_900_000
        ),
        OfficialFile("MMQA_tables.jsonl.gz", f"{_MMQA}MMQA_tables.jsonl.gz", _MMQA_LICENCE, "tables", size=10_300_000),
        OfficialFile(
            "MMQA_images.jsonl.gz", f"{_MMQA}MMQA_images.jsonl.gz", _MMQA_LICENCE, "titles and names of 57,058 images"
        ),
        OfficialFile(
            "final_dataset_images.zip",
            _MMQA_IMAGES,
            "each image its own (Wikipedia)",
            "the images",
            size=2_360_000_000,
            unpack=Unpack("images", factor=1.1),
        ),
        OfficialFile(
            "MMQA_test.jsonl.gz",
            f"{_MMQA}MMQA_test.jsonl.gz",
            _MMQA_LICENCE,
            "test questions, without answers",
            "optional",
        ),
    ),
    "lvbench": (
        OfficialFile(
            "video_info.meta.jsonl",
            _LVBENCH,
            "CC BY-NC-SA 4.0, research only",
            "1,549 questions on 103 videos",
            size=486_000,
        ),
    ),
}

NOTES: dict[str, str] = {
    "lvbench": (
        "The 103 videos have no official download: they are YouTube material without redistribution rights. Get each "
        "video yourself by the id in the field `key` of video_info.meta.jsonl and put it beside that file, named "
        "<id>.mp4 (or .mkv, .webm, .mov, .avi, .m4v). A video that is missing is left out of the corpus with a notice."
    ),
}


def files_of(benchmark: str, names: tuple[str, ...] = ()) -> tuple[OfficialFile, ...]:
    """The files of a benchmark: those named, or else all but the optional ones.

    Raises:
        UserError: unknown benchmark, or a name that is not among its files.
    """
    if benchmark not in FILES:
        raise UserError(f"unknown benchmark {benchmark!r}: choose one of {', '.join(FILES)}")
    files = FILES[benchmark]
    unknown = [n for n in names if n not in {f.name for f in files}]
    if unknown:
        raise UserError(f"{benchmark} has no file {unknown[0]!r}: choose among {', '.join(f.name for f in files)}")
    return tuple(f for f in files if (f.name in names if names else f.need != "optional"))
