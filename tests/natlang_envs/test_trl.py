"""`learners.trl` without TRL: a real model, and of the trainer only the attributes that the rollout reads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra agent is not installed")
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.learners.trl import demonstrations, environment, reward, rollout, tasks
from natlang_envs.make_env import make_env

PICKUP, HOUSE = "NatLang/DangerousTaxi-Pickup-v0", "NatLang/ALFWorld-v0"
TINY = str(next((Path(natlang_envs.__file__).parents[1] / "reference_agent/data/models").glob("tiny-*")))


@pytest.fixture
def trainer() -> Any:
    """What plays at random, the same way every time: a model that finds all tokens equally likely."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(TINY, max_position_embeddings=8192)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    return SimpleNamespace(
        processing_class=AutoTokenizer.from_pretrained(TINY, padding_side="left"),
        accelerator=SimpleNamespace(unwrap_model=lambda model: model),
        model=model,
        args=SimpleNamespace(temperature=1.0),
    )


def prompts(id: str, count: int) -> list[str]:
    return [row["prompt"] for row in tasks(id, count)]


@pytest.mark.parametrize("count", [0, -1])
def test_no_rows_at_all_are_refused(count: int, trainer: Any) -> None:
    for rows in (partial(tasks, PICKUP), partial(demonstrations, PICKUP, trainer.processing_class)):
        with pytest.raises(UsageError, match=f"^count must be a whole number of at least 1, not {count}$"):
            rows(count)


def test_the_completions_of_games_that_ended_end_in_eos_and_no_others(trainer: Any) -> None:
    eos = trainer.processing_class.eos_token_id
    played = rollout(PICKUP, turns=1)(prompts(PICKUP, 24), trainer)
    goes_on = [earned == -1 / 20 for earned in played["episode_reward"]]
    assert 0 < sum(goes_on) < 24
    for ids, mask, logprobs, alive in zip(
        played["completion_ids"], played["env_mask"], played["logprobs"], goes_on, strict=True
    ):
        assert len(ids) == len(mask) == len(logprobs)
        assert (ids[-1] == eos) is not alive
        assert mask[-1] == 0
        assert eos not in ids[:-1]
    whole = rollout(PICKUP, horizon=4)(prompts(PICKUP, 24), trainer)  # the horizon ends a game as well
    assert {ids[-1] for ids in whole["completion_ids"]} == {eos}


def test_an_episode_that_max_tokens_cuts_is_told_once_marked_and_not_ended(trainer: Any) -> None:
    eos = trainer.processing_class.eos_token_id
    chosen = prompts(PICKUP, 24)
    play = rollout(PICKUP, max_tokens=200)
    with pytest.warns(
        UserWarning, match=r"of 24 episodes were cut at max_tokens=200, the first of them after 1 command"
    ):
        played = play(chosen, trainer)
    for ids, prompt, cut in zip(played["completion_ids"], played["prompt_ids"], played["episode_cut"], strict=True):
        assert len(prompt) + len(ids) <= 200
        assert (ids[-1] == eos) is not cut
    assert 0 < sum(played["episode_cut"]) < 24
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(chosen, trainer)


def test_a_model_that_ends_its_line_with_eos_has_not_ended_the_game(trainer: Any) -> None:
    eos = trainer.processing_class.eos_token_id
    chosen = prompts(HOUSE, 1)
    longest = len(rollout(HOUSE, turns=1)(chosen, trainer)["prompt_ids"][0])
    trainer.model.generation_config.forced_eos_token_id = eos
    with pytest.warns(UserWarning, match="max_tokens"):
        played = rollout(HOUSE, listed_only=False, max_new_tokens=1, max_tokens=longest + 9)(chosen, trainer)
    assert played["completion_ids"][0][0] == eos
    assert played["completion_ids"][0][-1] != eos
    assert played["env_mask"] == [[1, 0]]


@pytest.mark.slow
def test_without_max_tokens_the_model_is_the_limit_so_that_alfworld_fits(trainer: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        played = rollout(HOUSE, horizon=12)(prompts(HOUSE, 2), trainer)
    assert played["episode_cut"] == [False, False]
    assert all(len(each) > 1024 for each in played["completion_ids"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_tokens": 9000}, "max_tokens=9000 is more than the 8192 tokens that the model takes"),
        ({"max_tokens": 150}, "tokens, and a command up to 16: more than max_tokens allows (150)"),
        ({"max_tokens": 0}, "max_tokens must be a whole number of at least 1, not 0"),
        ({"turns": 0}, "turns must be a whole number of at least 1, not 0"),
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1, not 0"),
        ({"think": -1}, "think must be a whole number of at least 1, not -1"),
        ({"think": 24, "max_tokens": 160}, "tokens, and a thought and a command up to 40: more than max_tokens allows"),
        ({"horizn": 3}, "horizn"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(trainer: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        rollout(PICKUP, **settings)(prompts(PICKUP, 1), trainer)
    assert words in str(refused.value)


@pytest.mark.parametrize("learns", [tasks, rollout, environment])
def test_what_learns_takes_train_and_test_tasks_only_when_asked_twice(learns: Callable[..., Any]) -> None:
    for split in ("test", "all", "tset", "valid_unseen", None):
        with pytest.raises(UsageError, match=r"may hold test tasks: learn from 'train' or 'validation'"):
            learns(PICKUP, split=split)
    for split in ("test", "all", None):
        learns(PICKUP, split=split, allow_test=True)
    learns(PICKUP, split="validation")
    with pytest.raises(UsageError, match="unknown split 'tset'"):
        learns(PICKUP, split="tset", allow_test=True)


def test_a_task_of_another_split_is_not_played(trainer: Any) -> None:
    [task_id] = (row["prompt"] for row in tasks(PICKUP, 1, split="test", allow_test=True))
    for play in (lambda: rollout(PICKUP)([task_id], trainer), lambda: environment(PICKUP)().reset(task_id=task_id)):
        with pytest.raises(UsageError, match="is in the split 'test', not 'train'"):
            play()


def test_the_rows_are_all_tasks_of_a_small_split_and_a_fair_sample_of_a_large_one() -> None:
    assert prompts(PICKUP, 512) == list(make_env(PICKUP, split="train").tasks.ids())
    found = prompts(HOUSE, 64)
    assert found == prompts(HOUSE, 64)
    assert len(set(found)) == 64
    types, rooms = ({task_id.split("/")[part] for task_id in found} for part in (2, 3))
    assert len(types) == 6
    assert len(rooms) > 30
    check = make_env(HOUSE, split="train").tasks.check
    for task_id in found:
        check(task_id)


@pytest.mark.parametrize("id", [PICKUP, HOUSE, "NatLang/AutoExplore-v0"])
def test_the_tool_tells_what_a_command_showed_once(id: str) -> None:
    given: dict[str, Any] = {"split": "train"} | ({"dataset": "embedded"} if "AutoExplore" in id else {})
    [row] = tasks(id, 1, chat=True, **given)
    game, env = environment(id, **given)(), make_env(id, **given)
    begun = game.reset(**row)
    observation, info = env.reset(options={"task_id": row["task_id"]})
    assert begun.startswith("\n\nTask: ")
    assert info["task"] in begun
    for command in env.reference():
        observation, _, terminated, truncated, info = env.step(command)
        answer = game.act(command)
        assert answer.count(info["feedback"]) == 1
        assert observation in answer
        assert ("Actions: " in answer) is not (terminated or truncated)
    assert info["success"]


def test_alfworlds_answer_stands_once_in_a_completion(trainer: Any) -> None:
    played = rollout(HOUSE, turns=3)(prompts(HOUSE, 1), trainer)
    lines = trainer.processing_class.decode(played["completion_ids"][0]).split("\n")
    answers = [line for line in lines if line and not line.startswith(("Actions: ", ">"))]
    assert len(answers) == 1 + 3  # the first command, which has no ">" in the completion, and what the three showed


def test_a_row_without_a_task_is_refused_and_columns_of_others_are_not() -> None:
    game = environment(PICKUP)()
    [row] = tasks(PICKUP, 1, chat=True)
    assert game.reset(**row, source="mine", task="taxi", split="train", answer=3).startswith("\n\n")
    for columns in ({}, {"prompt": row["prompt"]}, {"task_id": None}):
        with pytest.raises(
            UsageError, match=r"a row has no column 'task_id': make the rows with .*tasks\(ID, chat=True\)"
        ):
            game.reset(**columns)
    for name in ("taskid", "task-id", "TaskId", "task_ids"):
        with pytest.raises(UsageError, match=f"the column '{name}' is not 'task_id'"):
            game.reset(**{**row, name: row["task_id"]})


def test_the_reward_is_the_episodes_and_trl_is_told_the_share_that_was_cut() -> None:
    told: dict[str, float] = {}
    assert reward(["", ""], [0.5, -1.0], [True, False], log_metric=told.__setitem__, trainer_state=None) == [0.5, -1.0]
    assert told == {"episodes/cut": 0.5}


def test_a_thought_of_any_tokens_stands_before_each_listed_command_and_in_the_loss(trainer: Any) -> None:
    words, think = trainer.processing_class, 6
    played = rollout(PICKUP, think=think, turns=2, changes_only=True)(prompts(PICKUP, 24), trainer)
    commands = make_env(PICKUP, split="train").action_space.commands
    thoughts = []
    for ids, mask, logprobs in zip(played["completion_ids"], played["env_mask"], played["logprobs"], strict=True):
        turns, own = [], list[int]()
        for token, whose in zip([*ids, words.eos_token_id], [*mask, 0], strict=True):
            if whose:
                own.append(token)
            elif own:
                turns.append(own)
                own = []
        assert 1 <= len(turns) <= 2
        for turn in turns:
            ends = [at for at, token in enumerate(turn) if "\n" in words.decode([token])]
            assert len(ends) == 2
            assert ends[0] < think
            assert words.decode(turn[ends[0] + 1 :]).removesuffix("\n") in commands
            thoughts.append(words.decode(turn[: ends[0]]))
        uniform = -torch.tensor(float(trainer.model.config.vocab_size)).log().item()
        assert [each for each, whose in zip(logprobs, mask, strict=True) if whose] == pytest.approx(
            [uniform] * sum(mask), rel=1e-4
        )
    assert len(set(thoughts)) > 12


def test_demonstrations_say_thoughts_before_commands_and_some_of_them_slip(trainer: Any) -> None:
    words, env = trainer.processing_class, make_env(PICKUP, split="train")

    def thought(env: Any, seen: str) -> str:
        return f"I am there: {seen.rpartition('The taxi is ')[2]} Then {env.reference()[0]}."

    rows = {slips: demonstrations(PICKUP, words, thoughts=thought, slips=slips, seed=1) for slips in (0.0, 0.5)}
    assert rows[0.5] == demonstrations(PICKUP, words, thoughts=thought, slips=0.5, seed=1)
    assert rows[0.5] != demonstrations(PICKUP, words, thoughts=thought, slips=0.5, seed=2)
    right = {}
    for slips, shown in rows.items():
        said = [words.decode([token for token in row["labels"] if token != -100]).splitlines() for row in shown]
        turns = [turn for lines in said for turn in zip(lines[::2], lines[1::2], strict=True)]
        right[slips] = sum(text.endswith(f"Then {command}.") for text, command in turns) / len(turns)
        assert {command for _, command in turns} <= set(env.action_space.commands)
        assert all(text.startswith("I am there: at row ") for text, _ in turns)
    assert right[0.0] == 1
    assert 0.5 < right[0.5] < 0.7  # a sixth of the slips is the plan's command
    with pytest.raises(UsageError, match="slips must be at least 0 and below 1, not 1"):
        demonstrations(PICKUP, words, slips=1)


def test_a_tool_that_tells_changes_only_tells_them_and_lists_commands_where_they_changed() -> None:
    [row] = tasks(PICKUP, 1, chat=True)
    game, env = environment(PICKUP, changes_only=True)(), make_env(PICKUP, split="train")
    begun = game.reset(**row)
    env.reset(options={"task_id": row["task_id"]})
    command = env.reference()[0]
    answer, (seen, *_, info) = game.act(command), env.step(command)
    assert seen.rpartition(" The taxi is")[0] in begun
    assert answer == f"{info['feedback']}\nThe taxi is {seen.rpartition('The taxi is ')[2]}"
