# Every target sets itself up: a virtual environment in .venv, with the versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
CORES := $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench-speed clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */\t/' | expand -t16

setup: .venv/ready  ## the virtual environment

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: setup  ## capsules that cannot tell x from -x, and the bias that cures them (two minutes)
	$(BIN)/torchcaps demo

test: setup  ## all tests, in parallel
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(CORES) --dist worksteal

check: setup  ## format, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup  ## what check would complain about, mended where it can be
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-speed: setup  ## time and memory of every routing against its textbook twin
	$(BIN)/python -m benchmarks.routing

clean:  ## remove what was built
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
