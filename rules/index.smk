"""The FAISS index over all shards.

Needs: RESULTS/embeddings/shard-<i>.
Makes: RESULTS/index/{index.faiss,ids.parquet}; its measured recall@10 is in the manifest.
"""


rule index:
    """Build the index: exact for small corpora, inverted lists for large ones."""
    input:
        shards=[f"{RESULTS}/embeddings/shard-{i}/manifest.json" for i in EMBEDDING_SHARDS],
        vectors=ancient([f"{RESULTS}/embeddings/shard-{i}/vectors.npy" for i in EMBEDDING_SHARDS]),
    output:
        manifest=f"{RESULTS}/index/manifest.json",
        index=f"{RESULTS}/index/index.faiss",
        ids=f"{RESULTS}/index/ids.parquet",
    log:
        f"{RESULTS}/logs/index.log",
    benchmark:
        f"{RESULTS}/benchmarks/index.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
    params:
        shards=lambda wildcards, input: options("--shard", input.shards),
        out=subpath(output.manifest, parent=True),
        code=code("index"),
        spec=spec("index"),
    shell:
        "canopy index {params.shards} --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
