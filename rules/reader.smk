"""The reader: its weights, converted once, and the training of the small reader's adapter.

Needs: the adapter's training also RESULTS/corpus and RESULTS/raw/annotations.train.jsonl.
Makes: RESULTS/reader-model/ (model and tokenizer); on request RESULTS/mini-reader/ (adapter, card, scores).
"""


rule reader_model:
    """Convert the embedded weights to bfloat16 safetensors, which load ten times faster."""
    output:
        manifest=f"{RESULTS}/reader-model/manifest.json",
        model=f"{RESULTS}/reader-model/model.safetensors",
        tokenizer=f"{RESULTS}/reader-model/tokenizer.json",
    log:
        f"{RESULTS}/logs/reader_model.log",
    benchmark:
        f"{RESULTS}/benchmarks/reader_model.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
    params:
        out=subpath(output.manifest, parent=True),
        code=code("reader-model"),
        spec=spec("reader-model"),
    shell:
        "canopy reader-model --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"


if CONFIG.raw.generate is not None:

    rule mini_reader:
        """Rebuild the adapter that comes with the package, from the mini train split (not part of the tables)."""
        input:
            corpus=f"{RESULTS}/corpus/manifest.json",
            reader=f"{RESULTS}/reader-model/manifest.json",
            raw=f"{RESULTS}/raw/manifest.json",
            rows=ancient(
                [
                    f"{RESULTS}/corpus/items.parquet",
                    f"{RESULTS}/corpus/questions.parquet",
                ]
            ),
            model=ancient(f"{RESULTS}/reader-model/model.safetensors"),
            annotations=ancient(f"{RESULTS}/raw/annotations.train.jsonl"),
        output:
            manifest=f"{RESULTS}/mini-reader/manifest.json",
            adapter=f"{RESULTS}/mini-reader/adapter_model.safetensors",
            card=f"{RESULTS}/mini-reader/card.md",
            scores=f"{RESULTS}/mini-reader/scores.json",
        log:
            f"{RESULTS}/logs/mini_reader.log",
        benchmark:
            f"{RESULTS}/benchmarks/mini_reader.tsv"
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
            reader=subpath(input.reader, parent=True),
            raw=subpath(input.raw, parent=True),
            out=subpath(output.manifest, parent=True),
            code=code("mini-reader"),
            spec=spec("mini-reader"),
        shell:
            "canopy mini-reader --corpus {params.corpus:q} --raw {params.raw:q} --reader {params.reader:q}"
            " --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
