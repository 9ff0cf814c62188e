"""Gold parent-child decisions of all questions, scattered over a fixed number of shards.

Needs: RESULTS/corpus.
Makes: RESULTS/preferences/shard-<i>/pairs.parquet.
"""


rule preferences:
    """Label every parent-child pair on a path that holds gold of one shard of the questions: descend or stay."""
    input:
        corpus=f"{RESULTS}/corpus/manifest.json",
        rows=ancient([f"{RESULTS}/corpus/items.parquet", f"{RESULTS}/corpus/questions.parquet"]),
    output:
        manifest=f"{RESULTS}/preferences/shard-{{shard}}/manifest.json",
        pairs=f"{RESULTS}/preferences/shard-{{shard}}/pairs.parquet",
    log:
        f"{RESULTS}/logs/preferences.shard-{{shard}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/preferences.shard-{{shard}}.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
    params:
        corpus=subpath(input.corpus, parent=True),
        out=subpath(output.manifest, parent=True),
        shards=CONFIG.shards.preferences,
        code=code("preferences"),
        spec=spec("preferences"),
    shell:
        "canopy preferences --corpus {params.corpus:q} --shard {wildcards.shard} --shards {params.shards}"
        " --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
