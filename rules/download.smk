"""Official raw files of the benchmarks, on request only: no other rule depends on these.

Needs: a network, which nodes of a cluster often lack, so these jobs are local.
Makes: raw.root/<benchmark>/, raw.root/downloads.lock.json; raw.root/.downloads/<benchmark>.done says that all has
       been fetched and checked once. Remove it to check again.

What a job says goes to the screen and not to the log alone: it names the files to be fetched by hand.
"""

if CONFIG.raw.root is not None:

    # Not in raw.root/<benchmark>: writing there would make the folder newer, and everything parsed from it old.
    DOWNLOADED = f"{CONFIG.raw.root}/.downloads/{{benchmark}}.done"

    DOWNLOADABLE = (*CONFIG.benchmarks, *PROJECT.left_out)

    rule download_all:
        """Fetch the official raw files of all benchmarks of the configuration, also of those left out so far."""
        input:
            expand(DOWNLOADED, benchmark=DOWNLOADABLE),

    rule download:
        """Fetch one benchmark's official raw files, go on after a break, check and unpack them."""
        output:
            done=touch(DOWNLOADED),
        log:
            f"{RESULTS}/logs/download.{{benchmark}}.log",
        wildcard_constraints:
            benchmark="|".join(DOWNLOADABLE),
        localrule: True
        conda:
            CPU_ENV
        params:
            root=subpath(output.done, ancestor=2),
        shell:
            "canopy download {wildcards.benchmark:q} --root {params.root:q} 2>&1 | tee {log:q}"
