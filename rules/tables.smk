"""The tables, each as Markdown, CSV and LaTeX.

Needs: RESULTS/metrics/<method>, RESULTS/decisions, RESULTS/corpus: each table only what it shows.
Makes: RESULTS/tables/<table>.{md,csv,tex}.
"""


rule table:
    """Write one table; it names its configuration, seed and question count."""
    input:
        unpack(table_inputs),
    output:
        md=f"{RESULTS}/tables/{{table}}.md",
        csv=f"{RESULTS}/tables/{{table}}.csv",
        tex=f"{RESULTS}/tables/{{table}}.tex",
    log:
        f"{RESULTS}/logs/table.{{table}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/table.{{table}}.tsv"
    conda:
        CPU_ENV
    threads: CONFIG.jobs.threads
    resources:
        mem_mb=by_attempt(1000),
        runtime=by_attempt(30),
    params:
        found=table_options,
        stem=subpath(output.md, strip_suffix=".md"),
        code=code("table"),
        spec=lambda wildcards: spec("table", wildcards.table),
    shell:
        "canopy table {wildcards.table} {params.found} --spec {params.spec:q} --out {params.stem:q} > {log:q} 2>&1"
