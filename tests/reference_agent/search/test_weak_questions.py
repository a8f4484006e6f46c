"""Weak questions: from tiny repositories, and from an archive that an index on loopback serves."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.catalogue import Entry, catalogue
from natlang_envs.autoexplore.dataset.package_index import Index, IndexSettings
from natlang_envs.autoexplore.repository.tree import open_repository
from reference_agent.cli import app
from reference_agent.search import weak
from reference_agent.search.weak import Sources, make_questions, read_questions, read_sources
from reference_agent.search.weak import questions as weak_questions
from reference_agent.search.weak import sources as weak_sources
from reference_agent.search.weak.questions import questions_of
from reference_agent.search.weak.sentences import Sentence, sentences_of
from reference_agent.search.weak.wording import question_of
from tests.natlang_envs.autoexplore import package_index
from tests.natlang_envs.autoexplore.package_index import NAME, TOP, VERSION, add, archive, sha256

FILES = {
    "docs/brewing.md": "# Brewing\n\nTo keep the leaves from turning bitter, pour the water at eighty degrees.\n\n"
    "```\nThis is code that nobody should ask about here.\n```\n\n"
    "If the kettle whistles before the cups are warm, wait for another minute.\n",
    "docs/shelf.rst": "Shelf\n=====\n\nYou can stack the saucers on a wooden tray by turning every second one.\n\n"
    ".. code-block:: python\n\n   The saucers are never shown in a literal block of text.\n\n"
    "Every saucer must be dried with a linen cloth before the tray is closed.\n",
    "CHANGES.md": "# 1.2\n\n- Fixed a leak between the spout and the painted porcelain lid.\n",
    "src/boil.py": """'''Heating.'''


def boil(litres):
    '''Measure the temperature of the copper kettle with two sensors.

    Args:
        litres: How much cold water there is.
    '''
    # The slower sensor is ignored because its battery drains during winter storms.
    return litres
""",
    "src/pour.py": """'''Pouring.'''


def pour(cups):
    '''Return True if every porcelain cup stands under the spout.'''
    return cups
""",
    "tests/test_boil.py": 'def test_boil():\n    """Test that copper kettles reject frozen milk bottles."""\n',
    "LICENSE": "Permission to brew strong black tea is granted to every guest.\n",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def anything_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny files hold few words beside their sentences."""
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weak_questions, "FIT", 0.0)
    monkeypatch.setattr(weak_questions, "SHARING", 9.0)


@pytest.fixture
def tea(tmp_path: Path) -> Path:
    return write(tmp_path / "tea", FILES)


@pytest.mark.parametrize(
    ("source", "text", "wanted"),
    [
        ("docstring", "Return True if every cup stands under the painted spout", "whether every cup stands under the"),
        (
            "docstring",
            "Measure the temperature of the copper kettle",
            r"measures? the temperature of the copper kettle",
        ),
        (
            "docstring",
            "Exception raised when the copper kettle boils dry",
            "exception is raised when the copper kettle",
        ),
        (
            "docstring",
            "This module keeps the recipes of strong herbal teas",
            "(module keeps|How do I keep|used to keep)",
        ),
        ("docstring", "Reads the label and prints the brewing time", "(What|Which code) reads the label and prints"),
        (
            "page",
            "To keep green leaves from turning bitter, pour slowly",
            "How (do|can) I keep green leaves from turning",
        ),
        ("page", "You can stack your saucers on a wooden tray by hand", "stack my saucers on a wooden tray[?]"),
        ("page", "If the kettle whistles before the cups are warm, wait", "What happens if the kettle whistles before"),
        (
            "page",
            "Use a linen cloth to clean delicate porcelain cups",
            "(How do I|use to) clean delicate porcelain cups",
        ),
        ("changes", "Fixed a leak between the spout and the painted lid", "(fixed|fix) a leak between the spout"),
        ("test", "Test that copper kettles reject frozen milk bottles", "that copper kettles reject frozen milk"),
    ],
)
def test_a_sentence_becomes_a_question(source: str, text: str, wanted: str) -> None:
    found = {
        question_of(Sentence(f"file{number}", source, 0, 9, text, first=True), "teapot")  # type: ignore[arg-type]
        for number in range(40)
    }
    assert len(found) > 1  # several wordings
    asked = [each for each in found if each and each.endswith("?")]
    assert asked
    assert all(re.search(wanted, each, re.I) for each in asked), asked


@pytest.mark.parametrize(
    "text",
    [
        "This is what the copper kettle measures below the painted spout",
        "They measure the temperature of every copper kettle in winter",
        "See the section above about warm porcelain and copper kettles",
        "Measure kettle_size with the copper sensors of every winter",
        "TODO measure the temperature of the copper kettle in winter",
        "Copyright of the copper kettle belongs to every winter guest",
        "Return the name of the file",
        "Measure the copper kettle = winter temperature of porcelain",
    ],
)
@pytest.mark.parametrize("source", ["docstring", "page", "comment"])
def test_poor_sentences_are_refused(source: str, text: str) -> None:
    assert question_of(Sentence("file", source, 0, 9, text, first=True), "teapot") is None  # type: ignore[arg-type]


def test_only_prose_is_read_and_spans_lead_to_it() -> None:
    found = {each.text: (path, each) for path, text in FILES.items() for each in sentences_of(path, text)}
    told = " ".join(found)
    assert "turning bitter" in told
    assert "linen cloth" in told
    for left_out in ("nobody should ask", "literal block", "cold water", "Permission", "Heating"):
        assert left_out not in told
    for text, (path, each) in found.items():
        raw = FILES[path][each.start : each.end]
        assert re.findall(r"\w+", raw) == re.findall(r"\w+", text)


def test_a_comment_over_two_lines_is_one_sentence() -> None:
    text = "x = 1\n# The kettle is never filled with\n# more than two litres.\ny = 2\n"
    (each,) = sentences_of("a.py", text)
    assert each.text == "The kettle is never filled with more than two litres"
    assert text[each.start : each.end] == "The kettle is never filled with\n# more than two litres."


@pytest.mark.parametrize(
    "text", ["def broken(:\n", "'''\n", "\x0c# a\n", "# Übergroße Kännchen sind\r\n# niemals leer.\r\n", ""]
)
def test_odd_files_do_no_harm(text: str) -> None:
    list(sentences_of("a.py", text))
    list(sentences_of("a.rst", text))
    list(sentences_of("a.c", text))


def test_questions_of_a_repository(tea: Path) -> None:
    questions = questions_of("tea", open_repository(tea))
    assert questions == questions_of("tea", open_repository(tea, again=True))
    assert {each.kind for each in questions} == {"code", "documentation", "other"}
    assert {path for each in questions for path in each.paths} == set(FILES) - {"LICENSE"}
    for each in questions:
        for path, start, end in each.spans:
            raw = (tea / path).read_bytes().decode()[start:end]
            assert re.findall(r"\w+", raw)[-3:] == re.findall(r"\w+", each.sentence)[-3:]


def test_a_sentence_of_several_files_names_all_of_them_or_is_dropped(tmp_path: Path) -> None:
    sentence = '"""Measure the temperature of the copper kettle with two sensors."""\n'
    two = write(tmp_path / "two", {f"part{number}.py": sentence for number in range(2)})
    (question,) = questions_of("two", open_repository(two))
    assert question.paths == ("part0.py", "part1.py")
    many = write(tmp_path / "many", {f"part{number}.py": sentence for number in range(4)})
    assert questions_of("many", open_repository(many)) == []


def test_questions_that_share_words_with_the_path_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_questions, "SHARING", 0.0)
    text = '"""Measure the temperature of the copper kettle with two sensors."""\n'
    found = questions_of("tea", open_repository(write(tmp_path / "tea", {"kettle.py": text})))
    assert found == []


def pinned(content: bytes, **changes: str) -> dict[str, Entry]:
    values = {"version": VERSION, "licence": "MIT", "about": "a teapot", "digest": "", "sha256": sha256(content)}
    return {NAME: Entry(NAME, split="train", files=0, **{**values, **changes})}  # type: ignore[arg-type]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_sources, "problem_of", lambda entry: None)


def with_tea(tar) -> None:
    for name, text in FILES.items():
        add(tar, f"{TOP}/{name}", text)


@pytest.mark.usefixtures("checked")
def test_a_pinned_distribution_is_fetched_and_the_data_has_a_card(tmp_path: Path) -> None:
    pytest.importorskip("unearth")
    with package_index.serve(archive(with_tea)) as served:
        index = Index(IndexSettings(indexes=(served.url,), timeout=5))
        made = make_questions(tmp_path / "out", Sources(pinned(served.content), (), library=False), lambda: index)
        asked = len(served.asked)
        again = make_questions(tmp_path / "again", Sources(pinned(served.content), (), library=False), lambda: index)
        assert len(served.asked) == asked
    assert made.file.read_bytes() == again.file.read_bytes()
    questions = read_questions(made.file)
    assert len(questions) == made.questions >= 5
    assert not made.missing
    card = (tmp_path / "out" / "README.md").read_text()
    assert hashlib.sha256(made.file.read_bytes()).hexdigest() in card
    assert f"| {NAME} | {VERSION} |" in card
    assert str(tmp_path) not in card
    folders = json.loads((tmp_path / "out" / "repositories.json").read_text())
    assert all((Path(folders[each.repository]) / path).is_file() for each in questions for path in each.paths)


def test_a_changed_archive_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("unearth")
    with package_index.serve(archive(with_tea)) as served:
        index = Index(IndexSettings(indexes=(served.url,), timeout=5))
        sources = Sources(pinned(served.content, sha256="0" * 64), ("tqdm",), library=False)
        made = make_questions(tmp_path / "out", sources, lambda: index)
    assert list(made.missing) == [NAME]
    assert "not the pinned" in made.missing[NAME]
    assert {each.repository for each in read_questions(made.file)} <= {"tqdm"}


def test_a_machine_without_network_uses_what_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("unearth")
    sources = Sources(pinned(b"") | {"other": pinned(b"")[NAME]}, ("tqdm", "no-such-distribution"), library=False)
    monkeypatch.setattr(weak, "read_sources", lambda: sources)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    result = CliRunner().invoke(app, ["data", "autoexplore", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Left out")]
    assert "no-such-distribution, teapot, other" in line
    card = (tmp_path / "out" / "README.md").read_text()
    assert "left out: no-such-distribution, other, teapot" in card


def test_no_source_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no source is on this machine"):
        make_questions(tmp_path, Sources({}, ("no-such-distribution",), library=False))


@pytest.mark.usefixtures("checked")
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("unearth")
    made_of: list[str] = []

    def made(name: str, repository: object) -> list[weak_questions.Weak]:
        made_of.append(name)
        return questions_of(name, repository)  # type: ignore[arg-type]

    monkeypatch.setattr(weak_questions, "questions_of", made)
    with package_index.serve(archive(with_tea)) as served:
        index = Index(IndexSettings(indexes=(served.url,), timeout=5))
        sources = Sources(pinned(served.content), ("tqdm",), library=False)

        def stop(name: str, done: int, total: int, count: int) -> None:
            if name == NAME:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            make_questions(tmp_path / "out", sources, lambda: index, stop)
        assert not (tmp_path / "out" / "questions.jsonl.gz").exists()
        make_questions(tmp_path / "out", sources, lambda: index)
        assert made_of == ["tqdm", NAME]
        whole = make_questions(tmp_path / "whole", sources, lambda: index)
    assert (tmp_path / "out" / "questions.jsonl.gz").read_bytes() == whole.file.read_bytes()


def test_the_list_of_sources() -> None:
    sources = read_sources()
    assert 15 <= len(sources.pinned) <= 40
    assert not {*sources.pinned, *sources.installed} & {*catalogue(), "hatchling", "pluggy", "parsel", "pytest-xdist"}
    for entry in sources.pinned.values():
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
        assert re.fullmatch("[0-9a-f]{64}", entry.digest)


@pytest.mark.parametrize("text", ["installed = ['pytest']", "source = 3", "[[source]]\nname = 'a'", "= =", ""])
def test_a_bad_list_of_sources_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sources.toml"
    if text:
        path.write_text(text)
    with pytest.raises(UsageError):
        read_sources(path)


@pytest.mark.parametrize("content", [b"", b"no gzip", b'{"id": 1}\n'])
def test_a_bad_file_of_questions_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "questions.jsonl.gz"
    if content:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="run reflect-rl data autoexplore"):
        read_questions(path)
