"""A user's repository as it is: what cannot be used is left out with a reason in one line, and the rest makes tasks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from natlang_envs import UsageError
from natlang_envs.change.making.fork_runner import Runner, failing, open_tested
from natlang_envs.change.making.make_tasks import make
from natlang_envs.change.making.outcome_tables import scan
from natlang_envs.change.making.usable_tests import describe, usable
from natlang_envs.repository.mutations import apply, edits
from tests.support.folders import write
from tests.support.slow import slow_unless

GOOD: dict[str, bytes | str] = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "prices.py": "def total(prices, taken):\n    return sum(prices) - taken\ndef half(price):\n    return price // 2\n",
    "tests/test_good.py": """
from prices import half, total


def test_the_sum_is_less_what_was_taken():
    assert total([5, 6], 3) == 8


def test_nothing_taken():
    assert total([5], 0) == 5


def test_half_of_an_odd_price_is_rounded_down():
    assert half(5) == 2


def test_half_of_an_even_price():
    assert half(4) == 2
""",
}
NAMES = [
    "the_sum_is_less_what_was_taken",
    "nothing_taken",
    "half_of_an_odd_price_is_rounded_down",
    "half_of_an_even_price",
]
BAD: dict[str, tuple[str, str]] = {
    "failing": ("def test_x():\n    assert 1 == 2\n", "fails before anything is broken: AssertionError: assert 1 == 2"),
    "import": ("import nothing_of_that_name\n", "cannot be imported: .*No module named 'nothing_of_that_name'"),
    "syntax": ("def test_x(:\n", "cannot be imported: "),
    "endless": ("def test_x():\n    while True: pass\n", "takes too long, or ends the process"),
    "exit": ("import os\ndef test_x(): os._exit(0)\n", "takes too long, or ends the process"),
    "writing": ("def test_x():\n    open('new.txt', 'w').close()\n", "writes into the repository"),
    "making": ("import os\ndef test_x():\n    os.mkdir('new')\n", "writes into the repository"),
    "forking": ("import os\ndef test_x():\n    if not os.fork(): os._exit(0)\n    os.wait()\n", "starts a process"),
    "returning": ("import os\ndef test_x():\n    os.fork()\n", "starts a process"),
    "running": ("import subprocess\ndef test_x(): subprocess.run(['true'])\n", "starts a process"),
    "connecting": ("import socket\ndef test_x():\n    socket.socket().bind(('127.0.0.1', 0))\n", "uses the network"),
    "ordered": (
        "SEEN = []\ndef test_a(): SEEN.append(1)\ndef test_b(): assert SEEN\n",
        "fails before anything is broken",
    ),
    "spoilt": (
        "SEEN = []\ndef test_a(): assert not SEEN\ndef test_b(): SEEN.append(1)\n",
        "passes alone and fails among others",
    ),
    "flaky": (
        "import os\ndef test_x():\n    assert os.environ.setdefault('SEEN', str(os.getpid())) and os.getpid() % 2\n",
        "fails before anything is broken|passes alone and fails among others|takes too long",
    ),
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    write(tmp_path, GOOD)
    return tmp_path


@pytest.mark.slow  # `make test` tries all kinds at once
@pytest.mark.parametrize("kind", [each for each in BAD if each != "flaky"])
def test_what_cannot_be_used_is_left_out_in_one_line_and_nothing_else(good: Path, kind: str) -> None:
    text, why = BAD[kind]
    write(good, {"tests/test_bad.py": text})
    before = sorted(path.relative_to(good) for path in good.rglob("*") if "__pycache__" not in path.parts)
    tests, left_out = usable(open_tested(good), seconds=0.3)
    left = [name for name in tests if "test_bad" not in name]
    assert left == [f"tests/test_good.py::test_{name}" for name in NAMES]
    (line,) = describe(left_out)
    assert line.startswith("tests/test_bad.py")
    assert "\n" not in line
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(line)
    assert sorted(path.relative_to(good) for path in good.rglob("*") if "__pycache__" not in path.parts) == before


@pytest.mark.slow
def test_slow_tests_are_left_out_until_the_rest_fits(good: Path) -> None:
    slow = "from time import process_time\ndef spin(seconds):\n    end = process_time() + seconds\n"
    slow += "    while process_time() < end: pass\n"
    write(
        good, {"tests/test_bad.py": slow + "def test_a(): spin(.05)\ndef test_b(): spin(.2)\ndef test_c(): spin(.02)\n"}
    )
    tests, left_out = usable(open_tested(good), seconds=0.8)
    assert list(left_out) == ["tests/test_bad.py::test_b"]
    assert "all tests together may take 0.2 s" in describe(left_out)[0]
    assert len(tests) == len(NAMES) + 2


@pytest.mark.slow
def test_all_kinds_at_once_are_left_out_and_the_rest_makes_tasks(good: Path, tmp_path: Path) -> None:
    write(good, {f"tests/test_{kind}.py": text for kind, (text, _) in BAD.items()})
    write(good, {"broken.py": "def f(:\n", "latin.py": b"x = '\xff'\n", "carriage.py": b"x = 1\ry = 2\n"})
    first, *rows = make(open_tested(good), tmp_path / "tasks.jsonl", 5, seconds=0.3)
    left = first["left_out"]
    assert {"broken.py", "latin.py", "carriage.py"} <= set(left)
    assert {name.partition("::")[0] for name in left if name.startswith("tests")} >= {
        f"tests/test_{kind}.py" for kind in BAD if kind != "flaky"
    }
    tasks = [row for row in rows if "issue" in row]
    assert {row["file"] for row in tasks} == {"prices.py"}
    assert [name for name in first["tests"] if "test_good" in name] == [
        f"tests/test_good.py::test_{name}" for name in NAMES
    ]


def test_objects_that_cannot_be_looked_at_are_passed_over(good: Path) -> None:
    cache = "\n\nclass Cache:\n    cache_info = 0\n    def cache_clear(self, which): pass\n\n\nHELD = Cache()\n"
    proxy = "\n\nclass Proxy:\n    def __getattribute__(self, name): raise RuntimeError(name)\n\n\nPROXY = Proxy()\n"
    write(good, {"prices.py": f"{GOOD['prices.py']}{cache}{proxy}"})
    assert len(usable(open_tested(good), seconds=0.3)[0]) == len(NAMES)


def test_the_progress_of_each_round_is_told(good: Path) -> None:
    write(good, {"tests/test_bad.py": "def test_bad(): assert 0\n"})
    told: list[tuple[str, int, int]] = []
    usable(open_tested(good), seconds=0.3, tell=lambda *counts: told.append(counts))
    alone, together = 2 * len(NAMES), 6
    # The bad test is run once, and is not there in the second round.
    assert told == [
        *(("tests, round 1", each, alone + 2 + together) for each in range(1, alone + 1 + together + 1)),
        *(("tests, round 2", each, alone + together) for each in range(1, alone + together + 1)),
    ]


def test_a_repository_none_of_whose_tests_can_be_used_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n", "tests/test_a.py": "def test_a(): assert 0\n"})
    with pytest.raises(
        UsageError, match=r"no tests that can be used, such as tests/test_a.py::test_a, which fails before"
    ):
        usable(open_tested(tmp_path), seconds=0.3)
    write(tmp_path, {"tests/conftest.py": "import nothing_of_that_name\n"})
    with pytest.raises(
        UsageError,
        match=r"cannot be collected \(ModuleNotFoundError: .*'nothing_of_that_name'\): run python -m pytest",
    ):
        usable(open_tested(tmp_path), seconds=0.3)


def test_what_a_test_leaves_behind_reaches_no_other_run(good: Path) -> None:
    write(
        good,
        {
            "prices.py": str(GOOD["prices.py"])
            + "\n\nSEEN = []\n\n\ndef note(one):\n    SEEN.append(one)\n    return len(SEEN)\n"
        },
    )
    write(
        good,
        {"tests/test_note.py": "from prices import note\n\n\ndef test_the_first_is_one():\n    assert note(1) == 1\n"},
    )
    subject = open_tested(good)
    tests, left_out = usable(subject, seconds=0.3)
    assert (len(tests), left_out) == (5, {})
    with Runner(subject, 0.3) as runner:
        assert failing(runner, tests, {}, [{}, {}, {}]) == [0, 0, 0]


def test_an_edit_that_changes_a_parameter_of_a_test_spoils_no_other_run(good: Path) -> None:
    source = "def rest(names):\n    left = list(names)\n    left.pop()\n    return len(left)\n"
    hidden = "\n\nNEXT = iter(range(9))\n\n\ndef drawn(one, draw):\n    return next(NEXT) if draw else one\n"
    write(good, {"rest.py": source, "drawn.py": "from rest import rest\n" + hidden})
    write(
        good,
        {
            "tests/test_rest.py": """
import pytest

from drawn import drawn
from rest import rest


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c"]])
def test_one_is_taken(names):
    assert rest(names) == len(names) - 1 > 0


def test_nothing_is_drawn():
    assert drawn(0, False) == 0


def test_what_is_drawn_first():
    assert drawn(5, False) == 5
"""
        },
    )
    subject = open_tested(good)
    tests, left_out = usable(subject, seconds=0.3)
    assert not left_out
    with Runner(subject, 0.3) as runner:
        for file in ("rest.py", "drawn.py"):
            text = subject.sources[file]
            found = scan(runner, tests, file, text)
            for edit, outcome in zip(edits(text), found.outcomes, strict=True):
                assert [outcome] == failing(runner, tests, {file: apply(text, edit)}, [{"protocol": True}]), edit


@pytest.mark.parametrize(
    ("name", "settings"),
    slow_unless(
        lambda number: number == 0,
        [
            (
                "pyproject.toml",
                "[tool.pytest.ini_options]\naddopts = ['--cov=prices', '--cov-report', 'term', '-m', 'not slow']\n",
            ),
            ("setup.cfg", "[tool:pytest]\naddopts = --cov=prices --cov-report term -m 'not slow'\n"),
            ("tox.ini", "[pytest]\naddopts =\n    --cov=prices\n    --cov-report term\n    -m 'not slow'\n"),
        ],
    ),
)
def test_options_of_plugins_are_left_out_and_said_and_the_others_stay(tmp_path: Path, name: str, settings: str) -> None:
    slow = "import pytest\n\n\n@pytest.mark.slow\ndef test_slow():\n    assert 0\n"
    write(tmp_path, {**GOOD, "pyproject.toml": "", "tests/test_slow.py": slow, name: settings})
    tests, left_out = usable(open_tested(tmp_path), seconds=0.3)
    assert tests == [f"tests/test_good.py::test_{each}" for each in NAMES]
    assert list(left_out) == [f"pytest's setting {each}" for each in ("--cov=prices", "--cov-report", "term")]


def test_settings_of_plugins_are_left_out_where_warnings_are_errors(tmp_path: Path) -> None:
    settings = "[tool.pytest.ini_options]\nfilterwarnings = ['error']\nasyncio_mode = 'auto'\naddopts = '--cov'\n"
    write(tmp_path, {**GOOD, "pyproject.toml": settings})
    tests, left_out = usable(open_tested(tmp_path), seconds=0.3)
    assert tests == [f"tests/test_good.py::test_{each}" for each in NAMES]
    assert list(left_out) == ["pytest's setting --cov", "pytest's setting asyncio_mode"]


def test_an_option_that_is_wrong_is_told_in_the_words_of_pytest(tmp_path: Path) -> None:
    write(tmp_path, {**GOOD, "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--tb=none-such'\n"})
    with pytest.raises(UsageError, match=r"cannot be collected \(.*argument --tb: invalid choice: 'none-such'"):
        usable(open_tested(tmp_path), seconds=0.3)


def test_the_current_folder_and_src_are_on_the_path(tmp_path: Path) -> None:
    write(tmp_path, {**GOOD, "pyproject.toml": ""})
    assert len(usable(open_tested(tmp_path), seconds=0.3)[0]) == 4
    (tmp_path / "src").mkdir()
    (tmp_path / "prices.py").rename(tmp_path / "src/prices.py")
    assert len(usable(open_tested(tmp_path), seconds=0.3)[0]) == 4


def test_without_pytest_one_line_says_so(good: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    with pytest.raises(UsageError, match=r"bare/bin/python has no pytest, which runs the tests: pip install pytest"):
        Runner(open_tested(good), python=str(bare / "bin/python"))
