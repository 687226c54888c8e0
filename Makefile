# `make run` and `make test` set up what is missing; a second call takes a second.
PYTHON ?= python3
BIN := .venv/bin
# One benchmark by its name: make bench only=live_view
only ?=

.PHONY: run test check soak bench doctor presets screenshots setup setup-test bytecode chromium postgresql clean

run: setup bytecode
	$(BIN)/python main.py

test: setup-test bytecode chromium postgresql
	@# mypy uses one core only, so the linters run in parallel with the tests; what they find is shown last.
	@$(MAKE) --no-print-directory lint > .venv/lint.log 2>&1 & lint=$$!; \
	$(BIN)/python -m tests.run; tests=$$?; \
	wait $$lint || { cat .venv/lint.log; exit 1; }; exit $$tests

# The fast tests, in parallel with the linters.
check: setup-test bytecode
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint fast-tests

# Proofs that take minutes each: CONTRIBUTING.md says what they show.
soak: setup-test bytecode
	$(BIN)/python -m pytest -m soak --durations=0

.PHONY: lint fast-tests
fast-tests:
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --ignore=tests/browser -m "not slow and not soak" --numprocesses 2 --dist worksteal

lint:
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	git ls-files -z | xargs -0 $(BIN)/codespell

bench: setup-test bytecode chromium
	$(BIN)/python -m benchmarks $(only)

# How often the doctor is right; one case or some: BENCH_CASES="learning rate" make doctor
doctor: setup-test
	$(BIN)/python -m benchmarks doctor

# Measure presets that have no result yet, or some: make presets only="CartPole-v1 PPO"
presets: setup-test
	$(BIN)/python -m benchmarks.training.presets --only "$(only)"

# Take a screenshot of every page in every state into docs/images. Look at them before you commit.
screenshots: setup-test chromium
	$(BIN)/python -m tests.browser.screenshots

setup: .venv/.packages assets/built/.done

setup-test: setup .venv/.test-packages

.venv/.packages: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name it with make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.test-packages: pyproject.toml .venv/.packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,atari,minigrid,postgresql]'
	touch $@

assets/built/.done: assets/package.json assets/build.py | .venv/.packages
	$(BIN)/python assets/build.py

# Sandboxed workers can't write bytecode files: without this, each would compile everything again.
bytecode: setup
	@$(BIN)/python -m compileall -q app components pages storage

# The one without windows starts quicker; where there is none, any other does.
chromium:
	@has() { command -v "$$1" >/dev/null; }; \
	add() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$$1"; }; \
	has chromium-headless-shell || has chromium || has chromium-browser || has google-chrome || \
	if [ "$$(id -u)" = 0 ] && has apt-get; then \
		apt-get update -qq && { add chromium-headless-shell || add chromium; }; \
	else \
		echo "The browser tests need Chromium. Install it, for example: sudo apt-get install chromium"; exit 1; \
	fi

postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql; \
	else \
		echo "Without PostgreSQL its tests are skipped. Install it, for example: sudo apt-get install postgresql"; \
	fi

clean:
	rm -rf .venv assets/built assets/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
