"""What all tests share: options, ids, and how long Hypothesis may search."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]  # runs pytest in this process

# Derandomised: a failure on one machine is a failure on every machine. `make test-full` takes the profile `full`, and
# `--hypothesis-profile search` looks for more.
settings.register_profile("suite", derandomize=True, deadline=None, max_examples=25, database=None)
settings.register_profile("full", settings.get_profile("suite"), max_examples=60)
settings.register_profile(
    "search", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("suite")

# A shell starts its background jobs with Ctrl-C ignored, and the commands that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the flag that re-makes the golden files."""
    parser.addoption(
        "--remake-golden", action="store_true", help="write tests/golden/ anew instead of comparing with it"
    )


ID_LIMIT, TEXT_LIMIT = 100, 32  # characters of a test's parameters in its id, and of one text among them


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long parameter by its beginning; pytest numbers those that begin alike."""
    if isinstance(val, str | bytes) and len(val) > TEXT_LIMIT:
        return ascii(val).strip("'\"")[:TEXT_LIMIT]
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests whose id is too long to be read or typed."""
    parameters = {item.nodeid: getattr(item, "callspec", None) for item in items}
    long = [nodeid for nodeid, spec in parameters.items() if spec and len(spec.id) > ID_LIMIT]
    if long:
        raise pytest.UsageError(f"{len(long)} tests have parameters of over {ID_LIMIT} characters: {long[0][:300]}")


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare a text with a file of `tests/golden/`; `--remake-golden` writes it anew."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--remake-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            pytest.skip(f"{path.name} was made anew")
        assert path.read_text(encoding="utf-8") == text, f"{path.name} differs: a change of results raises the version"

    return compare
