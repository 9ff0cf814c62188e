"""Names and helper functions of all rules. Nothing here is a rule, and nothing here loads a model."""

import os
import shlex
import sys
from functools import cache
from pathlib import Path

# Jobs run the package that lies beside this workflow, by the Python that runs Snakemake.
sys.path.insert(0, str(workflow.basedir))
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [str(workflow.basedir), os.getenv("PYTHONPATH")])),
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
)

from canopy import specs
from canopy.config import check_config, check_encoder_folder, methods_file, read_config
from canopy.downloads.folders import check_raw_folders
from canopy.errors import UserError
from canopy.provenance import code_digest


def stop(error):
    """One line that says what is wrong, and exit code 2."""
    print("canopy: error: " + " ".join(str(error).split()), file=sys.stderr, flush=True)
    sys.exit(2)


def check_writable(folder):
    """Stop before the first job where results cannot be written; a dry run may still look at them."""
    there = next(p for p in (Path(folder), *Path(folder).parents) if p.exists())
    if not os.access(there, os.W_OK):
        stop(f"{there} cannot be written: change its permissions, or start in a folder where you may write")


def checked_project():
    """The configuration, if nothing is wrong with it."""
    files = [Path(f) for f in workflow.configfiles]
    try:
        # Snakemake has read them already, but lets the last of two equal keys win.
        for file in files:
            read_config(file)
        where = ", ".join(os.path.relpath(f) for f in files)
        return check_config(config, where, methods_file(files[-1]))
    except UserError as error:
        stop(error)


PROJECT = checked_project()
CONFIG = PROJECT.config
if PROJECT.left_out and workflow.is_main_process:
    print(f"canopy: left out, without files in {CONFIG.raw.root}: {', '.join(PROJECT.left_out)}", file=sys.stderr)
RESULTS = CONFIG.results
METHODS = tuple(PROJECT.methods)
TABLES = specs.table_names(PROJECT)
TABLE_ENDINGS = ("md", "csv", "tex")
EMBEDDING_SHARDS = range(CONFIG.shards.embeddings)
# Exact search has nothing to train and nothing to fill: one job, which checks and links the shards' vectors.
INDEX_PARTS = CONFIG.shards.embeddings > 1 and CONFIG.index.kind not in ("exact", "Flat")
PREFERENCE_SHARDS = range(CONFIG.shards.preferences)
RUN_SHARDS = range(CONFIG.shards.runs)
CPU_ENV = "../envs/cpu.yaml"
MODEL_ENV = "../envs/gpu.yaml" if CONFIG.jobs.gpus else CPU_ENV
# On one machine with several GPUs, jobs choose among them (canopy/gpus.py): Snakemake only counts them.
os.environ.update(CANOPY_GPUS_A_JOB=str(CONFIG.jobs.gpus))


onstart:
    check_writable(RESULTS)


wildcard_constraints:
    benchmark="|".join(CONFIG.benchmarks),
    method="|".join(METHODS),
    table="|".join(TABLES),
    shard=r"\d+",


def by_attempt(amount):
    """An amount that grows with each attempt: `retries` of a profile submits a killed job again with more."""
    return lambda wildcards, attempt: amount * attempt


def code(command):
    """Digest of the modules that a sub-command runs."""
    return code_digest(f"canopy.cli.{command.replace('-', '_')}")


@cache
def spec(stage, name=""):
    """The settings that can change what a stage makes, on one line; the same for all shards."""
    return specs.stage_spec(PROJECT, stage, name)


def options(option, manifests):
    """``--option FOLDER`` for the folder of each manifest, quoted for the shell."""
    return shlex.join(word for m in manifests for word in (option, str(Path(m).parent)))


def raw_files(wildcards):
    """What a benchmark is parsed from: generated files, or the user's, which must be there when it comes to parsing."""
    if CONFIG.raw.generate is None:
        try:
            check_raw_folders(CONFIG.raw.root, CONFIG.benchmarks)
        except UserError as error:
            stop(error)
        return {"files": f"{CONFIG.raw.root}/{wildcards.benchmark}"}
    return {
        "files": ancient(f"{RESULTS}/raw/{wildcards.benchmark}"),
        "made": f"{RESULTS}/raw/manifest.json",
    }


def encoder_inputs(wildcards):
    """The fine-tuned node encoder: this configuration's, or another's, which must be there."""
    try:
        check_encoder_folder(CONFIG)
    except UserError as error:
        stop(error)
    return {
        "encoder": f"{CONFIG.encoder_folder}/manifest.json",
        "weights": ancient(f"{CONFIG.encoder_folder}/adapter_model.safetensors"),
    }


def index_inputs(wildcards):
    """What other jobs have made for the index, with several embedding shards."""
    if not INDEX_PARTS:
        return {}
    return {
        "train": f"{RESULTS}/index-train/manifest.json",
        "parts": [f"{RESULTS}/index-parts/shard-{i}" for i in EMBEDDING_SHARDS],
    }


def index_options(wildcards, input):
    """The options for what other jobs have made."""
    if not INDEX_PARTS:
        return ""
    return shlex.join(
        ["--train", str(Path(input.train).parent), *(word for p in input.parts for word in ("--part", p))]
    )


def run_inputs(wildcards):
    """What a method reads: no index without retrieval, no encoder without fine-tuned compression."""
    method = PROJECT.methods[wildcards.method]
    inputs = {}
    if "index" in method.needs:
        inputs["index"] = f"{RESULTS}/index/manifest.json"
        inputs["vectors"] = ancient(f"{RESULTS}/index/vectors")
    if "encoder" in method.needs:
        inputs |= encoder_inputs(wildcards)
    adapter = CONFIG.reader.adapter
    if adapter != "none" and not adapter.startswith("package:"):
        inputs["adapter"] = f"{adapter}/adapter_model.safetensors"
    return inputs


def run_options(wildcards, input):
    """The options for the inputs that not every method has."""
    return " ".join(options(f"--{name}", [input[name]]) for name in ("index", "encoder") if name in input.keys())


def artefact_folders():
    """The folders of all artefacts that tables are made from, directly or not."""
    return [
        *(["raw"] if CONFIG.raw.generate is not None else []),
        *(f"parsed/{b}" for b in CONFIG.benchmarks),
        *(["video"] if CONFIG.media_benchmarks else []),
        *("corpus", "reader-model", "decisions"),
        *(f"preferences/shard-{i}" for i in PREFERENCE_SHARDS),
        *(["encoder"] if CONFIG.node_encoder == "trained" else []),
        *(index_folders() if any("index" in m.needs for m in PROJECT.methods.values()) else []),
        *(f"runs/{m}/shard-{i}" for m in METHODS for i in RUN_SHARDS),
        *(f"metrics/{m}" for m in METHODS),
    ]


def index_folders():
    """The folders of the embeddings and the index over them."""
    return [*(f"embeddings/shard-{i}" for i in EMBEDDING_SHARDS), *(["index-train"] if INDEX_PARTS else []), "index"]


def table_inputs(wildcards):
    """What a table is made from."""
    if wildcards.table in ("corpus", "decisions"):
        return {wildcards.table: f"{RESULTS}/{wildcards.table}/manifest.json"}
    return {"metrics": [f"{RESULTS}/metrics/{m}/manifest.json" for m in specs.table_methods(PROJECT, wildcards.table)]}


def table_options(wildcards, input):
    """The options for a table's inputs."""
    return " ".join(
        options(f"--{name}", [found] if isinstance(found := input[name], str) else found) for name in input.keys()
    )
