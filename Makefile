# Two commands on a fresh machine: `make demo` and `make test`. Both install what they need into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

.PHONY: help demo serve test check tests browser screenshots torture failover lock docs clean bench bench-full

help:            ## What there is to make
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.service: requirements/service.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --require-hashes -r requirements/service.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.service
	$(INSTALL) --require-hashes -r requirements/dev.lock
	@touch $@

demo: $(VENV)/.service    ## The service, a sandbox provider and one user's whole journey, step by step
	$(BIN)/strongroom demo

serve: $(VENV)/.service   ## A service that keeps running, with a data folder and keys to try it with
	$(BIN)/strongroom serve --sandbox --data data

test: $(VENV)/.dev check tests    ## Everything that must hold: style, types, import rules, tests

check: $(VENV)/.dev       ## Style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tests: $(VENV)/.dev       ## The tests alone
	$(BIN)/pytest --numprocesses 2 --dist worksteal

browser: $(VENV)/.dev     ## The portal in a real browser; says on its last line if there is none
	$(BIN)/pytest tests/browser --numprocesses 2 --dist loadgroup

screenshots: $(VENV)/.dev ## Every page of the portal in light, dark and phone width, into the folder screenshots
	STRONGROOM_SCREENSHOTS=screenshots $(BIN)/pytest tests/browser/test_every_page.py

torture: $(VENV)/.dev     ## Kill the service and PostgreSQL under load, again and again: COUNT=200 POSTGRESQL_COUNT=30
	$(BIN)/python -m tests.torture --sqlite $(or $(COUNT),200) --postgresql $(or $(POSTGRESQL_COUNT),30)

failover: $(VENV)/.dev    ## Kill a PostgreSQL primary under load and promote its standby
	$(BIN)/python -m tests.torture.failover

bench: $(VENV)/.dev       ## Ratios to the floor, on both engines, in five minutes; see docs/performance.md
	$(BIN)/python -m bench

bench-full: $(VENV)/.dev  ## The same with one million users and more rounds: half an hour, and 16 GB of disk
	$(BIN)/python -m bench --full

docs: $(VENV)/.dev        ## Write what is generated: examples, api.md, settings.md, refusals.md, the blocking client
	$(BIN)/python -m tools.examples
	$(BIN)/python -m tools.pages docs
	$(BIN)/python -m tools.blocking_face

# Needs uv. The locks hold versions and hashes for every platform and never name an index.
lock:
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --extra server --extra portal --group build --output-file requirements/service.lock pyproject.toml
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --extra server --extra portal --extra postgres --group build --group dev --output-file requirements/dev.lock pyproject.toml

clean:                    ## Remove what make made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache data
