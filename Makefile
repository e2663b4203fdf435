# Every target sets itself up: a virtual environment in .venv, with the versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
CORES := $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage mutants test-oldest smoke sanitize docs pages dist check format bench-speed bench-gpu clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */\t/' | expand -t16

setup: .venv/ready  ## the virtual environment

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: setup  ## capsules and convolutions on digits: a table, and demo/report.html (four minutes)
	$(BIN)/torchcaps demo

OLDEST = $(shell sed -n 's/.*"torch>=\([0-9.]*\)".*/\1/p' pyproject.toml)
TOOLS = beartype hypothesis kornia pytest pytest-timeout pytest-xdist

# Without torch.compile of whole networks and ONNX, which torch had no full support for then (docs/troubleshooting.md).
test-oldest:  ## the library's tests with the oldest torch that the metadata allows, in a virtual environment of their own
	mkdir -p build
	grep -vE '^(torch|triton)==' constraints.txt > build/oldest.txt
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check -c build/oldest.txt \
		"torch==$(OLDEST).*" -e ".[attacks,bench,export,sklearn]" $(TOOLS)
	OMP_NUM_THREADS=1 build/oldest/bin/python -m pytest -n $(CORES) --dist worksteal \
		tests/contracts tests/layers tests/losses tests/models tests/routing tests/test_network.py \
		--ignore tests/contracts/test_compile.py

test: setup  ## all tests, in parallel
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(CORES) --dist worksteal

coverage: setup  ## which lines and branches no test reaches, in build/coverage; read in benchmarks/results/coverage.md
	rm -rf build/coverage
	OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest -n $(CORES) --dist worksteal -o timeout=1500
	$(BIN)/coverage combine
	$(BIN)/coverage report

SEED ?= $(shell date -u +%Y%m%d)
NUMBER ?= 60
MINUTES ?= 30

mutants: setup  ## small faults planted in a copy, and those that no test notices: SEED=the date NUMBER=60 MINUTES=30 PATHS=torchcaps
	$(BIN)/python -m benchmarks.mutants --seed $(SEED) --number $(NUMBER) --minutes $(MINUTES) $(PATHS)

smoke: setup  ## every artefact of the bench at its smallest, and the page about them, in build/smoke
	rm -rf build/smoke
	$(BIN)/torchcaps bench run --scale smoke --results build/smoke
	$(BIN)/torchcaps bench report --results build/smoke
	$(BIN)/torchcaps bench verify --complete smoke --results build/smoke

# The sanitizers' runtimes must be loaded before Python; their reports go past pytest's capture. A failed build, after
# which the tests would skip, ends the target.
RUNTIMES = $(foreach name,asan ubsan stdc++,$(shell gcc -print-file-name=lib$(name).so))
SANITIZED = env CXX="$(CURDIR)/.ci/compiler" LD_PRELOAD="$(RUNTIMES)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	TORCHCAPS_NATIVE_FLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined" $(BIN)/python

sanitize: setup  ## the tests of the native passes under AddressSanitizer and UndefinedBehaviorSanitizer
	$(SANITIZED) -c "from torchcaps.ops import native; assert native.status() == 'native', native.status()"
	$(SANITIZED) -m pytest -x -n $(CORES) --dist worksteal --capture=sys tests/ops tests/routing tests/contracts/test_routing.py

docs: setup  ## the site in build/site; a link that leads nowhere is an error
	$(BIN)/zensical build --strict
	$(BIN)/python -m pages.links build/site

dist: setup  ## sdist and wheel in dist/, checked, and the wheel tried alone in an empty virtual environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python .ci/wheel.py dist

pages: setup  ## those pages of the site that programs write: findings, choosing a routing, command line, figures
	$(BIN)/python -m pages

check: setup docs  ## format, lint, types, direction of imports, the site
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup  ## what check would complain about, mended where it can be
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-speed: setup  ## time and memory of layers, networks and models against textbook code (twelve minutes), docs/speed.md
	$(BIN)/python -m benchmarks.speed --json benchmarks/results/speed.json
	$(BIN)/python -m benchmarks.speed.report benchmarks/results/speed.json --out docs

bench-gpu: setup  ## on a card: every routing checked, then time and memory, written to benchmarks/results/gpu-<card>
	$(BIN)/python -m benchmarks.gpu

clean:  ## remove what was built
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
