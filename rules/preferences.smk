"""Gold parent-child decisions of all questions.

Needs: RESULTS/corpus.
Makes: RESULTS/preferences/pairs.parquet.
"""


rule preferences:
    """Label every parent-child pair on a path that holds gold: descend or stay."""
    input:
        corpus=f"{RESULTS}/corpus/manifest.json",
        rows=ancient([f"{RESULTS}/corpus/items.parquet", f"{RESULTS}/corpus/questions.parquet"]),
    output:
        manifest=f"{RESULTS}/preferences/manifest.json",
        pairs=f"{RESULTS}/preferences/pairs.parquet",
    log:
        f"{RESULTS}/logs/preferences.log",
    benchmark:
        f"{RESULTS}/benchmarks/preferences.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(CONFIG.jobs.mem_mb),
        runtime=by_attempt(CONFIG.jobs.runtime),
    params:
        corpus=subpath(input.corpus, parent=True),
        out=subpath(output.manifest, parent=True),
        code=code("preferences"),
        spec=spec("preferences"),
    shell:
        "canopy preferences --corpus {params.corpus:q} --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
