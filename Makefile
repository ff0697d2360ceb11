# rooflens: everything from a fresh clone with git, make and python3 (3.11 or newer). `make help` lists the targets.
#
#   make lab                         set up .venv and run the laboratory on this machine
#   make lab ARGS="--out results"    the same, with options for rooflens
#   make test PYTHON=python3.12      another Python
#   make test VENV=.venv-3.12        another place for the packages

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# The versions that are known to work together. On your own machine a version that cannot be had is replaced, aloud.
LOCK ?= requirements/ci.txt

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
RUN_STAMP := $(VENV)/.ready-run
DEV_STAMP := $(VENV)/.ready-dev
BENCH_STAMP := $(VENV)/.ready-bench
DOCS_STAMP := $(VENV)/.ready-docs
FAST := not slow and not gpu
# A worker a processor, each taking from the others what it has time for; a single file or test needs none.
SPREAD := -n logical --maxprocesses 8 --dist worksteal
WORKERS = $(if $(strip $(ARGS)),,$(SPREAD))

# Some service accounts and containers have no home: tools then put their caches into the virtual environment.
ifeq ($(strip $(HOME)),)
export HOME := $(abspath $(VENV))/home
endif

.PHONY: help
help:  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

# --- using it ---------------------------------------------------------------------------------------------------------

.PHONY: lab
lab: $(RUN_STAMP)  ## set up and run the laboratory on this machine (options: ARGS="...")
	@$(BIN)/rooflens lab $(ARGS)

.PHONY: install
install: $(RUN_STAMP)  ## only set up, then use .venv/bin/rooflens

# --- working on it ----------------------------------------------------------------------------------------------------

.PHONY: test
test: $(DEV_STAMP)  ## set up and run the fast tests, and the page in Chromium where that is (options for pytest: ARGS="...")
	@$(PY) -m pytest -m "$(FAST)" $(WORKERS) $(ARGS)
	@$(if $(strip $(ARGS)),:,if command -v chromium >/dev/null; then $(IN_CHROMIUM); fi)

# The page in a real browser, but for what takes long; where its driver cannot be had these tests skip themselves.
IN_CHROMIUM = $(PIP) install -c $(LOCK) -e '.[browser]' || echo "no playwright: the page is not tried in Chromium" >&2; \
	$(PY) -m pytest -m "not long" $(WORKERS) tests/test_page_browser.py || test $$? -eq 5

.PHONY: coverage
coverage: $(DEV_STAMP)  ## the fast tests, and which branches of think and the floors below they take: 95 % or it fails
	@$(PY) -m pytest -m "$(FAST)" $(SPREAD) --cov --cov-report=term

.PHONY: test-slow
test-slow: $(DEV_STAMP)  ## tests that measure for real or take long
	@$(PY) -m pytest -m "slow and not gpu" $(ARGS) || test $$? -eq 5

.PHONY: test-gpu
test-gpu: $(DEV_STAMP)  ## tests that need a CUDA device; add the nvidia extra to .venv first
	@$(PY) -m pytest -m gpu $(ARGS) || test $$? -eq 5

.PHONY: accuracy
accuracy: $(BENCH_STAMP)  ## set up and print how far estimates lie from what was measured (minutes; ARGS="--docs")
	@$(PY) -m benchmarks.accuracy $(ARGS)

.PHONY: check
check: lint types imports docs-check docs test  ## all that must hold before a commit

.PHONY: lint
lint: $(DEV_STAMP)  ## ruff: rules and layout
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: types
types: $(DEV_STAMP)  ## mypy --strict on src
	@$(BIN)/mypy

.PHONY: imports
imports: $(DEV_STAMP)  ## import-linter: imports point down
	@$(BIN)/lint-imports

# Output quoted in the docs is made by the command beside it, between cog marks.
COGGED = $(shell grep -lF '[[[cog' README.md $$(find docs -name '*.md') 2>/dev/null)

.PHONY: docs-check
docs-check: $(DEV_STAMP)  ## quoted output in README.md and docs/ is what the commands print today
	@test -z "$(COGGED)" || PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cog --check --diff -P $(COGGED)

.PHONY: docs-write
docs-write: $(DEV_STAMP)  ## write that output anew, and what else of docs/ is made
	@$(PY) tools/rooms.py
	@test -z "$(COGGED)" || PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cog -r -P $(COGGED)
	@$(PY) tools/applied.py --write docs/adding/*.md

.PHONY: docs
docs: $(DOCS_STAMP)  ## set up and build docs/ as a site in build/docs; a warning, such as a dead link, is an error
	@$(PY) -m sphinx -q -W --keep-going -j auto -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

.PHONY: format
format: $(DEV_STAMP)  ## let ruff mend what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: dist
dist: $(DEV_STAMP)  ## the source archive, and the wheel made from it
	@rm -rf dist
	@$(PY) -m hatchling build -t sdist -d dist
	@$(PIP) wheel --no-deps --no-build-isolation -w dist dist/*.tar.gz

.PHONY: lock
lock: check-python  ## resolve the newest fitting versions and write them to requirements/ci.txt
	@rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip install --quiet -e '.[dev,docs,fleet]'
	@{ echo "# Versions that are tested together. Written by: make lock"; \
	   $(VENV)-lock/bin/python -m pip freeze --exclude-editable; } > requirements/ci.txt
	@rm -rf $(VENV)-lock

.PHONY: clean
clean:  ## remove the virtual environment, caches and built files
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# --- how .venv is made ------------------------------------------------------------------------------------------------

.PHONY: check-python
check-python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "$(PYTHON) is not on PATH. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) -c 'import platform; print(platform.python_version())'); rooflens needs 3.11" \
	    "or newer. Name a newer one: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: its venv or ensurepip module is missing." \
	    "On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }

# Made once; the stamps below say whether what is inside is up to date.
$(PY):
	@$(MAKE) --no-print-directory check-python
	@echo "making $(VENV) with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv --clear $(VENV)

# $(1): what to install. CI must get the locked versions; elsewhere they are a strong wish.
define install
	@mkdir -p "$$HOME" 2>/dev/null || true
	@echo "installing rooflens into $(VENV) (once; again when pyproject.toml or $(LOCK) changes)" >&2
	@$(PIP) install --constraint $(LOCK) --editable '$(1)' || { test -z "$$CI" && \
	  echo "the versions in $(LOCK) cannot be had here; trying the ranges in pyproject.toml" >&2 && \
	  $(PIP) install --editable '$(1)'; }
endef

$(RUN_STAMP): pyproject.toml $(LOCK) | $(PY)
	$(call install,.)
	@touch $@

$(DEV_STAMP): pyproject.toml $(LOCK) | $(PY)
	$(call install,.[dev])
	@touch $@ $(RUN_STAMP)

$(BENCH_STAMP): pyproject.toml $(LOCK) | $(PY)
	$(call install,.[bench])
	@touch $@ $(RUN_STAMP)

$(DOCS_STAMP): pyproject.toml $(LOCK) | $(PY)
	$(call install,.[docs])
	@touch $@ $(RUN_STAMP)
