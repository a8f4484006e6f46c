"""AutoExplore-Answer: what is a right answer, what is none, and both forms of the game."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.autoexplore import score_answer
from natlang_envs.autoexplore.answering.agents import BestLineAgent
from natlang_envs.autoexplore.answering.env import AutoExploreAnswerEnv
from natlang_envs.autoexplore.answering.facts import tokens_of
from natlang_envs.autoexplore.answering.key_checks import key_problems
from natlang_envs.autoexplore.answering.keys import AnswerKey, embedded_answers, read_keys, shipped_keys, write_keys
from natlang_envs.autoexplore.answering.score import AnswerScore, score_words
from natlang_envs.autoexplore.dataset.labels import PARTS, Evidence, Label
from natlang_envs.autoexplore.dataset.shipped import load_labels
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.agents import load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from tests.support.explore_command import explore_here, refused
from tests.support.folders import write
from tests.support.here import run_here

QUESTION = "After how long does a login that nobody uses end, and can that be changed?"
KEY = AnswerKey(
    "shop/1",
    (("30 minutes", "30 min"), ("max_idle",)),
    never=("stays forever",),
    also=("settings.py",),
    says="yes",
)
FILE = ["# Sessions", "", "An idle session ends after 30 minutes;", "`Session.max_idle` sets it.", "", "", "", "Yes."]
LABEL = Label(
    "shop",
    QUESTION,
    "Yes: after 30 minutes, by max_idle in settings.py.",
    ("docs/sessions.md",),
    (Evidence("docs/sessions.md", "An idle session ends after 30 minutes;"),),
    (),
    1,
    "documentation",
    "shares",
    (),
)
RIGHT = ["30 minutes, max_idle", "Yes. It ends after half an hour (`Session.max_idle`).", "thirty min; max_idle=30 min"]
WRONG = {
    "nothing": "",
    "the question given back": QUESTION,
    "yes": "Yes.",
    "an atom is missing": "After 30 minutes.",
    "another number of the unit": "30 or 60 minutes, max_idle",
    "all numbers": "max_idle, 30 minutes " + " ".join(f"{each} min" for each in range(10)),
    "both yes and no": "Yes and no: 30 minutes, max_idle",
    "the opposite": "No, 30 minutes, max_idle",
    "a hedge": "Perhaps 30 minutes, max_idle",
    "another unit": "30 seconds, max_idle",
    "a bare number": "30, max_idle",
    "look-alike digits": "3\u041e minutes, max_idle",  # a Cyrillic letter
    "denied": "It does not end after 30 minutes, max_idle",
    "what is never right": "30 minutes, max_idle, or stays forever",
    "too many names": "30 minutes, max_idle, min_idle, idle_max, IdleTimeout",
    "everything": " ".join(FILE * 6) + " max_idle",
}


def lines(path: str) -> list[str]:
    return FILE if path == "docs/sessions.md" else ["30 minutes max_idle"]


def scored(text: str, *citations: tuple[str, int]) -> AnswerScore:
    return score_answer(LABEL, text, citations, KEY, lines)


@pytest.mark.parametrize("text", RIGHT)
def test_a_right_answer_with_a_citation_scores(text: str) -> None:
    assert scored(text, ("docs/sessions.md", 3)).success
    assert scored(text, ("docs/sessions.md", 5)).success  # within two lines


@pytest.mark.parametrize("attack", WRONG)
def test_an_attack_scores_nothing(attack: str) -> None:
    assert not scored(WRONG[attack], ("docs/sessions.md", 3)).success


@pytest.mark.parametrize(
    "citations",
    [[], [("docs/sessions.md", 8)], [("README.md", 1)], [("docs/sessions.md", 0)], [("docs/sessions.md", 99)]],
)
def test_an_answer_without_a_citation_that_supports_it_scores_nothing(citations: list[tuple[str, int]]) -> None:
    assert not scored(RIGHT[0], *citations).success


def test_more_than_three_citations_are_refused() -> None:
    assert not scored(RIGHT[0], *(("docs/sessions.md", line) for line in (1, 2, 3, 4))).success


def test_what_is_missing_is_counted() -> None:
    assert scored("After 30 minutes.", ("docs/sessions.md", 3)) == AnswerScore(0.5, True)


@given(st.text())
def test_any_text_has_a_score_and_the_same_one_each_time(text: str) -> None:
    assert score_words(KEY, text, LABEL) == score_words(KEY, text, LABEL)


@given(st.lists(st.sampled_from([*WRONG.values(), *FILE, "30 minutes", "max_idle", "no", "10 s"]), max_size=6))
def test_what_is_added_to_an_answer_never_makes_a_contradiction_right(parts: list[str]) -> None:
    text = " ".join(parts)
    if score_words(KEY, f"{text} 45 minutes", LABEL).problem == "":
        pytest.fail(f"another number of the unit is right in {text!r}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000 ms", "a second"),
        ("1 MB", "1000 kB"),
        ("20 per cent", "20%"),
        ("twenty-five", "25"),
        ("a hundred and twenty-eight", "128"),
        ("two thousand five hundred", "2500"),
        ("read-only", "Read only"),
        ("warns", "warning"),
        ("\uff12\uff10", "20"),
        ("5.0", "5"),
    ],
)
def test_two_ways_to_write_the_same_are_the_same(one: str, other: str) -> None:
    given = other.replace("a second", "1 second")
    assert [each[0::2] for each in tokens_of(one)] == [each[0::2] for each in tokens_of(given)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.10", "3.1"),
        ("--all", "all"),
        ("utf-8", "8"),
        ("1 KiB", "1 kB"),
        ("l0", "10"),
        ("one hundred and two hundred", "102 hundred"),
    ],
)
def test_what_differs_stays_different(one: str, other: str) -> None:
    assert [each[0::2] for each in tokens_of(one)] != [each[0::2] for each in tokens_of(other)]


@pytest.mark.parametrize("form", ["text", "listed"])
@pytest.mark.parametrize("search", [False, True])
def test_the_reference_wins_what_it_can_reach(form: str, search: bool) -> None:
    env = AutoExploreAnswerEnv(form, search, dataset="embedded")  # type: ignore[arg-type]
    won = 0
    for task_id in env.tasks.ids():
        _, info = env.reset(options={"task_id": task_id})
        while (plan := env.reference()) != ["exit"] and plan:
            assert form == "text" or plan[0] in info["admissible_commands"]
            *_, info = env.step(plan[0])
        won += info["success"]
    assert won >= (44 if search else 50)


def test_a_game_in_words() -> None:
    env = AutoExploreAnswerEnv()
    env.reset(options={"task_id": "ferry-line/02"})
    env.step("cd boat")
    *_, info = env.step("cite boat/particulars.md:3")
    assert info["feedback"] == "`cat` has not shown 'boat/particulars.md:3': nothing was done."
    observation, *_ = env.step("cat particulars.md")
    assert "3: Built in 1988, 31 metres, 149 passengers and 12 bicycles." in observation
    observation, *_ = env.step("cite boat/particulars.md:3")
    assert "# Cited\nboat/particulars.md:3\n# Steps left\n16" in observation
    *_, info = env.step("id particulars.md")
    assert "is not one of the listed commands" in info["feedback"]
    _, reward, terminated, _, info = env.step("answer At most 149 people.")
    assert (reward, terminated, info["success"]) == (15, True, True)
    assert env.episode.score == AnswerScore(1.0, True)


def test_a_wrong_answer_is_told_what_it_lacks() -> None:
    env = AutoExploreAnswerEnv()
    env.reset(options={"task_id": "ferry-line/02"})
    _, reward, _, _, info = env.step("answer 150")
    assert reward == -15
    assert info["feedback"] == (
        "The answer says 0% of what was asked; it says 150; no citation supports it. The search is over."
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"form": "txt"}, r"unknown form 'txt'.*text"),
        ({"search": "yes"}, "search must be True or False"),
        ({"repository": "."}, "a folder of your own needs repository, labels as dataset, and keys"),
        ({"repository": ".", "keys": "k.jsonl"}, "give their file as dataset"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        AutoExploreAnswerEnv(**arguments)  # type: ignore[arg-type]


def test_a_question_without_a_key_is_refused() -> None:
    with pytest.raises(UsageError, match="has no key of this wording and form"):
        AutoExploreAnswerEnv().reset(options={"task_id": "ferry-line/08"})
    with pytest.raises(UsageError, match=r"label shop/.* has no key"):
        score_answer(LABEL, "30 minutes", [])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", "a key is a JSON object"),
        ('{"id": "a/1", "atoms": []}', "atoms is a list"),
        ('{"id": "a/1", "atoms": [[""]]}', "have no empty text"),
        ('{"id": "a/1", "atoms": [["x"]], "says": "maybe"}', "says must be one of yes, no"),
        ('{"id": "a/1", "atoms": [["x"]], "hints": []}', "unknown .*hints"),
        ('{"id": "a/1", "atoms": [["x"]]}\n{"id": "a/1", "atoms": [["y"]]}', "line 2: a/1 has a key already"),
    ],
)
def test_a_file_that_is_none_of_keys_is_refused_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    (file := tmp_path / "keys.jsonl").write_text(f"{line}\n")
    with pytest.raises(UsageError, match=says):
        read_keys(file)


def test_keys_survive_a_file(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.jsonl", [KEY])
    assert read_keys(tmp_path / "keys.jsonl") == {KEY.id: KEY}


def test_every_key_fits_its_label() -> None:
    labels = {label.id: label for part in PARTS for label in load_labels(part)}
    wrong = [f"{key.id}: {each}" for key in shipped_keys().values() for each in key_problems(labels[key.id], key)]
    wrong += [
        f"{name}: {each}" for name, (label, key) in embedded_answers().items() for each in key_problems(label, key)
    ]
    assert wrong == []


def test_best_line_quotes_a_file_that_it_was_told_the_way_to() -> None:
    protocol = Protocol(
        "answers/v1",
        "NatLang/AutoExplore-Answer-v0",
        {"dataset": "embedded"},
        20,
        1,
        (Episode("ferry-line/02", 0),),
        "One.",
    )
    _, trajectories = evaluate(BestLineAgent(), protocol)
    (played,) = trajectories
    assert played.actions[-1].startswith("answer ")
    assert played.actions[-2].startswith("cite ")
    with pytest.raises(UsageError, match="agent 'best-line' quotes a line"):
        evaluate(
            load_agent("best-line"), Protocol("x/v1", "NatLang/AutoExplore-v0", {}, 15, 1, protocol.episodes, "One.")
        )


SHOP = {"docs/sessions.md": "\n".join(FILE), "tax.py": "TAX = 19\n"}
LABELS = [
    {"question": "When does an unused login end?", "answer": "After 30 minutes.", "file": "docs/sessions.md"},
    {"question": "How high is the rate?", "answer": "19 per cent (TAX).", "file": "tax.py"},
    {"question": "Who wrote it?", "answer": "Nobody knows.", "file": "tax.py"},
]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    write(tmp_path / "shop", SHOP)
    (tmp_path / "labels.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in LABELS))
    return tmp_path


def make_keys(own: Path, *more: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    given = ("--labels", str(own / "labels.jsonl"), "--repo", str(own / "shop"), "--out", str(own / "keys.jsonl"))
    return run_here("natlang", "data", "keys", *given, *more, stdin=stdin)


def test_keys_of_own_labels_are_proposed_and_played(own: Path) -> None:
    done = make_keys(own, "--accept")
    assert done.stdout.startswith("2 of 3 labels have keys, in ")
    given = {"repository": str(own / "shop"), "dataset": str(own / "labels.jsonl"), "keys": str(own / "keys.jsonl")}
    for form in ("text", "listed"):
        env = AutoExploreAnswerEnv(form, **given)  # type: ignore[arg-type]
        for task_id in env.tasks.ids():
            env.reset(options={"task_id": task_id})
            for command in env.reference():
                *_, info = env.step(command)
            assert info["success"], task_id


def test_a_key_that_does_not_fit_is_refused_and_asked_for_again(own: Path) -> None:
    done = make_keys(own, stdin="\n20\nTAX; 19|19%\nq\n")
    assert "Refused: the label's own answer is wrong" in done.stdout
    keys = read_keys(own / "keys.jsonl").values()
    assert [each.atoms for each in keys] == [(("30 minutes", "30"),), (("TAX",), ("19", "19%"))]
    again = make_keys(own, stdin="-\n")
    assert again.stdout.count("Proposed:") == 1  # what was decided is not asked again


def test_a_key_of_no_label_is_refused(own: Path) -> None:
    make_keys(own, "--accept")
    (own / "labels.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in LABELS[1:]))
    assert "unknown label of the key in " in make_keys(own).stderr
    with pytest.raises(UsageError, match=r"keys\.jsonl, line 1: 'shop/"):
        AutoExploreAnswerEnv(
            repository=str(own / "shop"), dataset=str(own / "labels.jsonl"), keys=str(own / "keys.jsonl")
        )


def test_labels_without_a_checkable_answer_make_no_keys(own: Path) -> None:
    (own / "labels.jsonl").write_text(f"{json.dumps(LABELS[2])}\n")
    done = make_keys(own, "--accept")
    assert (done.returncode, done.stdout[:16]) == (1, "No key was made:")


def test_explore_prints_the_passages_that_answer(own: Path) -> None:
    asked = ("--repo", str(own / "shop"), "When does an idle session end?", "--answer")
    shown = explore_here(*asked, NATLANG_CACHE=str(own / "cache")).stdout
    assert shown.splitlines()[0] == f"{own}/shop/docs/sessions.md:1"
    assert "ends after 30 minutes" in shown
    found = json.loads(explore_here(*asked, "--json", NATLANG_CACHE=str(own / "cache")).stdout)
    assert found[0]["line"] == 1
    assert "for a list of files, and --answer for lines" in refused(explore_here(*asked, "--top", "3"))


def test_answers_that_were_written_blind_are_judged_as_the_page_says() -> None:
    """The sheet has a right and a wrong answer for each label, by writers who did not see the keys.

    Three of its last hundred labels are misjudged: their keys are those of a published board.
    """
    labels = {label.id: label for part in PARTS for label in load_labels(part)}
    wrong = {True: 0, False: 0}
    packed = (Path(__file__).parent / "answer_sheet.jsonl.gz").read_bytes()
    lines = gzip.decompress(packed).decode().splitlines()
    for row in map(json.loads, lines):
        score = score_words(shipped_keys()[row["id"]], row["answer"], labels[row["id"]])
        wrong[row["right"]] += (score.recall == 1 and not score.problem) != row["right"]
    assert len(lines) >= 500
    assert wrong == {True: 2, False: 1}


def test_a_game_of_each_form_is_what_it_was(golden: Callable[[str, str], None]) -> None:
    lines: list[str] = []
    for form, search in (("text", False), ("listed", False), ("listed", True)):
        env = AutoExploreAnswerEnv(form, search)  # type: ignore[arg-type]
        observation, info = env.reset(options={"task_id": "ferry-line/02"})
        lines += [f"## {form}, search={search}", observation]
        for command in env.reference():
            observation, reward, *_, info = env.step(command)
            lines += [f"> {command}", f"[{reward:g}] {'; '.join(info['admissible_commands'])}", observation]
    golden("AutoExplore-Answer-v0.txt", "\n".join(lines) + "\n")
