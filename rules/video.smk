"""Images and videos to items with units: segments, sampled frames, on-screen text.

Needs: RESULTS/parsed/{mmqa,lvbench}/items.parquet.
Makes: RESULTS/video/items.parquet, quarantine.jsonl; frames and texts in results/cache/video, kept
       by content hash for every configuration.
"""

if CONFIG.media_benchmarks:

    rule video:
        """Probe and segment videos, sample frames, and read the text on frames and images."""
        input:
            parsed=[f"{RESULTS}/parsed/{b}/manifest.json" for b in CONFIG.media_benchmarks],
            items_parquet=ancient([f"{RESULTS}/parsed/{b}/items.parquet" for b in CONFIG.media_benchmarks]),
        output:
            manifest=f"{RESULTS}/video/manifest.json",
            items_parquet=f"{RESULTS}/video/items.parquet",
        log:
            f"{RESULTS}/logs/video.log",
        benchmark:
            f"{RESULTS}/benchmarks/video.tsv"
        conda:
            CPU_ENV
        threads: CONFIG.jobs.training_threads
        resources:
            mem_mb=by_attempt(CONFIG.jobs.mem_mb),
            runtime=by_attempt(CONFIG.jobs.runtime),
        params:
            listed=lambda wildcards, input: shlex.join(word for i in input.items_parquet for word in ("--items", i)),
            cache="results/cache/video",
            out=subpath(output.manifest, parent=True),
            code=code("video"),
            spec=spec("video"),
        shell:
            "canopy video {params.listed} --cache {params.cache:q} --spec {params.spec:q} --out {params.out:q}"
            " > {log:q} 2>&1"
