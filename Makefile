# The two commands of the README: `make demo` and `make test`. Each sets up its own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help kernels demo test lint types unit same-results soak bench examples clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check hatchling editables
	HULLTUNE_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[test]'
	@touch $@

# Compiled kernels for this checkout, in src: those whose sources have changed are compiled again, on all cores.
kernels: $(STAMP)  ## compile the kernels that have changed
	$(BIN)/python -m hulltune.kernels._building src/hulltune/kernels/compiled > /dev/null

demo: kernels    ## the main job on built-in data: decode, tune, decode again
	$(BIN)/python examples/demo.py

test: lint types unit  ## everything: ruff, mypy --strict, all tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# What a few tests take if it can be had, and otherwise skip with the reason.
OPTIONAL := pocketsphinx polars datasets
$(VENV)/.optional: $(STAMP)
	@for package in $(OPTIONAL); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 1 $$package 2> /dev/null \
		|| echo "$$package cannot be installed here: its tests will be skipped"; \
	done
	@touch $@

unit: kernels $(VENV)/.optional
	$(BIN)/pytest -n 2 --dist loadfile

same-results: kernels  ## all command lines whose answers are recorded, also those that take long
	HULLTUNE_SAME_RESULTS=all $(BIN)/pytest tests/results

soak: kernels   ## bad days in bulk: fuzzed inputs, kills, full disks; an hour (docs/reliability.md)
	$(BIN)/python -m tests.soak --minutes 60

BENCHES := bench-startup bench-engine bench-metrics bench-tuning bench-forests bench-certified bench-large
.PHONY: $(BENCHES) bench-setup

bench: $(BENCHES)  ## all timings, as tables and as JSON in benchmarks/results: an hour; each part by itself:

bench-setup: kernels
	HULLTUNE_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[bench]'
	$(BIN)/hulltune warm

bench-startup: bench-setup    ## from a fresh environment to the first and the second answer
	$(BIN)/python benchmarks/startup.py

bench-engine: bench-setup     ## envelopes beside a C++ yardstick
	$(BIN)/python benchmarks/engine.py

bench-metrics: bench-setup    ## metrics beside sacrebleu, rapidfuzz and jiwer
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/metrics_other.py

bench-tuning: bench-setup     ## reading and tuning lists, beside random search, grids, CMA-ES and TPE
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/tuning.py

bench-forests: bench-setup    ## reading and tuning lattices and hypergraphs
	$(BIN)/python benchmarks/forest_reading.py
	$(BIN)/python benchmarks/lattice_reading.py
	$(BIN)/python benchmarks/forest_tuning.py

bench-certified: bench-setup  ## certified search beside grids, random search and line searches
	$(BIN)/python benchmarks/certified.py

bench-large: bench-setup      ## memory and time of very large inputs, each in its own process
	$(BIN)/python benchmarks/large.py

examples: kernels  ## the figures of the documentation
	$(BIN)/python examples/error_surface.py
	$(BIN)/python examples/duality.py
	$(BIN)/python examples/pictures.py
	$(BIN)/python examples/pocketsphinx/run.py

clean:           ## caches and the environment
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist src/hulltune/kernels/compiled
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
