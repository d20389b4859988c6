# asyncfeel on a fresh machine: Python 3.11 or newer and make are all it needs.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: run test lint types format docs docs-parts fuzz bench bench-peers chaos clean

run: $(READY)
	$(BIN)/asyncfeel run --topology ring --psi inverse

test: lint types docs
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --cov --cov-report=term

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site, in site/; a link that leads nowhere is an error (not with --quiet, which silences strictness too).
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The parts of docs/ that are made from the program: tables of flags, the list of examples, pictures.
docs-parts: $(READY)
	$(BIN)/python docs/making/parts.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(READY)

# FUZZ_SECONDS is the time for all targets together; inputs that break a parser are kept in tests/corpus.
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) $(BIN)/python -m tests.fuzz.fuzz

# DATA is a folder with mnist.npz and cifar10.npz; without it the images are random.
bench: $(READY)
	$(BIN)/python benchmarks/bench.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/growth.py

# DATA must be given here: the accuracy of every simulator is checked on real digits.
bench-peers: $(READY)
	$(BIN)/python benchmarks/peers/compare.py --data $(DATA)/mnist.npz \
		--json benchmarks/results/peers.json --markdown benchmarks/results/peers.md

# Kills a hundred runs at random moments, lets them go on, and compares them with one that never stopped.
chaos: $(READY)
	$(BIN)/python tests/resuming/chaos.py --runs $(or $(RUNS),100)

clean:
	rm -rf .venv build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis site
