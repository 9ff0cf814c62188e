"""Runs of all methods and ablations, scattered over a fixed number of question shards.

Needs: RESULTS/corpus, RESULTS/reader-model; RESULTS/index with retrieval; RESULTS/encoder with fine-tuned
       compression.
Makes: RESULTS/runs/<method>/shard-<i>/{predictions,trace}.parquet.
"""


rule run:
    """Run one method over one shard of the test questions of all benchmarks; the models are loaded once."""
    input:
        unpack(run_inputs),
        corpus=f"{RESULTS}/corpus/manifest.json",
        reader=f"{RESULTS}/reader-model/manifest.json",
        rows=ancient([f"{RESULTS}/corpus/items.parquet", f"{RESULTS}/corpus/questions.parquet"]),
        model=ancient(f"{RESULTS}/reader-model/model.safetensors"),
    output:
        manifest=f"{RESULTS}/runs/{{method}}/shard-{{shard}}/manifest.json",
        predictions=f"{RESULTS}/runs/{{method}}/shard-{{shard}}/predictions.parquet",
        trace=f"{RESULTS}/runs/{{method}}/shard-{{shard}}/trace.parquet",
    log:
        f"{RESULTS}/logs/run.{{method}}.shard-{{shard}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/run.{{method}}.shard-{{shard}}.tsv"
    conda:
        MODEL_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
        gpu=CONFIG.jobs.gpus,
        gpu_model=CONFIG.jobs.gpu_model,
    params:
        corpus=subpath(input.corpus, parent=True),
        reader=subpath(input.reader, parent=True),
        found=run_options,
        out=subpath(output.manifest, parent=True),
        shards=CONFIG.shards.runs,
        code=code("run"),
        spec=lambda wildcards: spec("run", wildcards.method),
        adapter=specs.adapter_digest(CONFIG.reader.adapter),
    shell:
        "canopy run {wildcards.method} --corpus {params.corpus:q} --reader {params.reader:q} {params.found}"
        " --shard {wildcards.shard} --shards {params.shards} --spec {params.spec:q} --out {params.out:q}"
        " > {log:q} 2>&1"
