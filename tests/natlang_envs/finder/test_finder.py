"""The index behind `natlang explore`, over real folders."""

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
from natlang_envs.finder import FileIndex, find, postings, ranking
from natlang_envs.finder.definitions import definitions
from natlang_envs.finder.documents import END, kind_of, read_document, read_text
from natlang_envs.finder.postings import Postings, TermHits
from natlang_envs.finder.ranking import words_alike
from natlang_envs.repository.tree import Repository, open_repository
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


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return write(tmp_path / "bank", FILES)


@pytest.fixture
def make(bank: Path) -> Make:
    return lambda: FileIndex(open_repository(bank, again=True))


def paths(index: FileIndex, question: str, **arguments: object) -> list[str]:
    return [each.path for each in find(index, question, **arguments).files]  # type: ignore[arg-type]


def test_the_file_and_its_line_are_found_by_pieces_of_its_names(make: Make) -> None:
    best = find(make(), "At which rate does an account pay interest?").files[0]
    assert (best.path, best.kind) == ("bank/accounts.py", "code")
    assert [each.number for each in best.lines] == [1, 2]
    assert best.lines[1].text == "def payInterest(self, rate):"


def test_an_index_that_is_written_in_parts_holds_the_same(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, index = make().postings, Postings(None)
    monkeypatch.setattr(postings, "_AT_ONCE", 1)
    repository = open_repository(make().repository.path, again=True)
    index.update([], [read_document(repository, path) for path in repository.files])
    for term in ("ledger", ":ledger", "~writeledger", "=write_ledger", "/ledger", "interest", "inter"):
        found = [TermHits(*map(tuple, each.hits(term))) for each in (whole, index)]
        assert found[0] == found[1], term
        assert found[0].files or term == "inter"
    assert index.words_in.tolist() == whole.words_in.tolist()


def test_the_words_of_a_file_are_the_same_beside_letters_of_other_scripts(tmp_path: Path) -> None:
    text = "total_tax(netPrice) -> grossPrice2\x0b# 50%\x1c"
    write(tmp_path, {"a.py": text, "b.py": f"{text}\n\u00bb\u00e9t\u00e9\u00ab", "c.py": f"{text}\0".encode("utf-16")})
    repository = open_repository(tmp_path)
    words = ["total", "tax", "netPrice", "grossPrice2", "50"]
    found = {path: read_document(repository, path).words for path in repository.files}
    assert found == {"a.py": [*words, END], "b.py": [*words, "\u00e9t\u00e9", END], "c.py": [*words, END]}


def test_a_question_reads_each_file_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    index = make()

    def noted(repository: Repository, path: str) -> str:
        read.append(path)
        return read_text(repository, path)

    monkeypatch.setattr(sys.modules["natlang_envs.finder.find"], "read_text", noted)
    assert len(find(index, "ledger").files) == len(read) == len(set(read)) > 1


def test_the_lines_shown_are_where_the_words_meet_and_the_second_adds_to_the_first(tmp_path: Path) -> None:
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
    (found,) = find(FileIndex(open_repository(folder)), "delay of a retry, and its limit").files
    assert [each.number for each in found.lines] == [13, 14]


def test_source_files_stand_beside_pages_and_tests_that_fit_better(make: Make) -> None:
    found = find(make(), "is interest paid once a month on savings", top=1).files
    assert [each.path for each in found] == ["docs/interest.md", "bank/accounts.py"]


def test_kinds_can_be_asked_for(make: Make) -> None:
    assert paths(make(), "interest on savings", kind="docs") == ["docs/interest.md"]
    assert paths(make(), "write the ledger", kind="code") == ["bank/ledger.py"]


def test_what_changed_is_read_again_and_nothing_else(make: Make, bank: Path) -> None:
    assert paths(make(), "overdraft") == []
    write(bank, {"bank/ledger.py": "def overdraft_limit(): ...\n", "bank/new.py": "OVERDRAFT_FEE = 25\n"})
    (bank / "docs/interest.md").unlink()
    read: list[int] = []
    index = FileIndex(open_repository(bank, again=True), tell=lambda _done, total: read.append(total))
    assert paths(index, "overdraft limit")[:2] == ["bank/ledger.py", "bank/new.py"]
    assert paths(index, "csv") == []
    assert "docs/interest.md" not in paths(index, "savings interest")
    assert read == [2, 2]


def test_a_second_index_reads_no_file(make: Make, bank: Path) -> None:
    make()
    read: list[int] = []
    FileIndex(open_repository(bank), tell=lambda done, _total: read.append(done))
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
    other = folder.with_name("1")
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


def test_old_indexes_are_forgotten(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natlang_envs.finder.index.KEPT", 2)
    for number in range(4):
        folder = write(tmp_path / str(number), {"a.py": "answer = 42\n"})
        FileIndex(open_repository(folder))
        time.sleep(0.02)
    assert len(list(cache.glob("finder/*"))) == 2


def _hold(folder: str, held, free) -> None:  # type: ignore[no-untyped-def]
    """Hold the lock of a writer in another process."""
    writer = sqlite3.connect(f"{folder}/index.sqlite", isolation_level=None)
    writer.execute("begin immediate")
    held.set()
    free.wait(60)
    del writer


def test_beside_another_writer_the_index_is_used_as_it_was_and_says_so(make: Make, bank: Path, cache: Path) -> None:
    make()
    (folder,) = [each for each in cache.glob("finder/*/*") if each.is_dir()]
    context = get_context("spawn")
    held, free = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(folder), held, free))
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


def test_two_that_index_at_once_leave_each_other_alone(bank: Path) -> None:
    beside: list[FileIndex] = []

    def tell(_done: int, _total: int) -> None:
        if not beside:
            beside.append(FileIndex(open_repository(bank)))

    index = FileIndex(open_repository(bank, again=True), tell=tell)
    assert paths(index, "write the ledger") == paths(beside[0], "write the ledger") != []
    read: list[int] = []
    FileIndex(open_repository(bank), tell=lambda done, _total: read.append(done))
    assert read == []


def test_two_that_only_ask_say_nothing_of_each_other(make: Make, cache: Path) -> None:
    make()
    (folder,) = cache.glob("finder/*")
    with alone(folder):
        index = make()
    assert (index.note, paths(index, "write the ledger")[0]) == ("", "bank/ledger.py")


def _index_with_little_room(folder: Path, found) -> None:  # type: ignore[no-untyped-def]
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))  # bytes of a file: as if the disk were full
    found.put(paths(FileIndex(open_repository(folder)), "write the ledger"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_disk_that_is_full_costs_only_time(bank: Path) -> None:
    context = get_context("spawn")
    found = context.Queue()
    other = context.Process(target=_index_with_little_room, args=(bank, found))
    other.start()
    assert found.get(timeout=60)[0] == "bank/ledger.py"
    other.join(30)


@pytest.mark.parametrize("again", [False, True])
def test_an_interrupted_index_is_made_by_the_next_question(bank: Path, again: bool) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    if again:
        FileIndex(open_repository(bank))
        write(bank, {path: f"{content}\n# changed\n" for path, content in FILES.items()})
    with pytest.raises(KeyboardInterrupt):
        FileIndex(open_repository(bank, again=True), tell=interrupt)
    assert paths(FileIndex(open_repository(bank)), "write the ledger")[0] == "bank/ledger.py"


def test_a_writer_that_was_killed_leaves_a_usable_index(make: Make, bank: Path, cache: Path) -> None:
    make()
    (folder,) = [each for each in cache.glob("finder/*/*") if each.is_dir()]
    context = get_context("spawn")
    held, free = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(folder), held, free))
    other.start()
    assert held.wait(60)
    other.kill()
    other.join(30)
    write(bank, {"bank/new.py": "OVERDRAFT_FEE = 25\n"})
    assert paths(make(), "overdraft") == ["bank/new.py"]


def test_odd_files_are_no_trouble(tmp_path: Path) -> None:
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
    index = FileIndex(open_repository(folder))
    assert set(paths(index, "where is the treasure?", top=9)) == {
        "minified.js",
        "sixteen.txt",
        "latin.txt",
        "with space and 'quote\".md",
    }
    assert paths(index, "где сокровище?") == ["сокровище.py"]
    assert paths(index, "宝物") == ["宝物/場所.py"]
    for each in find(index, "treasure island", top=9).files:
        assert all(len(line.text) <= 161 for line in each.lines)
        assert each.path != "long.txt" or {line.text for line in each.lines} == {"island"}


def test_a_file_that_changes_while_it_is_indexed_is_read_by_the_next_question(bank: Path) -> None:
    repository = open_repository(bank, again=True)
    write(bank, {"bank/ledger.py": "def overdraft(): ...  # longer than before, by far\n" * 9})
    index = FileIndex(repository)
    assert paths(index, "which rate does an account have")[0] == "bank/accounts.py"
    assert paths(FileIndex(open_repository(bank, again=True)), "overdraft") == ["bank/ledger.py"]


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


def test_wrong_arguments_are_refused(make: Make) -> None:
    with pytest.raises(UsageError, match="unknown kind 'doc': choose one of docs"):
        find(make(), "ledger", kind="doc")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at least 1"):
        find(make(), "ledger", top=0)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> FileIndex:
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATLANG_CACHE", str(folder / "cache"))
        return FileIndex(open_repository(write(folder / "bank", FILES)))


@given(text=st.text(max_size=200))
def test_any_text_is_a_question(shared: FileIndex, text: str) -> None:
    if telling_words(text):
        assert all(each.share > 0 for each in find(shared, text).files)
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


def test_the_cache_is_small(make: Make, cache: Path) -> None:
    make()
    assert sum(each.stat().st_size for each in cache.rglob("*") if each.is_file()) < 400_000
    assert json.loads(next(cache.rglob("files.json")).read_bytes()).keys() == FILES.keys()


def test_a_name_finds_its_definition_before_those_who_use_it(tmp_path: Path) -> None:
    uses = "from a import run_text\n\n\ndef test_it():\n    run_text(order=3)  # run text run text\n" * 9
    files: dict[str, bytes | str] = {
        "a.py": "def run_text(order):\n    pass\n",
        "b.py": uses,
        "tests/test_a.py": uses,
        "docs/run_text.md": "# run_text\nrun_text runs a text. The text is run.\n",
        "cli.py": "parser.add_argument('--dry-run')\nLAST_RUN = 3\n",
        "go/main.go": "package main\n\nfunc (s *Server) HandleText(order int) {\n}\n",
        "web/app.js": "const handleOrder = async (order) => {\n}\n",
        "settings.toml": "[tool.shop]\ntext_order = 3\n",
    }
    index = FileIndex(open_repository(write(tmp_path / "r", files)))
    for question, path in [
        ("run_text", "a.py"),
        ("where is run_text defined?", "a.py"),
        ("`runText`", "a.py"),
        ("--dry-run", "cli.py"),
        ("LAST_RUN", "cli.py"),
        ("HandleText", "go/main.go"),
        ("handleOrder", "web/app.js"),
        ("tool.shop.text_order", "settings.toml"),
    ]:
        assert paths(index, question)[0] == path, question
    assert find(index, "run_text").files[0].lines[0].text == "def run_text(order):"


def test_copies_of_one_text_take_one_place(tmp_path: Path) -> None:
    readme = "".join(f"Line {number} of the guide to brewing coffee.\n" for number in range(20))
    files: dict[str, bytes | str] = {
        "PKG-INFO": f"Metadata-Version: 2.4\nName: coffee\n{readme}",
        "coffee.egg-info/PKG-INFO": f"Metadata-Version: 2.4\nName: coffee\n{readme}",
        "README.md": readme,
        "coffee/brew.py": "def brew(): ...  # brewing coffee\n",
        "coffee/grind.py": "# before brewing\n",
    }
    index = FileIndex(open_repository(write(tmp_path / "r", files)))
    assert set(paths(index, "guide to brewing coffee")) == {"README.md", "coffee/brew.py", "coffee/grind.py"}


def test_how_many_of_the_words_a_file_meets_counts(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "a.py": "text = 1\n" * 50,
        "b.py": "# wrap the words of a text at the width of the terminal\n" + "pass\n" * 50,
        **{f"{number}.py": "width = 1\nterminal = 2\n" for number in range(9)},
    }
    index = FileIndex(open_repository(write(tmp_path / "r", files)))
    assert paths(index, "wrap text at the terminal width")[0] == "b.py"


def test_words_that_mean_the_same_meet(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "a.py": "def deflate(data): ...\n",
        "b.py": "def launch(data): ...\n",
        "c.py": "print(data)\n",
    }
    index = FileIndex(open_repository(write(tmp_path / "r", files)))
    assert paths(index, "where is it compressed?")[0] == "a.py"
    assert paths(index, "where is it started?")[0] == "b.py"


def test_the_table_of_words_that_mean_the_same_is_symmetric_and_has_no_line_twice() -> None:
    alike = words_alike()
    assert all(alike[other][word] == value for word, others in alike.items() for other, value in others.items())
    lines = (Path(ranking.__file__).parent / "alike.txt").read_text().splitlines()
    assert len(lines) == len(set(lines))
    assert all(len(set(line.split())) > 1 and line == line.lower() for line in lines[1:])


def test_a_chance_is_high_for_a_name_and_nothing_without_a_file(make: Make) -> None:
    assert find(make(), "write_ledger").chance > 0.9
    assert find(make(), "write_ledger").sure
    assert find(make(), "overdraft of strangers") == ((), 0.0)
    assert not find(make(), "overdraft of strangers").sure


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "X: int = 1\nif X:\n    def f(): y = 1\nclass A:\n    z = 2\n    async def g(): ...\n", "X f A z g"),
        ("a.py", "@click.option('-v', '--verbose/--quiet')\ndef main(): ...\n", "--verbose --quiet main"),
        ("a.py", "print 'python 2'\ndef old(): pass\n", "old"),
        ("a.c", "static int\nread_all(FILE *f)\n{\n  if (f)\n    close(f);\n}\n#define LIMIT 3\n", "read_all LIMIT"),
        ("a.rs", "pub(crate) fn parse<T>(x: T) {}\nimpl A {}\npub struct B;\n", "parse B"),
        ("A.java", "public class A {\n  public static List<B> readAll(int x) {\n", "A readAll"),
        ("a.ts", "export async function load() {}\nclass B {\n  render(x) {\n  if (x) {\n", "load B render"),
        ("a.sh", "start_all() {\n", "start_all"),
        ("a.yaml", "server:\n  port: 3\n", "server port"),
        ("a.rst", "Title\n=====\ntext\n", "Title"),
        ("a.bin", "def f(): ...\n", ""),
    ],
)
def test_definitions(path: str, text: str, names: str) -> None:
    assert [name for _, name in definitions(path, text, text.splitlines())] == names.split()


def test_what_a_string_of_several_lines_says_is_no_definition() -> None:
    text = (
        'def a():\n    """\n    def b(): ...\n    """\n    x = 1\n\n\nL = ["--no-option"]\nclass C:\n    d: int = 3\n'
    )
    assert definitions("a.py", text, text.splitlines()) == [(0, "a"), (7, "L"), (8, "C"), (9, "d")]
