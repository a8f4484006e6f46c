"""A small repository with tests, and change tasks that were made of it."""

from __future__ import annotations

from pathlib import Path

from tests.support.folders import write

KIOSK: dict[str, bytes | str] = {
    "README.md": "# Kiosk\nWhat a paper costs.\n",
    "kiosk/__init__.py": "",
    "kiosk/prices.py": """def total(prices, taken):
    if len(prices) >= 3:
        prices = sorted(prices)[1:]
    return sum(prices) - taken


def change(paid, due):
    return paid - due
""",
    "kiosk/days.py": """from kiosk.prices import total


def on_sunday(prices, day):
    return total(prices, 1) if day == 6 else total(prices, 0)
""",
    "tests/test_kiosk.py": """from kiosk.days import on_sunday
from kiosk.prices import change, total


def test_two_papers():
    assert total([1, 2], 0) == 3


def test_one_of_three_is_free():
    assert total([2, 1, 4], 0) == 6


def test_a_voucher():
    assert total([5, 6], 3) == 8


def test_change():
    assert change(10, 8) == 2


def test_sunday():
    assert on_sunday([5, 6], 6) == 10


def test_monday():
    assert on_sunday([5, 6], 0) == 11


def test_a_note():
    with open("left.txt", "a") as file:
        file.write("one more run")
""",
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
}


TASKS = Path(__file__).with_name("kiosk.jsonl")  # what `mutate` makes of it, as a test checks


def kiosk(folder: Path) -> Path:
    """Write the repository into a folder and return it."""
    return write(folder / "kiosk", KIOSK)
