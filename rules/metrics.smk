"""Official scores of each method's answers.

Needs: RESULTS/runs/<method>/shard-<i>, RESULTS/corpus/questions.parquet.
Makes: RESULTS/metrics/<method>/{scores.parquet,summary.json,submissions/}.
"""


rule metrics:
    """Score all shards of one method, and write the benchmarks' submission files."""
    input:
        runs=[f"{RESULTS}/runs/{{method}}/shard-{i}/manifest.json" for i in RUN_SHARDS],
        corpus=f"{RESULTS}/corpus/manifest.json",
        predictions=ancient([f"{RESULTS}/runs/{{method}}/shard-{i}/predictions.parquet" for i in RUN_SHARDS]),
        traces=ancient([f"{RESULTS}/runs/{{method}}/shard-{i}/trace.parquet" for i in RUN_SHARDS]),
        questions_parquet=ancient(f"{RESULTS}/corpus/questions.parquet"),
    output:
        manifest=f"{RESULTS}/metrics/{{method}}/manifest.json",
        scores=f"{RESULTS}/metrics/{{method}}/scores.parquet",
        summary=f"{RESULTS}/metrics/{{method}}/summary.json",
    log:
        f"{RESULTS}/logs/metrics.{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/metrics.{{method}}.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(1000),
        runtime=by_attempt(30),
    params:
        runs=lambda wildcards, input: options("--run", input.runs),
        corpus=subpath(input.corpus, parent=True),
        out=subpath(output.manifest, parent=True),
        code=code("metrics"),
        spec=lambda wildcards: spec("metrics", wildcards.method),
    shell:
        "canopy metrics {wildcards.method} {params.runs} --corpus {params.corpus:q} --spec {params.spec:q}"
        " --out {params.out:q} > {log:q} 2>&1"
