"""The node encoder: fine-tuning on gold preferences, and how well it decides.

Needs: RESULTS/corpus, RESULTS/preferences; the decisions also RESULTS/reader-model, to count tokens.
Makes: RESULTS/encoder/{adapter_model.safetensors,adapter_config.json,curve.csv};
       RESULTS/decisions/{pairs,items}.parquet.
"""


rule encoder:
    """Fine-tune a LoRA adapter of the node encoder, with early stopping on dev decisions."""
    input:
        corpus=f"{RESULTS}/corpus/manifest.json",
        preferences=[f"{RESULTS}/preferences/shard-{i}/manifest.json" for i in PREFERENCE_SHARDS],
        rows=ancient([f"{RESULTS}/corpus/items.parquet", f"{RESULTS}/corpus/questions.parquet"]),
        pairs=ancient([f"{RESULTS}/preferences/shard-{i}/pairs.parquet" for i in PREFERENCE_SHARDS]),
    output:
        manifest=f"{RESULTS}/encoder/manifest.json",
        adapter=f"{RESULTS}/encoder/adapter_model.safetensors",
        curve=f"{RESULTS}/encoder/curve.csv",
    log:
        f"{RESULTS}/logs/encoder.log",
    benchmark:
        f"{RESULTS}/benchmarks/encoder.tsv"
    # Most methods and the decisions wait for it; the other runs fill the time beside it.
    priority: 1
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
        preferences=lambda wildcards, input: options("--preferences", input.preferences),
        out=subpath(output.manifest, parent=True),
        code=code("encoder"),
        spec=spec("encoder"),
    shell:
        "canopy encoder --corpus {params.corpus:q} {params.preferences} --spec {params.spec:q}"
        " --out {params.out:q} > {log:q} 2>&1"


rule decisions:
    """Judge frozen and fine-tuned decisions on the test questions' gold items."""
    input:
        unpack(encoder_inputs),
        corpus=f"{RESULTS}/corpus/manifest.json",
        preferences=[f"{RESULTS}/preferences/shard-{i}/manifest.json" for i in PREFERENCE_SHARDS],
        reader=f"{RESULTS}/reader-model/manifest.json",
        rows=ancient([f"{RESULTS}/corpus/items.parquet", f"{RESULTS}/corpus/questions.parquet"]),
        pairs=ancient([f"{RESULTS}/preferences/shard-{i}/pairs.parquet" for i in PREFERENCE_SHARDS]),
        tokenizer=ancient(f"{RESULTS}/reader-model/tokenizer.json"),
    output:
        manifest=f"{RESULTS}/decisions/manifest.json",
        pairs=f"{RESULTS}/decisions/pairs.parquet",
        items_parquet=f"{RESULTS}/decisions/items.parquet",
    log:
        f"{RESULTS}/logs/decisions.log",
    benchmark:
        f"{RESULTS}/benchmarks/decisions.tsv"
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
        preferences=lambda wildcards, input: options("--preferences", input.preferences),
        encoder=CONFIG.encoder_folder,
        reader=subpath(input.reader, parent=True),
        out=subpath(output.manifest, parent=True),
        code=code("decisions"),
        spec=spec("decisions"),
    shell:
        "canopy decisions --corpus {params.corpus:q} {params.preferences}"
        " --encoder {params.encoder:q} --reader {params.reader:q} --spec {params.spec:q} --out {params.out:q}"
        " > {log:q} 2>&1"
