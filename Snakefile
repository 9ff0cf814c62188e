"""CANOPY: raw corpora to finished tables.

snakemake --cores 2                                            config/mini.yaml
snakemake --cores 2 --configfile config/small.yaml
snakemake --cores 2 results/mini/tables/ablation_no_iteration.md
snakemake --profile slurm all_tables
snakemake download_all --cores 1 --configfile config/mine.yaml   official raw files; never fetched unless asked
"""

from snakemake.utils import min_version

min_version("9.0")


if not workflow.overwrite_configfiles:

    configfile: workflow.source_path("config/mini.yaml")


include: "rules/common.smk"
include: "rules/raw.smk"
include: "rules/download.smk"
include: "rules/corpora.smk"
include: "rules/video.smk"
include: "rules/embeddings.smk"
include: "rules/index.smk"
include: "rules/preferences.smk"
include: "rules/encoder.smk"
include: "rules/reader.smk"
include: "rules/runs.smk"
include: "rules/metrics.smk"
include: "rules/tables.smk"


# All artefacts are named, so that one that was deleted, or lost with a job that failed, is made again with what is
# below it: Snakemake takes no notice of what is missing between files that are there.
rule all_tables:
    """All tables of the configuration, with the artefacts they are made from."""
    default_target: True
    input:
        tables=expand(f"{RESULTS}/tables/{{table}}.{{ending}}", table=TABLES, ending=TABLE_ENDINGS),
        artefacts=expand(f"{RESULTS}/{{folder}}/manifest.json", folder=artefact_folders()),
