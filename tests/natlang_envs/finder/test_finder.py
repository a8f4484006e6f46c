"""The index behind `natlang explore`, over real folders, with tantivy and with SQLite."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from natlang_envs.files import alone
from natlang_envs.finder import FileIndex, find
from natlang_envs.finder.documents import kind_of
from natlang_envs.finder.engines import ENGINES, engine_name
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.words import pieces_of, telling_words
from tests.support.folders import write

FILES: dict[str, bytes | str] = {
    "bank/accounts.py": "class SavingsAccount:\n    def payInterest(self, rate):\n        return self.balance * rate\n",
    "bank/ledger.py": "import csv\n\n\ndef write_ledger(rows):\n    '''Write the ledger as CSV.'''\n",
    "docs/interest.md": "# Interest\nInterest is paid once a month on savings.\n",
    "tests/test_ledger.py": "def test_ledger():\n    assert write_ledger([]) is None\n",
}
Make = Callable[[], FileIndex]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("NATLANG_CACHE", str(folder))
    return folder


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "tantivy":
        pytest.importorskip("tantivy")
    return request.param


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return write(tmp_path / "bank", FILES)


@pytest.fixture
def make(bank: Path, engine: str) -> Make:
    return lambda: FileIndex(open_repository(bank, again=True), engine)


def paths(index: FileIndex, question: str, **arguments: object) -> list[str]:
    return [each.path for each in find(index, question, **arguments)]  # type: ignore[arg-type]


def test_the_file_and_its_line_are_found_by_pieces_of_its_names(make: Make) -> None:
    best = find(make(), "At which rate does an account pay interest?")[0]
    assert (best.path, best.kind, best.fits) == ("bank/accounts.py", "code", True)
    assert [each.number for each in best.lines] == [1, 2]
    assert best.lines[1].text == "def payInterest(self, rate):"


def test_the_lines_shown_are_where_the_words_meet_and_the_second_adds_to_the_first(tmp_path: Path, engine: str) -> None:
    lines = [
        "retry",
        "",
        "",
        "",
        "",
        "",
        "def wait():",
        "    # the delay of a retry",
        "",
        "",
        "",
        "",
        "retry the delay",
        "limit",
    ]
    folder = write(tmp_path / "r", {"a.py": "\n".join(lines)})
    (found,) = find(FileIndex(open_repository(folder), engine), "delay of a retry, and its limit")
    assert [each.number for each in found.lines] == [13, 14]


def test_source_files_stand_beside_pages_and_tests_that_fit_better(make: Make) -> None:
    found = find(make(), "is interest paid once a month on savings", top=1)
    assert [each.path for each in found] == ["docs/interest.md", "bank/accounts.py"]


def test_kinds_can_be_asked_for(make: Make) -> None:
    assert paths(make(), "interest on savings", kind="docs") == ["docs/interest.md"]
    assert paths(make(), "write the ledger", kind="code") == ["bank/ledger.py"]


def test_what_changed_is_read_again_and_nothing_else(make: Make, bank: Path, engine: str) -> None:
    assert paths(make(), "overdraft") == []
    write(bank, {"bank/ledger.py": "def overdraft_limit(): ...\n", "bank/new.py": "OVERDRAFT_FEE = 25\n"})
    (bank / "docs/interest.md").unlink()
    read: list[int] = []
    index = FileIndex(open_repository(bank, again=True), engine, tell=lambda _done, total: read.append(total))
    assert paths(index, "overdraft limit") == ["bank/ledger.py", "bank/new.py"]
    assert paths(index, "csv") == []
    assert "docs/interest.md" not in paths(index, "savings interest")
    assert read == [2, 2]


def test_a_second_index_reads_no_file(make: Make, bank: Path, engine: str) -> None:
    make()
    read: list[int] = []
    FileIndex(open_repository(bank), engine, tell=lambda done, _total: read.append(done))
    assert read == []


def test_many_changes_leave_nothing_behind(make: Make, bank: Path) -> None:
    for number in range(12):
        write(bank, {"bank/ledger.py": f"def word{number}(): ...\n"})
        index = make()
        assert paths(index, f"word{number}") == ["bank/ledger.py"]
        assert paths(index, f"word{number - 1}") == []


@pytest.mark.parametrize("harm", ["no marks", "half marks", "empty", "torn", "foreign"])
def test_a_damaged_cache_is_made_anew(make: Make, cache: Path, harm: str) -> None:
    expected = paths(make(), "interest on savings")
    (folder,) = [each for each in cache.glob("finder/*/*") if each.is_dir()]
    for each in [path for path in folder.iterdir() if path.is_file()]:
        if each.name == "files.json":
            if harm == "no marks":
                each.unlink()
            elif harm == "half marks":
                each.write_bytes(each.read_bytes()[:20])
        elif harm == "empty":
            each.write_bytes(b"")
        elif harm == "torn":
            each.write_bytes(each.read_bytes()[: each.stat().st_size // 2])
        elif harm == "foreign":
            each.write_bytes(b"something else entirely\n" * 400)
    assert paths(make(), "interest on savings") == expected


def test_an_index_of_another_version_goes(make: Make, cache: Path) -> None:
    make()
    (folder,) = [each for each in cache.glob("finder/*/*") if each.is_dir()]
    other = folder.with_name("tantivy-0.0.1-1")
    folder.rename(other)
    make()
    assert folder.is_dir()
    assert not other.exists()


def test_a_cache_that_cannot_be_written_costs_only_time(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "file"))
    assert paths(make(), "write the ledger")[0] == "bank/ledger.py"


def test_old_indexes_are_forgotten(tmp_path: Path, cache: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natlang_envs.finder.index.KEPT", 2)
    for number in range(4):
        folder = write(tmp_path / str(number), {"a.py": "answer = 42\n"})
        FileIndex(open_repository(folder), engine)
        time.sleep(0.02)
    assert len(list(cache.glob("finder/*"))) == 2


def _hold(folder: str, engine: str, held, free) -> None:  # type: ignore[no-untyped-def]
    """Hold the lock of a writer in another process."""
    if engine == "tantivy":
        import tantivy

        writer = tantivy.Index.open(folder).writer(heap_size=15_000_000, num_threads=1)
    else:
        writer = sqlite3.connect(f"{folder}/index.sqlite", isolation_level=None)
        writer.execute("begin immediate")
    held.set()
    free.wait(60)
    del writer


def test_beside_another_writer_the_index_is_used_as_it_was_and_says_so(
    make: Make, bank: Path, cache: Path, engine: str
) -> None:
    make()
    (folder,) = [each for each in cache.glob("finder/*/*") if each.is_dir()]
    context = get_context("spawn")
    held, free = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(folder), engine, held, free))
    other.start()
    try:
        assert held.wait(60)
        write(bank, {"bank/new.py": "OVERDRAFT_FEE = 25\n"})
        index = make()
        assert "Another process" in index.note
        assert paths(index, "write the ledger")[0] == "bank/ledger.py"
        assert paths(index, "overdraft") == []
    finally:
        free.set()
        other.join(30)
    assert paths(make(), "overdraft") == ["bank/new.py"]


def test_two_that_index_at_once_leave_each_other_alone(bank: Path, engine: str) -> None:
    beside: list[FileIndex] = []

    def tell(_done: int, _total: int) -> None:
        if not beside:
            beside.append(FileIndex(open_repository(bank), engine))

    index = FileIndex(open_repository(bank, again=True), engine, tell=tell)
    assert paths(index, "write the ledger") == paths(beside[0], "write the ledger") != []
    read: list[int] = []
    FileIndex(open_repository(bank), engine, tell=lambda done, _total: read.append(done))
    assert read == []


def test_two_that_only_ask_say_nothing_of_each_other(make: Make, cache: Path) -> None:
    make()
    (folder,) = cache.glob("finder/*")
    with alone(folder):
        index = make()
    assert (index.note, paths(index, "write the ledger")[0]) == ("", "bank/ledger.py")


def _index_with_little_room(folder: Path, engine: str, found) -> None:  # type: ignore[no-untyped-def]
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))  # bytes of a file: as if the disk were full
    found.put(paths(FileIndex(open_repository(folder), engine), "write the ledger"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_disk_that_is_full_costs_only_time(bank: Path, engine: str) -> None:
    context = get_context("spawn")
    found = context.Queue()
    other = context.Process(target=_index_with_little_room, args=(bank, engine, found))
    other.start()
    assert found.get(timeout=60)[0] == "bank/ledger.py"
    other.join(30)


@pytest.mark.parametrize("again", [False, True])
def test_an_interrupted_index_is_made_by_the_next_question(bank: Path, engine: str, again: bool) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    if again:
        FileIndex(open_repository(bank), engine)
        write(bank, {path: f"{content}\n# changed\n" for path, content in FILES.items()})
    with pytest.raises(KeyboardInterrupt):
        FileIndex(open_repository(bank, again=True), engine, tell=interrupt)
    assert paths(FileIndex(open_repository(bank), engine), "write the ledger")[0] == "bank/ledger.py"


def test_a_writer_that_was_killed_leaves_a_usable_index(make: Make, bank: Path, cache: Path, engine: str) -> None:
    make()
    (folder,) = [each for each in cache.glob("finder/*/*") if each.is_dir()]
    context = get_context("spawn")
    held, free = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(folder), engine, held, free))
    other.start()
    assert held.wait(60)
    other.kill()
    other.join(30)
    write(bank, {"bank/new.py": "OVERDRAFT_FEE = 25\n"})
    assert paths(make(), "overdraft") == ["bank/new.py"]


def test_odd_files_are_no_trouble(tmp_path: Path, engine: str) -> None:
    folder = write(
        tmp_path / "odd",
        {
            "empty.py": "",
            "binary.bin": b"\0" * 5_000 + b"treasure",
            "minified.js": "var treasure=1;" * 20_000,
            "long.txt": "island\n" * 150_000 + "treasure\n",
            "sixteen.txt": "a hidden treasure".encode("utf-16"),
            "latin.txt": "Sch\xe4tze sind treasure".encode("latin-1"),
            "сокровище.py": "сокровище = 1\n",
            "宝物/場所.py": "宝物 = 1\n",
            "with space and 'quote\".md": "treasure map\n",
        },
    )
    index = FileIndex(open_repository(folder), engine)
    assert set(paths(index, "where is the treasure?", top=9)) == {
        "minified.js",
        "sixteen.txt",
        "latin.txt",
        "with space and 'quote\".md",
    }
    assert paths(index, "где сокровище?") == ["сокровище.py"]
    assert paths(index, "宝物") == ["宝物/場所.py"]
    for each in find(index, "treasure island", top=9):
        assert all(len(line.text) <= 161 for line in each.lines)
        assert each.path != "long.txt" or {line.text for line in each.lines} == {"island"}


def test_a_file_that_changes_while_it_is_indexed_is_read_by_the_next_question(bank: Path, engine: str) -> None:
    repository = open_repository(bank, again=True)
    write(bank, {"bank/ledger.py": "def overdraft(): ...  # longer than before, by far\n" * 9})
    index = FileIndex(repository, engine)
    assert paths(index, "which rate does an account have")[0] == "bank/accounts.py"
    assert paths(FileIndex(open_repository(bank, again=True), engine), "overdraft") == ["bank/ledger.py"]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("who is it?", "no word to look for"),
        (" \n", "no word to look for"),
        ("?!" * 9, "no word"),
        ("word " * 2_001, "10,005"),
    ],
)
def test_a_question_without_words_or_without_end_is_refused(make: Make, question: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        find(make(), question)


def test_a_question_of_4000_characters_is_answered(make: Make) -> None:
    assert paths(make(), ("ledger rows written as csv " * 150)[:4_000])[0] == "bank/ledger.py"


def test_wrong_arguments_are_refused(make: Make, bank: Path) -> None:
    with pytest.raises(UsageError, match="unknown kind 'doc': choose one of docs"):
        find(make(), "ledger", kind="doc")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at least 1"):
        find(make(), "ledger", top=0)
    with pytest.raises(UsageError, match="unknown engine 'tantivi': choose one of tantivy"):
        FileIndex(open_repository(bank), "tantivi")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> FileIndex:
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATLANG_CACHE", str(folder / "cache"))
        return FileIndex(open_repository(write(folder / "bank", FILES)), "sqlite")


@given(text=st.text(max_size=200))
def test_any_text_is_a_question(shared: FileIndex, text: str) -> None:
    if telling_words(text):
        assert all(each.score > 0 for each in find(shared, text))
    else:
        with pytest.raises(UsageError, match="no word"):
            find(shared, text)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/a.py", "code"),
        ("a.rs", "code"),
        ("tests/a.py", "tests"),
        ("src/a_test.go", "tests"),
        ("web/a.spec.ts", "tests"),
        ("docs/conf.py", "docs"),
        ("README", "docs"),
        ("man/git.1", "docs"),
        ("pyproject.toml", "other"),
        ("latest/contest.py", "code"),
    ],
)
def test_kinds_of_files(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_words() -> None:
    assert telling_words("Where's the HTTPServer's RetryPolicy, isn't it?") == (
        "httpserver",
        "http",
        "server",
        "retrypolicy",
        "retry",
        "policy",
        "isn",
    )
    assert pieces_of("parse_args(maxRetries)") == ["pars", "arg", "maxretri", "max", "retri"]


def test_tantivy_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natlang_envs.finder.engines.find_spec", lambda _name: None)
    assert engine_name() == "sqlite"


def test_the_cache_is_small(make: Make, cache: Path) -> None:
    make()
    assert sum(each.stat().st_size for each in cache.rglob("*") if each.is_file()) < 400_000
    assert json.loads(next(cache.rglob("files.json")).read_bytes()).keys() == FILES.keys()
