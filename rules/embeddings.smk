"""Embeddings of all items, scattered over a fixed number of shards.

Needs: RESULTS/corpus/items.parquet.
Makes: RESULTS/embeddings/shard-<i>/{vectors.npy,ids.parquet}.
"""


rule embed:
    """Embed one shard of the corpus with the frozen encoder."""
    input:
        corpus=f"{RESULTS}/corpus/manifest.json",
        items_parquet=ancient(f"{RESULTS}/corpus/items.parquet"),
    output:
        manifest=f"{RESULTS}/embeddings/shard-{{shard}}/manifest.json",
        vectors=f"{RESULTS}/embeddings/shard-{{shard}}/vectors.npy",
        ids=f"{RESULTS}/embeddings/shard-{{shard}}/ids.parquet",
    log:
        f"{RESULTS}/logs/embed.shard-{{shard}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/embed.shard-{{shard}}.tsv"
    conda:
        MODEL_ENV
    threads: CONFIG.jobs.training_threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
        gpu=CONFIG.jobs.gpus,
        gpu_model=CONFIG.jobs.gpu_model,
    params:
        corpus=subpath(input.corpus, parent=True),
        out=subpath(output.manifest, parent=True),
        shards=CONFIG.shards.embeddings,
        code=code("embed"),
        spec=spec("embed"),
    shell:
        "canopy embed --corpus {params.corpus:q} --shard {wildcards.shard} --shards {params.shards}"
        " --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
