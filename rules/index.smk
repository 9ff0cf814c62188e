"""The index over all shards.

Needs: RESULTS/embeddings/shard-<i>.
Makes: RESULTS/index/{vectors,ids}, index.faiss unless search is exact; recall@10 is in the manifest. With several
       embedding shards first RESULTS/index-train, and RESULTS/index-parts/shard-<i> for as long as they are needed.
"""

if INDEX_PARTS:

    rule index_train:
        """Decide on the kind of index, and train it on a sample of all vectors."""
        input:
            shards=[f"{RESULTS}/embeddings/shard-{i}/manifest.json" for i in EMBEDDING_SHARDS],
            vectors=ancient([f"{RESULTS}/embeddings/shard-{i}/vectors.npy" for i in EMBEDDING_SHARDS]),
        output:
            manifest=f"{RESULTS}/index-train/manifest.json",
        log:
            f"{RESULTS}/logs/index_train.log",
        benchmark:
            f"{RESULTS}/benchmarks/index_train.tsv"
        conda:
            CPU_ENV
        threads: CONFIG.jobs.training_threads
        resources:
            mem_mb=by_attempt(CONFIG.jobs.mem_mb),
            runtime=by_attempt(CONFIG.jobs.runtime),
        params:
            shards=lambda wildcards, input: options("--shard", input.shards),
            out=subpath(output.manifest, parent=True),
            code=code("index-train"),
            spec=spec("index-train"),
        shell:
            "canopy index-train {params.shards} --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"

    rule index_add:
        """Check one shard, and put its vectors into inverted lists."""
        input:
            shard=f"{RESULTS}/embeddings/shard-{{shard}}/manifest.json",
            vectors=ancient(f"{RESULTS}/embeddings/shard-{{shard}}/vectors.npy"),
            train=f"{RESULTS}/index-train/manifest.json",
        output:
            part=temp(directory(f"{RESULTS}/index-parts/shard-{{shard}}")),
        log:
            f"{RESULTS}/logs/index_add.shard-{{shard}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/index_add.shard-{{shard}}.tsv"
        conda:
            CPU_ENV
        threads: CONFIG.jobs.training_threads
        resources:
            mem_mb=by_attempt(CONFIG.jobs.mem_mb),
            runtime=by_attempt(CONFIG.jobs.runtime),
        params:
            shard=subpath(input.shard, parent=True),
            train=subpath(input.train, parent=True),
            code=code("index-add"),
        shell:
            "canopy index-add --shard {params.shard:q} --train {params.train:q} --out {output.part:q} > {log:q} 2>&1"


rule index:
    """Merge the parts or do it all, tune the lists visited a query, and measure recall."""
    input:
        unpack(index_inputs),
        shards=[f"{RESULTS}/embeddings/shard-{i}/manifest.json" for i in EMBEDDING_SHARDS],
        vectors=ancient([f"{RESULTS}/embeddings/shard-{i}/vectors.npy" for i in EMBEDDING_SHARDS]),
    output:
        manifest=f"{RESULTS}/index/manifest.json",
        ids=directory(f"{RESULTS}/index/ids"),
        vectors=directory(f"{RESULTS}/index/vectors"),
    log:
        f"{RESULTS}/logs/index.log",
    benchmark:
        f"{RESULTS}/benchmarks/index.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.training_threads if INDEX_PARTS else CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
    params:
        shards=lambda wildcards, input: options("--shard", input.shards),
        parts=index_options,
        out=subpath(output.manifest, parent=True),
        code=code("index"),
        spec=spec("index"),
    shell:
        "canopy index {params.shards} {params.parts} --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
