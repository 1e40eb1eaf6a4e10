# The two commands of the README: `make demo` and `make test`. Each sets up its own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test lint types unit bench bench-tuning examples clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

demo: $(STAMP)   ## the main job on built-in data
	$(BIN)/python examples/demo.py

test: lint types unit  ## everything: ruff, mypy --strict, all tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/pytest -n 2 --dist loadfile

bench: $(STAMP)  ## timings as a table and as JSON in benchmarks/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/metrics_other.py

bench-tuning: $(STAMP)  ## reading and tuning beside the alternatives: some minutes
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/tuning.py

examples: $(STAMP)  ## the figures of the documentation
	$(BIN)/python examples/error_surface.py
	$(BIN)/python examples/duality.py

clean:           ## caches and the environment
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
