"""`natlang data label`: labels of one's own repository, made by a model behind a real endpoint on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.checks import label_problems, repository_problems
from natlang_envs.autoexplore.dataset.labels import Label, read_labels
from natlang_envs.autoexplore.dataset.llm_labels import files_to_ask, journal_of, make_labels
from natlang_envs.autoexplore.dataset.own_labels import read_own_labels
from natlang_envs.autoexplore.protocols import own_protocol
from natlang_envs.env import unwrap
from natlang_envs.evaluation import read_run
from natlang_envs.repository.tree import Repository, open_repository
from tests.natlang_envs.autoexplore.test_dataset_labels import FILES
from tests.support.chat_server import Body, Chat, completion, serve
from tests.support.folders import write
from tests.support.here import run_here

ROOT = Path(natlang_envs.__file__).parents[1]
GOOD = {
    "README.md": ("Who mends broken china of every size?", "A shop that mends teapots of every size."),
    "docs/care/cleaning.md": ("Is dish liquid bad for the material?", "Never use soap, it stays in the clay."),
    "docs/care/storing.md": ("How do I keep mould away when it is not in use?", "Keep the lid beside the pot"),
    "src/pour.py": ("How much liquid is one serving?", "# a cup is a fifth of a litre"),
    "data/prices/repairs/2031.csv": ("What does a new grip cost?", "handle,11.00"),
    "LICENSE": ("May I sell copies of it?", "Do with it what you like."),
}


def said(question: str, evidence: str, kind: str = "documentation") -> str:
    return json.dumps({"question": question, "answer": "As it says.", "evidence": evidence, "kind": kind})


def verdict(answers: bool, evidence: str = "") -> str:
    return json.dumps({"answers": answers, "why": "it is about something else", "evidence": evidence})


class Labeller:
    """A model that asks the prepared questions, and says of every other file that it does not answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails_after: int | None = None

    def answer(self, system: str, prompt: str) -> str:
        return self.reply(prompt)

    def reply(self, prompt: str) -> str:
        path = next(line for line in prompt.splitlines() if line.startswith("# The file ")).removeprefix("# The file ")
        if prompt.startswith("# Question"):
            return verdict(False)
        if self.fails_after is not None and len(self.asked) == self.fails_after:
            raise UsageError("the endpoint is gone")
        self.asked.append(path)
        return said(*GOOD[path])


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    write(tmp_path / "shop", FILES)
    return open_repository(tmp_path / "shop")


def hold(repository: Repository, labels: list[Label]) -> bool:
    return not [each for label in labels for each in (*label_problems(label), *repository_problems(repository, label))]


def test_every_file_is_asked_about_and_what_is_written_holds(shop: Repository, tmp_path: Path) -> None:
    model, out = Labeller(), tmp_path / "labels.jsonl"
    told: list[tuple[int, int]] = []
    labels, done = make_labels(shop, model, out, count=1, progress=lambda *counts: told.append(counts))
    assert read_labels(out) == labels
    assert [(label.question, label.targets) for label in labels] == [(GOOD[path][0], (path,)) for path in shop.files]
    assert hold(shop, labels)
    assert [each.path for each in done] == list(shop.files) == model.asked
    assert told == [(number, 6) for number in range(7)]


def test_a_stopped_run_goes_on_where_it_was(shop: Repository, tmp_path: Path) -> None:
    out, whole = tmp_path / "labels.jsonl", tmp_path / "whole.jsonl"
    make_labels(shop, Labeller(), whole, count=1)
    model = Labeller()
    model.fails_after = 2
    with pytest.raises(UsageError, match="the endpoint is gone"):
        make_labels(shop, model, out, count=1)
    # A kill between the two files: a label whose file the journal does not name.
    out.write_text(out.read_text() + whole.read_text().splitlines()[4] + "\n")
    model = Labeller()
    make_labels(shop, model, out, count=1)
    assert out.read_text() == whole.read_text()
    assert model.asked == list(shop.files[2:])


def test_what_does_not_hold_is_told_and_asked_again(shop: Repository, tmp_path: Path) -> None:
    prompts: list[str] = []

    class Careless(Labeller):
        def reply(self, prompt: str) -> str:
            if prompt.startswith("# Question"):
                return verdict(False)
            prompts.append(prompt)
            if "# What was wrong with it" in prompt:
                return said(*GOOD["LICENSE"])
            return "\n".join(
                [
                    "Here you are:",
                    said("Where is the LICENSE of this?", "Do with it"),
                    '{"question": 3}',
                    "{nonsense",
                    said("May I sell copies of it, please?", "this is nowhere in it", "prose"),
                ]
            )

    labels, done = make_labels(shop, Careless(), tmp_path / "labels.jsonl", count=1, limit=1)
    assert [label.question for label in labels] == [GOOD["LICENSE"][0]]
    assert hold(shop, labels)
    assert len(prompts) == 2
    assert "names a file: LICENSE" in prompts[1]
    assert prompts[1].count("no such JSON object") == 3
    assert done[0].dropped == ()


PIECES = {"answer": "one\u2028two\x85three\vfour", "kind": "documentation"}


@pytest.mark.parametrize(
    "form",
    [
        "@",
        "Here you are:\n```json\n@\n```",
        "[@]",
        '{"questions": [@]}',
        '<think>maybe {hmm} or\n{"question": 1}\n</think>\n@',
        "1. @\r\n",
        "NONE of the others, but @,",
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_labels_and_verdicts_in_every_form(shop: Repository, tmp_path: Path, form: str, indent: int | None) -> None:
    class Chatty(Labeller):
        def reply(self, prompt: str) -> str:
            given = json.loads(super().reply(prompt))
            given.update({name: each for name, each in PIECES.items() if name in given})
            text = json.dumps(given, indent=indent, ensure_ascii=False)
            return form.replace("@", text)

    labels, done = make_labels(shop, Chatty(), tmp_path / "labels.jsonl", count=1, limit=2)
    assert [label.question for label in labels] == [GOOD[path][0] for path in ("LICENSE", "README.md")]
    assert labels[0].answer == "one two three four"
    assert [each.dropped for each in done] == [(), ()]


@pytest.mark.parametrize(
    ("reply", "dropped"),
    [
        ("NONE", ()),
        ("**None.**", ()),
        ("I cannot do that.", ("no such JSON object: I cannot do that.",)),
        ("<think>hm", ("no such JSON object: the answer holds nothing but a thought",)),
        ('{"question": "cut', ('no such JSON object: {"question": "cut',)),
    ],
)
def test_an_answer_without_a_question_is_counted_as_dropped(
    shop: Repository, tmp_path: Path, reply: str, dropped: tuple[str, ...]
) -> None:
    class Silent(Labeller):
        def reply(self, prompt: str) -> str:
            return reply

    labels, done = make_labels(shop, Silent(), tmp_path / "labels.jsonl", count=1, limit=1)
    assert (labels, done[0].dropped) == ([], dropped)


def test_a_damaged_journal_is_named_with_what_to_do(shop: Repository, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    make_labels(shop, Labeller(), out, count=1, limit=1)
    journal_of(out).write_text(journal_of(out).read_text() + '{"path": "REA')
    with pytest.raises(UsageError, match=r"line 3: .*; mend it, or begin again: remove labels\.jsonl and .*journal$"):
        make_labels(shop, Labeller(), out, count=1)


def test_another_file_that_answers_becomes_a_target(shop: Repository, tmp_path: Path) -> None:
    class Thorough(Labeller):
        def reply(self, prompt: str) -> str:
            if prompt.startswith("# Question") and "# The file docs/care/storing.md" in prompt:
                return "Surely: " + verdict(True, "Keep the lid beside the pot")
            return super().reply(prompt)

    labels, _ = make_labels(shop, Thorough(), tmp_path / "labels.jsonl", count=1, limit=2)
    assert labels[0].targets == ("LICENSE", "docs/care/storing.md")
    assert hold(shop, labels)


@pytest.mark.parametrize("reply", ["I cannot say.", verdict(True, "this is nowhere in it"), '{"answers": true}'])
def test_a_question_without_verdicts_is_dropped(shop: Repository, tmp_path: Path, reply: str) -> None:
    class Unsure(Labeller):
        def reply(self, prompt: str) -> str:
            return reply if prompt.startswith("# Question") else super().reply(prompt)

    labels, done = make_labels(shop, Unsure(), tmp_path / "labels.jsonl", count=1, limit=1)
    assert labels == []
    assert "no verdict was given on" in done[0].dropped[0]


def test_the_same_question_is_not_asked_of_two_files(shop: Repository, tmp_path: Path) -> None:
    class Repeating(Labeller):
        def reply(self, prompt: str) -> str:
            if prompt.startswith("# Question"):
                return verdict(False)
            path = super().reply(prompt) and self.asked[-1]
            return said("What would a customer want to know first?", GOOD[path][1])

    labels, done = make_labels(shop, Repeating(), tmp_path / "labels.jsonl", count=1)
    assert len(labels) == 1
    assert all("is nearly another one (100% alike)" in each.dropped[0] for each in done[1:])


def test_files_without_text_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "x", {"a.txt": "text", "empty": "", "long": "x" * 100_000, "binary": "x\0y"})
    assert files_to_ask(open_repository(tmp_path / "x")) == ["a.txt"]


def run(chat: Chat | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    return natlang("data", "label", *arguments, chat=chat)


def natlang(*arguments: str, chat: Chat | None = None) -> subprocess.CompletedProcess[str]:
    without = {name: None for name in os.environ if name.startswith(("OPENAI", "AZURE"))}
    url = chat.url if chat else "http://127.0.0.1:9/v1"
    return run_here("natlang", *arguments, environment={**without, "OPENAI_BASE_URL": url})


def test_the_command_with_a_real_endpoint(shop: Repository, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    before = {path: shop.read(path) for path in shop.files}
    model = Labeller()

    def broken(prompt: str) -> str | Body:
        return Body(b'{"error": {"message": "no money left"}}', 401) if len(model.asked) == 3 else model.reply(prompt)

    arguments = ("--repo", str(shop.path), "-o", str(out), "--model", "m", "--questions", "1")
    with serve(broken) as chat:
        done = run(chat, *arguments)
    assert done.returncode == 2
    assert "no money left" in done.stderr.splitlines()[-1]
    assert "the same command goes on from there" in done.stderr
    finished = len(read_labels(out))
    assert finished in (2, 3)  # the endpoint may break at a verdict on the third file
    model = Labeller()
    with serve(lambda prompt: completion(model.reply(prompt))) as chat:
        done = run(chat, *arguments)
    assert done.returncode == 0, done.stderr
    assert "6 labels of 6 files are in" in done.stdout
    assert model.asked == list(shop.files[finished:])
    assert journal_of(out).is_file()
    assert {path: open_repository(shop.path, again=True).read(path) for path in shop.files} == before


def test_no_label_is_no_success(shop: Repository, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    with serve(lambda prompt: completion("I have no question about this file.")) as chat:
        done = run(chat, "--repo", str(shop.path), "-o", str(out), "--model", "m", "--limit", "2")
    assert done.returncode == 1, done.stderr
    assert "0 labels of 2 files are in" in done.stdout


def test_labels_of_ones_own_are_played_checked_exported_and_evaluated(shop: Repository, tmp_path: Path) -> None:
    labels, folder = tmp_path / "labels.jsonl", str(shop.path)
    with serve(lambda prompt: completion(Labeller().reply(prompt))) as chat:
        assert run(chat, "--repo", folder, "-o", str(labels), "--model", "m", "--questions", "1").returncode == 0
    assert own_protocol(labels, shop.path).env_id == "NatLang/AutoExplore-v0"
    env = gymnasium.make("NatLang/AutoExplore-v0", dataset=str(labels), repository=folder)
    asked = {label.id: label for label in read_labels(labels)}
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert asked[info["task_id"]].question in info["task"]
        for command in unwrap(env).demonstration():
            _, _, _, _, info = env.step(command)
        assert info["success"]

    about = ("--labels", str(labels), "--repo", folder)
    assert "6 labels, nothing wrong. Digest" in natlang("data", "check", *about).stdout
    stats = natlang("data", "stats", *about).stdout
    assert "labels, hard wording, depth any: BM25's first file " in stats
    assert "6 labels); depth-first search " in stats
    exported = natlang("data", "export", str(tmp_path / "out"), *about)
    assert exported.returncode == 0, exported.stderr
    rows = [json.loads(line) for line in (tmp_path / "out" / "raw" / "labels.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == list(asked)
    assert (tmp_path / "out" / "labels.parquet").is_file()

    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    done = natlang("evaluate", "--agent", "oracle", *about, "--out", first)
    assert done.returncode == 0, done.stderr
    assert "100.0%" in done.stdout
    assert "holds: 6 episodes" in natlang("replay", first, *about).stdout
    few = str(tmp_path / "few")
    natlang("evaluate", "--agent", "oracle", *about, "--episodes", "2", "--out", few)
    assert "holds: 2 episodes" in natlang("replay", few, *about).stdout
    # Elsewhere on the machine it is the same protocol; with another file in the folder it is not.
    shutil.copytree(shop.path, tmp_path / "moved")
    about = ("--labels", str(labels), "--repo", str(tmp_path / "moved"))
    natlang("evaluate", "--agent", "bm25", *about, "--out", second)
    assert read_run(Path(first))[0].protocol == read_run(Path(second))[0].protocol
    assert "holds: 6 episodes" in natlang("replay", first, *about).stdout
    (tmp_path / "moved" / "new").write_text("x")
    open_repository(tmp_path / "moved", again=True)  # as another process does
    assert "when it was played and is" in natlang("replay", first, *about).stdout


def test_labels_may_be_called_as_a_split_and_exports_load_whatever_they_are_called(
    shop: Repository, tmp_path: Path
) -> None:
    labels = tmp_path / "train.jsonl"
    make_labels(shop, Labeller(), labels, count=1)
    about = ("--labels", str(labels), "--repo", str(shop.path))
    assert "6 labels, nothing wrong" in natlang("data", "check", *about).stdout
    labels = labels.rename(tmp_path / "a: my-labels.jsonl")
    about = ("--labels", str(labels), "--repo", str(shop.path))
    assert natlang("data", "export", str(tmp_path / "out"), *about).returncode == 0
    assert "split: labels\n" in (tmp_path / "out" / "README.md").read_text()
    labels.write_text("")
    done = natlang("data", "export", str(tmp_path / "empty"), *about)
    assert done.returncode == 2
    assert "holds no label" in done.stderr


def test_evidence_of_a_file_that_is_gone_is_counted_as_unseen(shop: Repository, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    make_labels(shop, Labeller(), labels, count=1)
    lines = labels.read_text().splitlines()
    content = json.loads(lines[0])
    content["evidence"][0]["path"] = "gone.py"
    labels.write_text("\n".join([json.dumps(content), *lines[1:]]) + "\n")
    stats = natlang("data", "stats", "--labels", str(labels), "--repo", str(shop.path))
    assert stats.returncode == 0, stats.stderr
    assert "characters of a file: 83% of the labels" in stats.stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"question": "What?\n# Folders here"}, "line 1: question must be one line"),
        ({"question": ""}, "line 1: question must be one line"),
        ({"natural": "w" * 2_001}, "line 1: natural must be one line of 1 to 2,000 characters"),
        ({"targets": []}, "line 1: targets must name at least one file"),
        ({"answer": "\ud800"}, "line 1: answer holds what is no Unicode text"),
        ({}, "line 2: its question is that of an earlier line"),
    ],
)
def test_labels_that_cannot_be_asked_are_refused(
    shop: Repository, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    labels = tmp_path / "labels.jsonl"
    make_labels(shop, Labeller(), labels, count=1)
    content = json.loads(labels.read_text().splitlines()[0])
    labels.write_text(f"{json.dumps(content | change)}\n" * 2)
    with pytest.raises(UsageError, match=words):
        gymnasium.make("NatLang/AutoExplore-v0", dataset=str(labels), repository=str(shop.path))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dataset": "none.jsonl", "repository": "shop"}, "none.jsonl cannot be read"),
        ({"dataset": "labels.jsonl"}, "about a folder of yours: name it, repository="),
        ({"dataset": "labels.jsonl", "repository": "other"}, "LICENSE, which answers shop/.* is no file of"),
        ({"dataset": "labels.jsonl", "repository": "shop", "split": "test"}, "has no split 'test'"),
        ({"dataset": "labels.jsonl", "repository": "shop", "depth": 7}, "unknown depth 7"),
        ({"dataset": "empty.jsonl", "repository": "shop"}, "has no label: choose another file"),
        ({"dataset": "labels.jsonl", "repository": "shop", "wording": "plain"}, "unknown wording 'plain'"),
    ],
)
def test_wrong_labels_of_ones_own_are_named(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str], words: str
) -> None:
    make_labels(shop, Labeller(), tmp_path / "labels.jsonl", count=1)
    (tmp_path / "empty.jsonl").write_text("")
    write(tmp_path / "other", {"a": "b"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        gymnasium.make("NatLang/AutoExplore-v0", **arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("data", "check", "--labels", "x"), "--labels and --repo belong together"),
        (
            ("evaluate", "--agent", "oracle", "--labels", "x", "--out", "y"),
            "--labels or --tasks FILE and --repo FOLDER",
        ),
        (("evaluate", "--agent", "oracle", "--out", "y"), "say what is played: --protocol NAME, or"),
    ],
)
def test_options_that_do_not_fit_are_named(arguments: tuple[str, ...], words: str) -> None:
    done = natlang(*arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("place", "existing", "words"),
    [
        ("shop/labels.jsonl", None, "which is never modified: choose a file outside it"),
        ("labels.jsonl", "mine\n", "exists and has no journal"),
    ],
)
def test_nothing_of_the_user_is_overwritten(
    shop: Repository, tmp_path: Path, place: str, existing: str | None, words: str
) -> None:
    out = tmp_path / place
    if existing:
        out.write_text(existing)
    done = run(None, "--repo", str(shop.path), "-o", str(out), "--model", "m")
    assert done.returncode == 2
    assert words in done.stderr
    assert (out.read_text() if out.exists() else None) == existing


def test_a_label_by_hand_needs_a_question_an_answer_and_a_file(tmp_path: Path) -> None:
    shop = write(tmp_path / "shop", {"tax.py": "RATE = 0.19\n", "docs/tax.md": "The rate is 19%.\n", "a.py": "b = 1\n"})
    labels = tmp_path / "labels.jsonl"
    hand = [
        {"question": "How high is the tax on a sale?", "answer": "19%", "file": ["tax.py", "docs/tax.md"]},
        {"question": "What is b in this shop?", "answer": "1", "file": "a.py"},
    ]
    labels.write_text("".join(f"{json.dumps(each)}\n" for each in hand))
    known = ("--labels", str(labels), "--repo", str(shop))
    for command in ("check", "stats", "export"):
        out = [str(tmp_path / "out")] if command == "export" else []
        done = run_here("natlang", "data", command, *known, *out)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "nan" not in done.stdout
    env = gymnasium.make("NatLang/AutoExplore-v0", dataset=str(labels), repository=str(shop))
    env.reset(seed=0, options={"task_id": own_protocol(labels, shop).episodes[0].task_id})
    for command in unwrap(env).oracle():
        *_, info = env.step(command)
    assert info["success"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            {"question": "How high is it?", "answer": "19%", "file": "tex.py"},
            "unknown file .tex.py.: choose one of t",
        ),
        ({"question": "How high is it?", "answer": "19%"}, "exactly the keys question, answer, file; missing ..file"),
        ({"question": "How high is it?", "answer": "19%", "file": []}, "file must be a path, or a list of paths"),
        ({"question": 3, "answer": "19%", "file": "tax.py"}, "question must be text"),
        ({"question": "How high is it?", "answer": 19, "file": "tax.py"}, "answer must be str"),
    ],
)
def test_a_wrong_label_by_hand_is_refused(tmp_path: Path, line: dict[str, Any], says: str) -> None:
    shop = write(tmp_path / "shop", {"tax.py": "RATE = 0.19\n"})
    labels = tmp_path / "labels.jsonl"
    labels.write_text(json.dumps(line))
    with pytest.raises(UsageError, match=says):
        read_own_labels(labels, open_repository(shop))
