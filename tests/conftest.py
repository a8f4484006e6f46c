"""What all tests share: options, ids, and how long Hypothesis may search."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]  # runs pytest in this process

# Derandomised: a failure on one machine is a failure on every machine. `make test-full` takes the profile `full`, and
# `--hypothesis-profile search` looks for more.
settings.register_profile("suite", derandomize=True, deadline=None, max_examples=15, database=None)
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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Leave what is imported and collected, over a million objects, out of every garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


ID_LIMIT, TEXT_LIMIT = 100, 32  # characters of a test's parameters in its id, and of one text among them


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long parameter by its beginning; pytest numbers those that begin alike."""
    if isinstance(val, str | bytes) and len(val) > TEXT_LIMIT:
        return ascii(val).strip("'\"")[:TEXT_LIMIT]
    return None


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class) -> Generator[None, Any, Any]:
    """Refuse tests whose id is too long to be read or typed."""
    made = yield
    for item in made if isinstance(made, list) else ():
        if (spec := getattr(item, "callspec", None)) and len(spec.id) > ID_LIMIT:
            raise collector.CollectError(f"parameters of over {ID_LIMIT} characters: {item.name[:300]}")
    return made


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
