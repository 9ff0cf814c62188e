"""Raw files of the constructed mini corpus, when the configuration generates them.

Needs: nothing.
Makes: RESULTS/raw/{nq,hotpotqa,ottqa,mmqa,lvbench}/ in native formats, annotations.train.jsonl.
"""

if CONFIG.raw.generate is not None:

    rule mini_raw:
        """Write the invented world in the benchmarks' native raw formats; same seed, same bytes."""
        output:
            manifest=f"{RESULTS}/raw/manifest.json",
            annotations=f"{RESULTS}/raw/annotations.train.jsonl",
            files=directory([f"{RESULTS}/raw/{b}" for b in ("nq", "hotpotqa", "ottqa", "mmqa", "lvbench")]),
        log:
            f"{RESULTS}/logs/mini_raw.log",
        benchmark:
            f"{RESULTS}/benchmarks/mini_raw.tsv"
        conda:
            CPU_ENV
        threads: CONFIG.jobs.threads
        resources:
            mem_mb=by_attempt(1000),
            runtime=by_attempt(30),
        params:
            out=subpath(output.manifest, parent=True),
            code=code("mini-raw"),
            spec=spec("mini-raw"),
        shell:
            "canopy mini-raw --spec {params.spec:q} --out {params.out:q} > {log:q} 2>&1"
