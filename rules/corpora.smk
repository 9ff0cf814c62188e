"""Raw files to items and questions, one benchmark a job, then one corpus.

Needs: RESULTS/raw/<benchmark>/ or the configuration's raw.root/<benchmark>/; RESULTS/video.
Makes: RESULTS/parsed/<benchmark>/{items,questions}.parquet, quarantine.jsonl;
       RESULTS/corpus/{items,questions}.parquet.
"""


rule parse:
    """Read one benchmark's raw files; bad records go to quarantine.jsonl, too many stop the job."""
    input:
        unpack(raw_files),
    output:
        manifest=f"{RESULTS}/parsed/{{benchmark}}/manifest.json",
        items_parquet=f"{RESULTS}/parsed/{{benchmark}}/items.parquet",
        questions_parquet=f"{RESULTS}/parsed/{{benchmark}}/questions.parquet",
    log:
        f"{RESULTS}/logs/parse.{{benchmark}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/parse.{{benchmark}}.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
    params:
        out=subpath(output.manifest, parent=True),
        code=code("parse"),
        spec=lambda wildcards: spec("parse", wildcards.benchmark),
    shell:
        "canopy parse {wildcards.benchmark:q} {input.files:q} --spec {params.spec:q} --out {params.out:q}"
        " > {log:q} 2>&1"


rule corpus:
    """Merge all benchmarks' text and tables with the images and clips of the video stage."""
    input:
        parsed=[f"{RESULTS}/parsed/{b}/manifest.json" for b in CONFIG.benchmarks],
        video=[f"{RESULTS}/video/manifest.json"] if CONFIG.media_benchmarks else [],
        rows=ancient([f"{RESULTS}/parsed/{b}/{t}.parquet" for b in CONFIG.benchmarks for t in ("items", "questions")]),
        media=ancient([f"{RESULTS}/video/items.parquet"] if CONFIG.media_benchmarks else []),
    output:
        manifest=f"{RESULTS}/corpus/manifest.json",
        items_parquet=f"{RESULTS}/corpus/items.parquet",
        questions_parquet=f"{RESULTS}/corpus/questions.parquet",
    log:
        f"{RESULTS}/logs/corpus.log",
    benchmark:
        f"{RESULTS}/benchmarks/corpus.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
    params:
        parsed=lambda wildcards, input: options("--parsed", input.parsed),
        video=lambda wildcards, input: options("--video", input.video),
        out=subpath(output.manifest, parent=True),
        code=code("corpus"),
        spec=spec("corpus"),
    shell:
        "canopy corpus {params.parsed} {params.video} --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
