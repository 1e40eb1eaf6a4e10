# The two commands of the README: `make demo` and `make test`. Each sets up its own environment: what runs the package
# for the demo, and in addition what checks it for the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.dev
EXTRAS := certify,figures,parquet,zstd
COMPILE := $(BIN)/python -m hulltune.kernels.load.build src/hulltune/kernels/compiled
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
# Files in their own order: reordered by the number of their tests, the one that takes longest would come last.
PYTEST_ALL = pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help kernels demo test lint types unit same-results exactness docs test-docs pages soak test-lowest package review bench examples browser clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1' hatchling editables  # dependency groups came with pip 25.1
	$(PIP) --group build $$(command -v cc > /dev/null || echo ziglang)
	PYTHONPATH=src $(COMPILE)
	$(PIP) --no-build-isolation -e '.[certify,figures]'
	@touch $@

$(DEV): $(STAMP)
	$(PIP) --no-build-isolation -e '.[$(EXTRAS)]' --group dev
	@touch $@

# Compiled kernels for this checkout, in src: those whose sources have changed are compiled again, on all cores.
kernels: $(STAMP)  ## compile the kernels that have changed
	$(COMPILE)

demo: kernels    ## the main job on built-in data: decode, tune, decode again
	$(BIN)/python examples/decoder/demo.py

test: lint types unit  ## everything: ruff, mypy --strict, all tests

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Python 3.10 has NumPy 2.2, which annotates its functions in less detail: mypy finds other types there.
types: $(DEV)
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; \
		then echo $(BIN)/mypy && $(BIN)/mypy; \
		else echo 'types are checked on Python 3.11 and later, whose NumPy annotates shapes'; fi

# What a few tests take if it can be had, and otherwise skip with the reason.
OPTIONAL := pocketsphinx polars datasets
$(VENV)/.optional: $(DEV)
	@for package in $(OPTIONAL); do \
		$(PIP) --retries 1 $$package 2> /dev/null \
		|| echo "$$package cannot be installed here: its tests will be skipped"; \
	done
	@touch $@

unit: kernels $(VENV)/.optional
	$(BIN)/$(PYTEST_ALL)

# What builds the site, and what its notebooks import.
$(VENV)/.docs: $(STAMP)
	$(PIP) --no-build-isolation -e '.[$(EXTRAS)]' --group docs
	@touch $@

docs: kernels $(VENV)/.docs  ## the site, in out/site: open out/site/index.html
	rm -rf out/site
	$(BIN)/sphinx-build -q -W --keep-going -j 2 -b html -d out/doctrees docs out/site

test-docs: docs $(DEV)  ## the site: its links, its search, what it fetches; and all that is slow to check of the documentation
	$(BIN)/pytest -m docs

# Pictures of reports need a browser, and stay as they are without one.
pages: kernels $(VENV)/.docs  ## all numbers and pictures of README.md, docs/ and paper/, made again
	$(BIN)/python -m benchmarks.pages
	cd docs/pictures && for script in ../../examples/gallery/*.py; do ../../$(BIN)/python $$script || exit 1; done
	$(BIN)/python examples/report.py out/report --pictures docs/pictures

# Debian and Ubuntu (its chromium is a snap, which works as well); elsewhere any Chromium on the PATH will do.
browser:         ## a Chromium for the tests of reports, by apt where possible; they are skipped without one
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
		|| apt-get install -y --no-install-recommends chromium \
		|| sudo -n apt-get install -y --no-install-recommends chromium \
		|| echo "no Chromium can be installed here: put one on the PATH, or its path into HULLTUNE_CHROMIUM"

same-results: kernels $(DEV)  ## all command lines whose answers are recorded, also those that take long
	HULLTUNE_SAME_RESULTS=all $(BIN)/pytest tests/results

exactness: kernels $(DEV)  ## the segments that rounding adds to envelopes, on the shared sets (docs/theory.md)
	$(BIN)/python -m tests.exactness

soak: kernels $(DEV)  ## bad days in bulk: fuzzed inputs, kills, full disks; an hour (docs/reliability.md)
	$(BIN)/python -m tests.soak --minutes 60

# The lowest versions that pyproject.toml allows, on the oldest Python, which $(LOWEST_PYTHON) names.
LOWEST_PYTHON ?= python3.10
LOWEST := .venv-lowest
test-lowest:     ## all tests with the lowest allowed versions of all dependencies
	$(LOWEST_PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
		-e '.[$(EXTRAS)]' --group test
	$(LOWEST)/bin/python -m pip list --disable-pip-version-check
	$(LOWEST)/bin/python -m hulltune.kernels.load.build src/hulltune/kernels/compiled
	$(LOWEST)/bin/$(PYTEST_ALL)

package: $(STAMP)  ## a wheel and an sdist in dist/, both installed; the tests of the sdist are run from it
	$(PIP) build twine
	rm -rf dist build/package && mkdir -p build/package
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	for built in dist/*.tar.gz dist/*.whl; do \
		$(PYTHON) -m venv --clear build/package/installed \
		&& build/package/installed/bin/python -m pip install --quiet $$built \
		&& build/package/installed/bin/hulltune --version || exit 1; \
	done
	build/package/installed/bin/hulltune tune examples/tiny.jsonl --metric wer --quiet
	tar -xzf dist/*.tar.gz -C build/package
	$(MAKE) -C build/package/hulltune-* unit

review: $(STAMP)  ## the checks of Scientific Python's repo-review
	$(PIP) 'sp-repo-review[cli]'
	$(BIN)/repo-review .

BENCHES := bench-startup bench-engine bench-metrics bench-tuning bench-forests bench-certified bench-large bench-report bench-scaling
.PHONY: $(BENCHES) bench-setup

bench: $(BENCHES)  ## all timings, as tables and as JSON in benchmarks/results: an hour (BENCH=--check fails where a target is missed); each part by itself:

bench-setup: kernels
	$(PIP) --no-build-isolation -e '.[$(EXTRAS)]' --group bench

bench-startup: bench-setup    ## from a fresh environment to the first and the second answer
	$(BIN)/python -m benchmarks.startup $(BENCH)

bench-engine: bench-setup     ## envelopes beside a C++ yardstick
	$(BIN)/python -m benchmarks.engine $(BENCH)

bench-metrics: bench-setup    ## metrics beside sacrebleu, rapidfuzz and jiwer
	$(BIN)/python -m benchmarks.metrics $(BENCH)
	$(BIN)/python -m benchmarks.metrics_other $(BENCH)

bench-tuning: bench-setup     ## reading and tuning lists, beside random search, grids, CMA-ES and TPE; how many sentences
	$(BIN)/python -m benchmarks.reading $(BENCH)
	$(BIN)/python -m benchmarks.tuning $(BENCH)
	$(BIN)/python -m benchmarks.sentences $(BENCH)

bench-forests: bench-setup    ## reading and tuning lattices and hypergraphs
	$(BIN)/python -m benchmarks.forest_reading $(BENCH)
	$(BIN)/python -m benchmarks.lattice_reading $(BENCH)
	$(BIN)/python -m benchmarks.forest_tuning $(BENCH)

bench-certified: bench-setup  ## certified search beside grids, random search and line searches
	$(BIN)/python -m benchmarks.certified $(BENCH)

bench-large: bench-setup      ## memory and time of very large inputs, each in its own process
	$(BIN)/python -m benchmarks.large $(BENCH)

bench-report: bench-setup     ## the HTML report: its size, the time to write it, the time of a step of the handle
	$(BIN)/python -m benchmarks.report $(BENCH)

bench-scaling: bench-setup    ## whole jobs with 1, 2, 4 … threads, on a quiet machine
	$(BIN)/python -m benchmarks.scaling $(BENCH)

examples: kernels  ## the pictures of the gallery, and the example with a recogniser, in out/
	mkdir -p out && cd out && for script in ../examples/gallery/*.py; do ../$(BIN)/python $$script || exit 1; done
	$(BIN)/python examples/pocketsphinx/run.py

clean:           ## caches and the environment
	rm -rf $(VENV) $(LOWEST) .nox .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist src/hulltune/kernels/compiled
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
