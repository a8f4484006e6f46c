"""AutoExplore's teacher says what is true of the screen, the labels and the training questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.autoexplore.dataset.shipped import load_labels
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.errors import UsageError
from natlang_envs.files import cache_folder
from natlang_envs.prompt import DONE, PathStep, state_prompt
from natlang_envs.repository.words import question_words, stem, words_of
from reference_agent import CollectConfig, Stage, collect
from reference_agent.data_set import Example
from reference_agent.families.autoexplore.teacher import AutoExploreTeacher
from reference_agent.families.autoexplore.visits import part_of
from reference_agent.models.tokenizer import PromptReader
from reference_agent.run.config import TeacherConfig
from reference_agent.teachers.base import Moment
from reference_agent.teachers.check import RuleCount, check_demonstrations, check_knowable, what_can_be_known
from reference_agent.teachers.choose import make_teacher

EXPLORE = "NatLang/AutoExplore-v0"
LABELS = {label.id: label for label in load_labels("train")}
COFFEE = {"dataset": "coffee-company", "split": "train"}  # it needs no network
_KNOWN = re.compile(r"(Most q|Q)uestions about (\S+) are answered in (\S+):|(\S+) answers questions about (\S+):")
_MATCH = re.compile(r"(?:The name )?(\S+) (?:has|goes with) (\S+?)(?: in its name)?: ")
_GOES_ON = re.compile(r"^(?:This part has )?(.*?),? (?:not|but no) (.*?)(?: here)?; (?:the file|it) goes on: ")


def rows(examples: Sequence[Example]) -> dict[str, RuleCount]:
    return {row.rule: row for row in check_demonstrations(examples)}


def check_all_is_true(examples: Sequence[Example]) -> Counter[str]:
    """Check each kind of sentence against the labels, and return how often each was said."""
    said = Counter[str]()
    for each in examples:
        label, told = LABELS[each.task_id], each.reflection
        folder = each.state.partition("# Current folder\n")[2].partition("\n")[0]
        at = lambda name, folder=folder: name if folder == "." else f"{folder}/{name}"  # noqa: E731
        here = part_of(each.state.partition("\n# Last result\n")[2])
        path, sought = at(here.name) if here else "", set(question_words(label.natural))
        if each.action.startswith("id "):
            assert here is not None
            assert each.action == f"id {here.name}"
            quote = _plain(told[told.index('"') + 1 : told.rindex('"')])
            assert any(each.path == path and quote in _plain(each.text) for each in label.evidence), told
            assert quote in _plain(here.text)
        elif here is not None and path in label.targets:
            assert each.action == f"cat {here.name}", "a file that answers is left"
            assert here.goes_on
            if found := _GOES_ON.match(told):
                words = set(words_of(here.text))
                for text, there in ((found[1], True), (found[2], False)):
                    for word in re.split(r",? and |, ", text):
                        assert (stem(word.lower()) in words, stem(word.lower()) in sought) == (there, True), told
                said["goes on"] += 1
        elif here is not None:
            assert path in [verdict.path for verdict in label.bm25 if not verdict.answers]
            assert here.name in told or ("exit" in here.name and told.startswith("This file does not tell. "))
            said["in vain"] += 1
        if each.action.startswith("id "):
            pass  # a quote may read like the sentences below
        elif found := _KNOWN.search(told):
            word, name = (found[2], found[3]) if found[2] else (found[5], found[4])
            inside, others = _answered(label, word, at(name))
            assert others >= 2
            assert inside == others or (inside > others / 2 and found[1] == "Most q"), told
            said["known"] += 1
        elif found := _MATCH.search(told):
            assert {stem(found[2].lower())} <= set(words_of(found[1])) & sought, told
            said["match"] += 1
        said[each.action.partition(" ")[0]] += 1
    return said


def _answered(label: Label, word: str, path: str) -> tuple[int, int]:
    """Return how many other training questions with a word a file or folder answers, and how many there are."""
    others = [
        each
        for each in LABELS.values()
        if each.repository == label.repository and each != label and stem(word.lower()) in question_words(each.natural)
    ]
    return sum(any(target == path or target.startswith(f"{path}/") for target in each.targets) for each in others), len(
        others
    )


def _plain(text: str) -> str:
    return " ".join(text.split())


def test_what_the_teacher_says_of_a_hundred_training_questions_is_true() -> None:
    examples = collect(
        Stage(EXPLORE, env_kwargs=COFFEE), "oracle", CollectConfig(trajectories=120, negatives=0), history="commands"
    )
    assert all(row.faults == 0 for row in check_demonstrations(examples)), check_demonstrations(examples)
    said = check_all_is_true(examples)
    games = len({each.task_id for each in examples})
    assert min(said[kind] for kind in ("goes on", "in vain", "known", "match", "cd", "cat")) > 20
    assert 0.6 < said["in vain"] / games < 1.4
    assert said["id"] > 0.9 * games
    assert all(f"\n{DONE}" in each.state for each in examples)


@pytest.mark.slow
def test_what_the_teacher_says_of_every_training_question_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NATLANG_CACHE")
    if not all(catalogue()[label.repository].folder.exists() for label in LABELS.values()):
        pytest.skip("the repositories are not here: natlang data fetch")
    settings = CollectConfig(trajectories=len(LABELS), negatives=0)
    examples = collect(EXPLORE, "oracle", settings, history="commands")
    assert all(row.faults == 0 for row in check_demonstrations(examples)), check_demonstrations(examples)
    said = check_all_is_true(examples)
    assert len({each.task_id for each in examples}) == len(LABELS)
    assert said["id"] > 0.96 * len(LABELS)
    smollm2 = cache_folder() / "models/smollm2"
    if smollm2.exists():
        reader = PromptReader.of(smollm2, "saycan")
        assert sum(reader.count(each.state) <= 1_024 for each in examples) >= 0.99 * len(examples)


def test_the_teacher_answers_in_any_state_of_a_students_walk_and_wins_from_there() -> None:
    env = AutoExploreEnv(**COFFEE)
    teacher, rng = make_teacher(env, np.random.default_rng(0), TeacherConfig()), np.random.default_rng(1)
    shown = 0
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        path: list[PathStep] = []
        ended = False
        while not ended:
            state = state_prompt(info["task"], path, observation, history="commands")
            moment = Moment(env, state, tuple(path), (), observation, info)
            told, action = teacher(moment)
            assert teacher(moment)[1] == action, "one p(s), one verdict"
            student = [each for each in env.safe_commands() if not each.startswith("id ")]
            if len(path) < 5:  # the student's turn
                action = student[int(rng.integers(len(student)))]
            elif told is not None:
                example = Example(0, info["task_id"], False, False, state, told, info["admissible_commands"], action)
                assert not [row for row in check_demonstrations([example]) if row.faults]
                shown += 1
            observation, _, ended, _, info = env.step(action)
            path.append(PathStep(action, info["feedback"]))
        assert info["success"]
    assert shown > 60


def test_how_many_files_are_read_in_vain_is_an_option() -> None:
    env = AutoExploreEnv(**COFFEE)
    for vain in (0, 3):
        teacher = make_teacher(env, np.random.default_rng(0), TeacherConfig(options={"vain": vain}))
        assert isinstance(teacher, AutoExploreTeacher)
        examples = collect(Stage(EXPLORE, env_kwargs=COFFEE), teacher, CollectConfig(trajectories=20, negatives=0))
        last = [each for each in examples if each.action.startswith("id ")]
        read = [len(set(re.findall(r"cat ([^;\n]*)", each.state.partition(DONE)[2]))) for each in last]
        assert max(read, default=0) <= vain + 1
    with pytest.raises(UsageError, match=r"teacher\.vain must be int, not 'two'"):
        make_teacher(env, np.random.default_rng(0), TeacherConfig(options={"vain": "two"}))


def test_the_check_finds_what_is_not_shown() -> None:
    state = "Task: Find a lamp.\nCommands so far: go to desk 1; open drawer 2\nObservation: On the desk 1 is a.txt"
    right = Example(
        0, "t", False, False, state, 'It says "desk 1 is" in a.txt: take lamp 3.', ("take lamp 3", "go"), "take lamp 3"
    )
    assert not [row for row in check_demonstrations([right, right]) if row.faults]
    for change, rule in (
        ({"reflection": "I wait."}, "action"),
        ({"reflection": "Not go, but take lamp 3."}, "action"),
        ({"reflection": "b.txt says: take lamp 3."}, "names"),
        ({"reflection": "In desk 2: take lamp 3."}, "names"),
        ({"reflection": "There is no desk 2. In desk 3: take lamp 3."}, "names"),
        ({"reflection": 'It says "desk 4 or so": take lamp 3.'}, "quotes"),
        (
            {
                "negative": True,
                "state": "Task: Find a lamp.\nPrevious path: none.\nObservation: On the desk 1 is a.txt",
            },
            "regrets",
        ),
    ):
        assert [row.rule for row in check_demonstrations([replace(right, **change)]) if row.faults][-1] == rule
    for true in ("No desk 2. take lamp 3.", "No lamp in v5.1.0.rst. take lamp 3."):
        assert not [row for row in check_demonstrations([replace(right, reflection=true)]) if row.faults]
    computed = replace(right, reflection="3 and 39 are 42. take lamp 3.")
    assert rows([computed])["names"].faults == 1
    assert what_can_be_known([computed])[:3] == (1, 0, 0), "a number may be computed"
    twice = rows([right, replace(right, action="go", reflection="I go.")])
    assert (twice["verdicts"].faults, twice["verdicts"].examples) == (1, 2)
    assert rows([right, replace(right, negative=True)])["verdicts"].faults == 1
    with pytest.raises(UsageError, match="give what collect returns"):
        check_demonstrations([right.state])  # type: ignore[list-item]


@pytest.mark.parametrize("env", ["NatLang/DangerousTaxi-Dropoff-v0", "NatLang/ALFWorld-v0"])
def test_the_teachers_of_other_families_say_what_is_shown_if_the_last_step_is(env: str) -> None:
    settings = CollectConfig(trajectories=15, restarts="Taxi" in env)
    for history in ("full", "commands"):
        assert not [
            row for row in check_demonstrations(collect(env, "oracle", settings, history=history)) if row.faults
        ]
    seen = collect(env, "oracle", settings, history="full")
    assert what_can_be_known(seen)[1:3] == (0, 0)
    with pytest.raises(UsageError, match=r"^collect\.negatives is 1 and history is 0: the teacher would regret a step"):
        collect(env, "oracle", settings, history=0)
    # As a p(s) without the path would be.
    hidden = [replace(each, state=re.sub(r"(?s)path:\n.*?\nObs", "path: none.\nObs", each.state)) for each in seen]
    assert rows(hidden)["regrets"].faults == rows(hidden)["regrets"].examples > 0
    known = what_can_be_known(hidden)
    assert known.invisible >= sum(each.negative for each in seen)  # what only the path shows may be named too
    assert known.contradictory > 0
    with pytest.raises(UsageError, match=r"teach what a student cannot know .*collect\.unclear, which is 0\.1$"):
        check_knowable(hidden, 0.1)
    assert check_knowable(hidden, 1.0) == known
    assert str(known).startswith(f"What a student can know, of {len(seen)} examples:\n  inferable ")
