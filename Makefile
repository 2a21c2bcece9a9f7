# make demo: a first look.  make test: everything CI runs.  Both set up .venv first.
# make docs: the documentation, as a site in site/.
# make corpora: the real text that some tests need.  make bench [CORPUS=FILE]: how fast it is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test slow lint docs bench corpora clean

demo: $(STAMP)
	@$(BIN)/attnbank demo

test: $(STAMP) lint
	@echo "Running the tests (about 9 minutes on 2 slow cores)"
	@$(BIN)/python -m pytest -q -n 2

slow: $(STAMP)
	@echo "Running the tests that take minutes, too"
	@$(BIN)/python -m pytest -q -n 2 --no-loadscope-reorder --slow -m slow

lint: $(STAMP)
	@echo "Checking style and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy tests
	@$(BIN)/mypy docs/make.py

docs: $(STAMP)
	@echo "Making the pages and building the site (about a minute)"
	@$(BIN)/python docs/make.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@$(BIN)/python docs/offline.py site
	@echo "Read it: $(BIN)/python -m http.server --directory site, or open site/index.html"

corpora:
	@echo "Fetching the real text of the README's tour and of some tests into corpora/"
	@$(PYTHON) tests/support/real_text.py

bench: $(STAMP)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/benchmarks/bench_all.py $(CORPUS)

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing attnbank and what it needs into $(VENV) (minutes the first time)"
	@$(PYTHON) -c 'import sys; sys.exit("attnbank needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) build dist site docs/analyses docs/faults.md .mypy_cache .ruff_cache .pytest_cache
