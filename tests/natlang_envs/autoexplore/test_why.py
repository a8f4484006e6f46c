"""Why a command does nothing where files are searched for and changed: causes, what helps, and equal observations."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import gymnasium
import pytest

from natlang_envs import NatLangEnv, unwrap
from natlang_envs.evaluation import AgentInput, count_causes, evaluate, load_protocol
from natlang_envs.why import CAUSES, ENDINGS, LONGEST, Why, misspelt
from tests.support.free import needs_lab
from tests.support.isolation_here import needs_isolation

SEARCH, CHANGE, FREE = (f"NatLang/AutoExplore-{each}-v0" for each in ("Search", "Change", "ChangeFree"))
BOARDS: list[tuple[str, dict[str, Any]]] = [
    (SEARCH, {}),
    (SEARCH, {"order": "ranked"}),
    (CHANGE, {}),
    (CHANGE, {"start": "file"}),
    (CHANGE, {"start": "line"}),
    ("NatLang/AutoExplore-v0", {}),
]
OTHERS = ("", "ls", "cd ..", "cd .", "next page", "undo", "test", "submit", "cat README.md", "quit", "search again")
VERBS = {"cd": "goto", "cat": "read", "id": "answer", "search": "grep", "open": "view", "line": "goto", "edit": "apply"}


def make(env_id: str, **kwargs: Any) -> NatLangEnv:
    return unwrap(gymnasium.make(env_id, dataset="embedded", **kwargs))


def mistaken(listed: tuple[str, ...], chance: random.Random) -> str:
    """Return a command such as a model writes: nearly one of those listed, or none of them."""
    command = chance.choice(listed)
    verb, _, name = command.partition(" ")
    return chance.choice(
        (
            command.upper(),
            command[:-1],
            f"`{command}`",
            f"{VERBS.get(verb, 'please')} {name}",
            f"{verb} {chance.choice(listed).rpartition(' ')[2]}",
            f"cat ./{name}",
            f"line {chance.randrange(1, 150)}",
            f"edit {chance.randrange(1, 99)} {chance.randrange(1, 40)}",
            f"page {chance.randrange(9)}",
            chance.choice(OTHERS),
        )
    )


def test_every_proposed_command_works_every_remedy_removes_the_cause_and_no_observation_differs() -> None:
    proposed = removed = 0
    for env_id, kwargs in BOARDS:
        plain, env = make(env_id, **kwargs), make(env_id, explain=True, **kwargs)
        chance = random.Random(env_id)
        for seed in range(25):
            observation, info = plain.reset(seed=seed)
            assert env.reset(seed=seed) == (observation, {**info, "why": None})
            ended = False
            while not ended:
                listed = info["admissible_commands"]
                command = mistaken(listed, chance) if chance.random() < 0.5 else chance.choice(listed)
                *step, info = plain.step(command)
                *same, explained = env.step(command)
                reason = explained.pop("why")
                assert (same, explained) == (step, info)
                ended = step[2] or step[3]
                assert (reason is None) is (command.strip() in listed and not (step[2] and _lost(command, info)))
                if reason is None:
                    continue
                assert type(reason) is Why
                assert reason.cause in CAUSES
                assert not ended or reason.cause in ENDINGS or command.strip() not in listed
                if ended or not (reason.instead or reason.remedy):
                    continue
                saved = env.snapshot()
                if reason.instead:
                    assert reason.instead in info["admissible_commands"]
                    again = env.step(reason.instead)[4]["why"]
                    assert again is None or again.cause in ENDINGS
                    proposed += 1
                elif env.steps_left > len(reason.remedy):
                    assert [env.step(each)[4]["why"] for each in reason.remedy] == [None] * len(reason.remedy)
                    again = env.step(command)[4]["why"]
                    assert again is None or again.cause != reason.cause
                    removed += 1
                env.restore(saved)
    assert proposed > 200
    assert removed > 20


def _lost(command: str, info: dict[str, Any]) -> bool:
    return not info["success"] and command.split(" ")[0] in ("id", "exit", "submit")


@pytest.mark.parametrize(
    ("commands", "cause", "instead"),
    [
        (["grep {}"], "other verb", "search {}"),
        (["search for {}"], "spelling", "search {}"),
        (["serch {}"], "spelling", "search {}"),
        (["search nothing {}"], "several at once", "search {}"),
        (["search zeppelin"], "not offered", ""),
        (["search {}", "search {}"], "already there", ""),
        (["search"], "incomplete", ""),
        (["cat nothing.md"], "not there", ""),
        (["ls"], "no such verb", ""),
        ([""], "no command", ""),
        (["quit"], "other verb", "exit"),
        (["exit"], "left", ""),
    ],
)
def test_a_search_has_a_reason(commands: list[str], cause: str, instead: str) -> None:
    env = make(SEARCH, explain=True)
    first = env.reset(seed=0)[1]["admissible_commands"][0].removeprefix("search ")
    reason = [env.step(each.format(first))[4]["why"] for each in commands][-1]
    assert (reason.cause, reason.instead) == (cause, instead.format(first))


def test_a_listed_file_is_meant_by_its_name_and_one_that_the_list_lost_cannot_be_read() -> None:
    env = make(SEARCH, explain=True)
    for seed in range(40):
        first, *_ = env.reset(seed=seed)[1]["admissible_commands"]
        listed = env.step(first)[4]["admissible_commands"]
        path = next((each[4:] for each in listed if each.startswith("cat ") and "/" in each), None)
        if path is None:
            continue
        assert env.step(f"cat {path}")[4]["why"] is None
        short = path.rpartition("/")[2]
        reason = env.step(f"cat {short}")[4]["why"]
        if sum(each.endswith(f"/{short}") for each in listed) == 2:  # cat and id
            assert reason == Why("incomplete", "A file is named by its whole path.", f"cat {path}")
            return
    raise AssertionError("no such list")


def test_a_change_has_a_reason_wherever_the_player_looks() -> None:
    env = make(CHANGE, explain=True, start="file")

    def reason(*commands: str) -> Why | None:
        env.reset(seed=0)
        return [env.step(each)[4]["why"] for each in commands][-1]

    listed = env.reset(seed=0)[1]["admissible_commands"]
    lines = [each for each in listed if each.startswith("line ")]
    one, two = (each.removeprefix("line ") for each in lines[:2])
    edits = [each for each in env.step(lines[0])[4]["admissible_commands"] if each.startswith("edit ")]
    source = next(each for each in env.step("look")[4]["admissible_commands"] if each.startswith("open "))
    for command, expected in {
        "undo": ("nothing edited", "", ()),
        "submit": ("nothing edited", "", ()),
        f"jump {one}": ("no such verb", "", ()),
        f"line {one}.": ("spelling", f"line {one}", ()),
        f"edit {one} 1": ("elsewhere", "", (f"line {one}",)),
        f"edit {one}": ("incomplete", "", ()),
        "line 9999": ("not there", "", ()),
        "page 99": ("not there", "", ()),
        "page 1": ("already there", "", ()),
        "next page": ("other verb", "page 2", ()) if "page 2" in listed else ("already there", "", ()),
        source.replace("open", "cat"): ("already there", "", ()),
        "open README.md": ("elsewhere", "", ("cd .",)),
        "run tests": ("other verb", "test", ()),
    }.items():
        found = reason(command)
        assert found is not None
        assert (found.cause, found.instead, found.remedy) == expected, command
    for command, expected in {
        f"edit {one} 999": ("not offered", "", ()),
        "edit 1": ("incomplete", f"edit {one} 1", ()),
        edits[0].replace("edit", "apply"): ("other verb", edits[0], ()),
        lines[0]: ("already there", "", ()),
        f"line {two}": ("elsewhere", "", (source,)),
        f"edit {two} 1": ("elsewhere", "", (source, f"line {two}")),
        "cd .": ("elsewhere", "", (source,)),
        "open README.md": ("elsewhere", "", (source, "cd .")),
    }.items():
        found = reason(lines[0], command)
        assert found is not None
        assert (found.cause, found.instead, found.remedy) == expected, command
    used = reason("test", "test", "test", "test")
    assert used is not None
    assert used.cause == "used up"
    wrong = [reason(lines[0], each, "submit") for each in edits]
    assert {each.cause for each in wrong if each} == {"wrong repair"}


def test_causes_of_searches_and_changes_are_counted_from_recordings() -> None:
    def agent(view: AgentInput) -> str:
        return ("ls", "ls", "ls", "exit")[min(len(view.path), 3)]

    protocol = load_protocol("autoexplore-change-line/v1")
    protocol = replace(protocol, episodes=protocol.episodes[:5], kwargs={**protocol.kwargs, "split": "all"})
    found = count_causes(protocol, evaluate(agent, protocol)[1])
    assert found.episodes == {"left": 5}
    assert found.commands == {"no such verb": 15}


@needs_isolation
@needs_lab
def test_free_changes_have_reasons_and_an_explained_observation_has_them_behind_the_result() -> None:
    kinds: list[dict[str, Any]] = [{}, {"explain": True}, {"feedback": "explained"}]
    plain, explaining, told = (unwrap(gymnasium.make(FREE, split="validation", **each)) for each in kinds)
    for env in (plain, explaining, told):
        env.reset(seed=0)
    listed = plain.reset(seed=0)[1]["admissible_commands"]
    folder = next(each for each in listed if each.startswith("cd "))[3:]
    for command, cause in {
        "frobnicate": "no such verb",
        "lss": "spelling",
        "cat no_such_file.py": "not there",
        "cat /etc/passwd": "not there",
        f"cat {folder}": "wrong thing",
        "echo 'open": "other grammar",
        "test now": "other grammar",
        'patch ["nothing.py", 0, 0, "x"]': "not there",
        "patch x": "other grammar",
        "id setup.py": "no such verb",
        "python -c 'raise SystemExit(3)'": None,
        "grep zeppelin_of_nobody -r .": None,
        "ls": None,
        "exit": "wrong repair",
    }.items():
        *step, info = plain.step(command)
        *same, explained = explaining.step(command)
        reason = explained.pop("why")
        assert (same, explained) == (step, info), command
        assert (reason and reason.cause) == cause, command
        observation, *rest, more = told.step(command)
        assert rest == step[1:]
        assert more.pop("why") == reason
        said = info["feedback"]
        words = "" if reason is None else f" {reason.words if step[2] else reason.sentence}"
        assert more["feedback"] == said + words
        assert observation == (step[0] if reason is None else step[0].replace(said, said + words))
        assert len(observation) <= plain.observation_space.max_length + LONGEST


def test_a_word_is_found_by_one_slip_without_preparation_too() -> None:
    known = ["drawer", "shelf", "cup"]
    slips = {"drawer": "drawer", "drwer": "drawer", "draweer": "drawer", "drawre": "drawer", "drawir": "drawer"}
    slips |= {"cpu": "cup", "cupp": "cup", "darwre": "", "cu": "", "selfie": "", "x" * 100_000: "", "": ""}
    assert {word: misspelt(word, known) or "" for word in slips} == slips
