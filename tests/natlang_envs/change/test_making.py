"""Making change tasks: outcomes are those of pytest, the journal goes on where it was killed, bad tests are named."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.change.making.code_locations import CodeLocations
from natlang_envs.change.making.fork_runner import Runner, SourcesWithTests, failing, open_tested
from natlang_envs.change.making.make_tasks import make
from natlang_envs.change.making.outcome_tables import scan, tabulate
from natlang_envs.change.making.recheck import NOTHING, OutcomeDifference, TaskSource, in_forks, recheck
from natlang_envs.change.making.usable_tests import usable
from natlang_envs.change.repositories import change_repositories, change_repository, data_folder, pinned_for_changes
from natlang_envs.change.task_files import pack, read_journal, unpack, write_task_file
from natlang_envs.repository.mutations import Edit, apply, edits
from tests.support.folders import write
from tools.change.__main__ import sharpness

SERVICES = data_folder() / "services"
SHOP: dict[str, bytes | str] = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "shop/prices.py": """
FREE_FROM = 3


def doubled(price):
    return price * 2


STEP = doubled(5)


def total(prices, taken=0):
    if (
        len(prices) >= FREE_FROM
        and min(prices) > 0
    ):
        prices = sorted(prices)[1:]
    return sum(prices) - taken


class Purse:
    def __init__(self, pence):
        self.pence = pence

    def coins(self):
        count = self.pence // STEP
        if self.pence % STEP:
            count += 1
        return count
""",
    "tests/test_prices.py": """
import pytest

from shop.prices import Purse, total


@pytest.mark.parametrize(("prices", "due"), [([1, 2], 3), ([1, 2, 4], 6), ([0, 2, 4], 6), ([9, 5, 6, 7], 22)])
def test_total(prices, due):
    assert total(prices) == due


def test_taken():
    assert total([5, 6], 3) == 8
    assert total([5], taken=1) == 4


@pytest.mark.parametrize(("pence", "coins"), [(0, 0), (10, 1), (11, 2), (25, 3)])
def test_coins(pence, coins):
    assert Purse(pence).coins() == coins


def test_of_nothing():
    assert 1
""",
}
FILE = "shop/prices.py"
COUNT = 3
pytestmark = pytest.mark.xdist_group("making")  # one process makes the tasks


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> SourcesWithTests:
    folder = tmp_path_factory.mktemp("shop")
    write(folder, SHOP)
    return open_tested(folder)


@pytest.fixture(scope="module")
def runner(shop: SourcesWithTests) -> Iterator[Runner]:
    with Runner(shop, seconds=0.3) as runner:
        yield runner


@pytest.fixture(scope="module")
def tests(shop: SourcesWithTests) -> list[str]:
    return usable(shop, 0.3)[0]


def names(outcome: int, tests: list[str]) -> set[str]:
    return {name for number, name in enumerate(tests) if outcome >> number & 1}


def test_a_tables_outcomes_are_those_of_importing_everything_again(
    shop: SourcesWithTests, runner: Runner, tests: list[str]
) -> None:
    text = shop.sources[FILE]
    found = scan(runner, tests, FILE, text)
    for edit, outcome in list(zip(edits(text), found.outcomes, strict=True))[::3]:
        assert [outcome] == failing(runner, tests, {FILE: apply(text, edit)}), edit
    assert len(set(found.outcomes)) > 8


@pytest.mark.slow
def test_an_outcome_after_two_edits_is_that_of_importing_everything_again(
    shop: SourcesWithTests, runner: Runner, tests: list[str]
) -> None:
    text = shop.sources[FILE]
    found = scan(runner, tests, FILE, text)
    listed = edits(text)
    # One in each function, one outside, one in a function that runs at import, and one that cannot be imported.
    words = ("price * 2", "FREE_FROM = 3", "- taken", "% STEP", "doubled(5)", "> 0")
    lines = {text[: text.index(word)].count("\n") + 1 for word in words}
    chosen = [number for number, edit in enumerate(listed) if edit.line in lines][::2]
    assert {found.apart[number] for number in chosen} == {True, False}
    for number, outcomes in zip(chosen, tabulate(runner, tests, FILE, text, found, chosen), strict=True):
        broken = apply(text, listed[number])
        for edit, outcome in list(zip(edits(broken), outcomes, strict=True))[number % 4 :: 4]:
            assert [outcome] == failing(runner, tests, {FILE: apply(broken, edit)}, [{"protocol": True}]), (
                number,
                edit,
            )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("taken=0", "taken=1"),
        pytest.param("price * 2", "price / 2", marks=pytest.mark.slow),
        pytest.param("FREE_FROM = 3", "FREE_FROM = 2", marks=pytest.mark.slow),
    ],
)
def test_outcomes_are_pytests_own(
    shop: SourcesWithTests, runner: Runner, tests: list[str], tmp_path: Path, old: str, new: str
) -> None:
    text = shop.sources[FILE]
    copy = shutil.copytree(shop.root, tmp_path / "copy")
    (copy / FILE).write_text(text.replace(old, new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    failed = {line.split(" - ")[0].removeprefix("FAILED ") for line in done.stdout.splitlines() if "FAILED " in line}
    (outcome,) = failing(runner, tests, {FILE: text.replace(old, new)})
    assert names(outcome, tests) == failed
    assert failed


def test_what_never_ends_or_cannot_be_imported_fails_everything(
    shop: SourcesWithTests, runner: Runner, tests: list[str]
) -> None:
    text = shop.sources[FILE]
    everything = (1 << len(tests)) - 1
    assert failing(runner, tests, {FILE: text.replace("count += 1", "while True: pass")}) == [everything]
    assert failing(runner, tests, {FILE: text + "while True: pass\n"}) == [everything]
    assert failing(runner, tests, {FILE: "import nothing_of_that_name\n"}) == [everything]


def test_tests_that_are_gone_have_failed(
    shop: SourcesWithTests, runner: Runner, tests: list[str], tmp_path: Path
) -> None:
    write(tmp_path, SHOP)
    path = tmp_path / "tests" / "test_prices.py"
    path.write_text(path.read_text(encoding="utf-8").replace("(25, 3)", "(25 + STEP - 10, 3)"), encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8").replace("import Purse", "import STEP, Purse"), encoding="utf-8")
    text = shop.sources[FILE].replace("doubled(5)", "doubled(6)")
    with Runner(open_tested(tmp_path), seconds=0.3) as other:
        (outcome,) = failing(other, tests, {FILE: text})
    assert "tests/test_prices.py::test_coins[25-3]" in names(outcome, tests)


def test_code_locations() -> None:
    locations = CodeLocations(str(SHOP[FILE]))
    lines = str(SHOP[FILE]).splitlines()
    condition = lines.index("        and min(prices) > 0") + 1
    assert list(locations.statement(condition)) == [condition - 2, condition - 1, condition, condition + 1]
    assert (locations.function_name(condition), locations.first_line(condition)) == ("total", condition - 3)
    assert locations.first_line(condition - 3) is None
    coins = lines.index("            count += 1") + 1
    assert (locations.function_name(coins), list(locations.statement(coins))) == ("Purse.coins", [coins])
    assert (locations.function_name(2), locations.first_line(2)) == ("", None)


@pytest.fixture(scope="module")
def journal(shop: SourcesWithTests, runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journal") / "tasks.jsonl"
    list(make(shop, path, COUNT, seconds=0.5))
    return path


def rows_of(journal: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]


def test_a_tasks_table_holds_one_way_back_and_the_rules_are_kept(
    shop: SourcesWithTests, journal: Path, tests: list[str]
) -> None:
    tasks = [row for row in rows_of(journal) if "issue" in row]
    assert tasks
    for row in tasks:
        text = shop.sources[str(row["file"])]
        edit = Edit(row["line"], row["start"], row["end"], row["new"], row["operator"])  # type: ignore[arg-type]
        broken = apply(text, edit)
        outcomes = unpack(row["table"])  # type: ignore[arg-type]
        listed = edits(broken)
        assert len(outcomes) == len(listed)
        assert apply(broken, listed[row["restoring"]]) == text  # type: ignore[index]
        assert outcomes[row["restoring"]] == 0  # type: ignore[index]
        assert 2 <= int(str(row["failing"]), 16).bit_count() < len(tests)
    assert max(Counter((row["file"], row["line"]) for row in tasks).values()) == 1
    assert max(Counter((row["file"], row["function"]) for row in tasks).values()) <= 3
    assert max(Counter(row["operator"] for row in tasks).values()) <= 1  # 15% of three


@pytest.mark.slow
def test_a_killed_making_goes_on_and_makes_the_same_bytes(
    shop: SourcesWithTests, journal: Path, tmp_path: Path
) -> None:
    whole = journal.read_bytes()
    copy = tmp_path / "tasks.jsonl"
    lines = whole.splitlines(keepends=True)
    for kept in (0, 1, 2, len(lines) // 2, len(lines) - 1):
        copy.write_bytes(b"".join(lines[:kept]) + lines[kept][:20])
        made = list(make(shop, copy, COUNT, seconds=0.5))
        assert copy.read_bytes() == whole
        assert [row for row in made if "issue" in row] == [row for row in rows_of(journal) if "issue" in row]


def test_a_journal_of_something_else_is_refused(shop: SourcesWithTests, journal: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="of another repository, count or version"):
        list(make(shop, journal, COUNT + 1))
    (tmp_path / "notes.txt").write_text("milk\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no journal of tasks"):
        list(make(shop, tmp_path / "notes.txt", COUNT))
    with pytest.raises(UsageError, match="ask for one at least"):
        list(make(shop, tmp_path / "new.jsonl", 0))


@pytest.mark.slow
def test_more_tasks_are_those_of_fewer_and_others_beside_them(
    shop: SourcesWithTests, journal: Path, tmp_path: Path
) -> None:
    more = [row for row in make(shop, tmp_path / "tasks.jsonl", 8, more=True, seconds=0.5) if "issue" in row]
    fewer = [row for row in make(shop, tmp_path / "fewer.jsonl", 8, seconds=0.5) if "issue" in row]
    assert len(more) > len(fewer)
    assert [row for row in more if row in fewer] == fewer
    with pytest.raises(UsageError, match="of another repository, count or version"):
        list(make(shop, journal, COUNT, more=True))


def test_a_file_of_tasks_is_made_from_a_journal_and_checked(
    shop: SourcesWithTests, journal: Path, tmp_path: Path
) -> None:
    listed = tmp_path / "train" / "shop.jsonl"
    made = [row for row in rows_of(journal) if "issue" in row]
    assert write_task_file(journal, listed, "shop", "own") == len(made)
    head, *rows = rows_of(listed)
    tasks, scans = rows[: len(made)], rows[len(made) :]
    assert (head["format"], head["repository"], head["kind"], head["digest"]) == (1, "shop", "own", shop.digest)
    assert tasks == made
    assert [row["scanned"] for row in scans] == list(shop.sources)
    (tmp_path / "empty.jsonl").write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(UsageError, match="holds no finished task: go on with making"):
        write_task_file(tmp_path / "empty.jsonl", listed, "shop", "own")


@pytest.mark.slow
def test_a_wrong_cell_of_a_table_is_found(
    shop: SourcesWithTests, runner: Runner, journal: Path, tmp_path: Path
) -> None:
    listed, source = tmp_path / "shop.jsonl", TaskSource(shop.root, tmp_path / "shop.jsonl")

    def checked(count: int, **changed: object) -> list[OutcomeDifference]:
        head, row, *rows = rows_of(right)
        rows = [{**head, **changed}, {**row, **changed}, *(each for each in rows if "scanned" in each)]
        listed.write_text("".join(f"{json.dumps(each)}\n" for each in rows), encoding="utf-8")
        return [each for each in recheck(source, count, random.Random(2), in_forks(runner)) if each is not None]

    right = tmp_path / "right.jsonl"
    write_task_file(journal, right, "shop", "own")
    assert checked(12) == []
    task = rows_of(right)[1]
    wrong = [outcome ^ 1 for outcome in unpack(task["table"])]  # type: ignore[arg-type]
    found = checked(6, table=pack(wrong))
    assert 3 <= len(found) <= 6
    assert "fails there alone" in str(found[0])
    assert {each.number for each in checked(25, failing="1")} == {NOTHING}
    with pytest.raises(UsageError, match="lists other edits than this version does: make its tasks again"):
        checked(1, edits_digest="0")
    with pytest.raises(UsageError, match=r"the restoring edit of .* does not restore"):
        checked(1, restoring=(int(str(task["restoring"])) + 1) % len(wrong))
    with pytest.raises(UsageError, match="are not those of"):
        checked(1, digest="0" * 64)


def test_repositories_are_of_one_split_and_pinned() -> None:
    for name, each in change_repositories().items():
        assert each.split in ("train", "validation", "test")
        assert (each.pin is None) == (SERVICES / name).is_dir() == (each.kind == "own")
        if name in catalogue():
            assert each.split == catalogue()[name].split
    assert not {"pip", "setuptools", "pytest", "pluggy", "iniconfig", "packaging", "pygments"} & set(
        change_repositories()
    )
    assert {*pinned_for_changes()} == {name for name, each in change_repositories().items() if each.pin} - {
        *catalogue()
    }
    with pytest.raises(UsageError, match="unknown repository 'gift-card': choose one of gift-cards"):
        change_repository("gift-card")


def test_sharpness_counts_what_is_noticed(journal: Path) -> None:
    counts = sharpness(rows_of(journal))
    assert counts["listed"] >= counts["covered"] >= counts["noticed"] >= counts["by two"] > 0
    assert counts["noticed"] < counts["listed"]  # such as `>= 0` for `> 0`


def test_outcomes_are_packed_and_unpacked() -> None:
    outcomes = [0, 1 << 200, 7, 0, 7]
    assert json.loads(json.dumps(pack(outcomes))) == {"outcomes": ["0", f"{1 << 200:x}", "7"], "edits": [0, 1, 2, 0, 2]}
    assert unpack(pack(outcomes)) == outcomes


def test_a_repository_without_tests_or_sources_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n"})
    with pytest.raises(UsageError, match="name the folder with the tests"):
        open_tested(tmp_path)
    write(tmp_path, {"only/tests/test_a.py": "def test_a(): pass\n", "only/conftest.py": "", "only/.venv/b.py": ""})
    with pytest.raises(UsageError, match="no Python sources outside tests"):
        open_tested(tmp_path / "only")
    write(tmp_path, {"bad/tests/test_a.py": "", "bad/a.py": b"x = '\xff'\n"})
    with pytest.raises(UsageError, match=r"no Python sources .*a\.py: it is not UTF-8"):
        open_tested(tmp_path / "bad")


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", [path for path in sorted(SERVICES.iterdir()) if (path / "README.md").exists()], ids=lambda path: path.name
)
def test_a_service_is_of_the_size_and_its_tests_pass_in_any_order(folder: Path) -> None:
    subject = open_tested(folder)
    assert 400 <= sum(text.count("\n") for text in subject.sources.values()) <= 800
    tests, left_out = usable(subject)
    assert (len(tests) >= 40, left_out) == (True, {})
    banned = ("import random", "datetime.now", "date.today", "time.time", "socket", "urllib", "subprocess")
    every = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    assert not [word for word in banned for text in every if word in text]
    assert (folder / "README.md").read_text(encoding="utf-8").startswith(f"# {folder.name}\n")


def test_reading_tasks_writes_nothing(journal: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(journal.read_bytes()[:-9])  # a line that a killed making, or a user's editor, left unfinished
    before = cut.read_bytes()
    assert read_journal(cut) == rows_of(journal)[:-1]
    assert cut.read_bytes() == before
    packed = change_repository("roast-plan").listed
    before = packed.read_bytes()
    assert read_journal(packed)[0]["repository"] == "roast-plan"
    assert packed.read_bytes() == before
