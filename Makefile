# Everything starts here.  `make lab` and `make test` need Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint .ci/constraints.txt
NB ?= $(wildcard notebooks/*.ipynb)
FAST ?= tests
LOOPS := $(shell find trainium_edu -name '_loops.py')
SCRIPTS := $(shell find .ci trainium_edu tests -name '*.js' -o -name '*.mjs')
BY_PATH := 'import pathlib, site; pathlib.Path(site.getsitepackages()[0], "by_path.pth").write_text("import os, sys; os.environ[\"PATH\"] = os.path.join(sys.prefix, \"bin\") + os.pathsep + os.environ.get(\"PATH\", \"\")\n")'

export PYTHONDONTWRITEBYTECODE =  # the second run need not compile the tests again

.PHONY: help soak lab test test-fast test-notebooks test-browser check lines bench notebooks docs warm clean

help:  ## say what each target does
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 18

lab: $(VENV)/.lab $(VENV)/.warm  ## open JupyterLab on the first lesson, in a working copy
	$(BIN)/python -m trainium_edu lab

test: check test-fast test-notebooks  ## lint, floors, unit and property tests, all notebooks

test-fast: $(VENV)/.test $(VENV)/.warm  ## unit and property tests
	$(BIN)/python -m pytest -n 2 -m "not slow and not soak and not browser and not judge" $(FAST)

test-notebooks: $(VENV)/.test $(VENV)/.warm  ## run all lessons, compare with what is stored, guess
	$(BIN)/python -m pytest --nbval --nbval-current-env --nbval-cell-timeout=120 \
		-p tests.each_guess -p no:randomly -n 2 --dist loadscope $(NB)

test-browser: $(VENV)/.browser $(VENV)/.warm  ## the lessons in real JupyterLab in Chromium
	$(BIN)/python -m pytest -m browser tests/browser

soak: $(VENV)/.test $(VENV)/.warm  ## a class of two hundred; all processors (about an hour)
	$(PIP) --editable '.[test,cpp]'
	$(BIN)/python -m pytest -m soak
	$(BIN)/python .ci/processors.py

check: $(VENV)/.test  ## lint and formatting of both languages, import floors, types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/oxlint --config .ci/oxlint.json --quiet $(SCRIPTS)
	$(BIN)/oxfmt --config .ci/oxfmt.json --check $(SCRIPTS)
	$(BIN)/lint-imports
	$(BIN)/mypy

lines: $(VENV)/.test  ## code lines per package against its budget
	$(BIN)/python .ci/lines.py

bench: $(VENV)/.test $(VENV)/.warm  ## speed beside the named peers; WRITE=1 fills README's rows
	$(BIN)/python -m tests.benchmarks $(if $(WRITE),--write README.md .github/docs/speed.md)

notebooks: $(VENV)/.browser $(VENV)/.warm  ## run the lessons (or NB=...), store outputs and pictures
	$(BIN)/python .ci/notebooks.py $(NB)

docs: $(VENV)/.docs  ## pages from docstrings and lessons, in build/docs; a warning is an error
	$(BIN)/python .ci/docs.py

warm: $(VENV)/.warm  ## compile all loops into the on-disk cache

clean:  ## remove the virtual environment and caches; learners' work stays
	rm -rf $(VENV) .venv-nbgrader .import_linter_cache .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	find trainium_edu tests -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "trainium_edu needs Python 3.11 or later, and $(PYTHON) is %d.%d: install a newer Python, or name one with `make PYTHON=python3.12 ...`" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.lab: pyproject.toml .ci/constraints.txt | $(BIN)/python
	@echo "Installing trainium_edu into $(VENV) (once; a few minutes) ..."
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.lab
	$(PIP) --editable '.[test]'
	@touch $@

$(VENV)/.browser: $(VENV)/.test
	$(PIP) --editable '.[test,browser]'
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(PIP) --editable '.[test,docs]'
	@touch $@

.venv-nbgrader/.ready: pyproject.toml .ci/constraints.txt | $(BIN)/python  # it pins Jupyter
	$(BIN)/python -m venv .venv-nbgrader
	.venv-nbgrader/bin/python -m pip install --disable-pip-version-check --quiet \
		--constraint .ci/constraints.txt --editable '.[nbgrader]'
	@.venv-nbgrader/bin/python -c $(BY_PATH)  # nbgrader calls alembic by name
	@touch $@

$(VENV)/.warm: $(LOOPS) | $(VENV)/.lab
	$(BIN)/python -m compileall -q trainium_edu
	$(BIN)/python -m trainium_edu warm
	@touch $@
