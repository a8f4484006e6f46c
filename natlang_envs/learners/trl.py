"""TRL's GRPO: a rollout function, an environment with a tool, rows, and the reward.

    trainer = GRPOTrainer(model, reward, config, Dataset.from_list(tasks(ID)), rollout_func=rollout(ID), ...)

An episode is one completion: what the model wrote, and between its lines what the environment answered, which TRL's
`env_mask` keeps out of the loss. `environment(ID)` is the same game for models that call tools; its rows are
`tasks(ID, chat=True)`. All take the split `"train"` by default.
"""

# Torch and TRL are in extras, and a trainer's own objects are of types that depend on the version.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Any

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, check_count, check_flag
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.learners.trl_writing import Form, write
from natlang_envs.make_env import make_env
from natlang_envs.prompt import CHAT_ROLE, Screen, chat_messages, listed, state_prompt
from natlang_envs.tasks import check_learning_split

warn_if_untested("trl")
Rollout = Callable[[list[Any], Any], dict[str, Any]]

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
"""A plain chat template, for tokenizers that have none: `tokenizer.chat_template = CHAT_TEMPLATE`."""

_THINKING_ROLE = (
    "You act in an environment of texts. Answer with a line of thought, then one of the listed actions, word for word, "
    "in a line of its own, and nothing else."
)
_TOOL_ROLE = "Play by calling `act` with one of the listed commands, word for word, until the game has ended."


def _maker(id: str, split: str | None, allow_test: bool, kwargs: dict[str, Any]) -> Callable[[], NatLangEnv]:
    """Return a function that makes the environment, once it is checked that this and learning from it are possible."""
    check_learning_split(split, allow_test)
    given = kwargs if split is None else {"split": split, **kwargs}
    make_env(id, **given).close()
    return lambda: make_env(id, **given)


def tasks(
    id: str,
    count: int = 512,
    *,
    chat: bool = False,
    split: str | None = "train",
    allow_test: bool = False,
    **kwargs: Any,
) -> list[dict[str, Any]]:
    """Return rows for `datasets.Dataset.from_list`: task ids, or those of `environment`.

    Args:
        id: The environment.
        count: The most tasks. From a larger split they are sampled as `reset` does, the same ones every time.
        chat: Whether the rows are for `environment`: messages as `prompt`, and the task's id as `task_id`.
        split: The split of the tasks; None for an environment that takes no split.
        allow_test: Also needed for a split that may hold test tasks, and for None.
        **kwargs: What else the environment is made with.

    Raises:
        UsageError: The environment cannot be made, the split is not one to learn from, or `count` is below 1.
    """
    check_flag("chat", chat)
    found = _task_ids(_maker(id, split, allow_test, kwargs)(), count)
    if chat:
        return [{"prompt": [{"role": "user", "content": _TOOL_ROLE}], "task_id": each} for each in found]
    return [{"prompt": each} for each in found]


def _task_ids(env: NatLangEnv, count: int) -> list[str]:
    """Return all tasks of a small split, or `count` of a large one; its first ones may be alike (one room)."""
    check_count("count", count)
    first = list(islice(env.tasks.ids(), count + 1))
    if len(first) <= count:
        return first
    uniform = random.Random(0).random
    found = dict.fromkeys(env.tasks.draw(uniform) for _ in range(20 * count))  # enough to meet all but the rarest
    return list(islice(dict.fromkeys((*found, *first)), count))


def demonstrations(
    id: str,
    tokenizer: Any,
    count: int = 512,
    *,
    thoughts: Callable[[NatLangEnv, str], str] | None = None,
    slips: float = 0.0,
    seed: int = 0,
    changes_only: bool = False,
    **settings: Any,
) -> list[dict[str, list[int]]]:
    """Return rows for TRL's `SFTTrainer`: plans, as `rollout` plays them.

    GRPO learns from episodes that differ, so a model that never wins is shown some of these first.

    Args:
        id: The environment.
        tokenizer: The model's.
        count: The most tasks.
        thoughts: A function of the environment and its observation: the line of thought before the plan's next command;
            for a `rollout` with `think`.
        slips: The share of random commands in place of the plan's, which goes on from there. A model trained with some
            stays unsure of its commands, so its episodes differ.
        seed: Seeds the slips.
        changes_only: As in `rollout`.
        **settings: What else `tasks` takes, and may raise `UsageError` for.

    Raises:
        UsageError: `slips` is not a share below 1, or as in `tasks`.
    """
    if not 0 <= slips < 1:
        raise UsageError(f"slips must be at least 0 and below 1, not {slips}")
    split, allow_test = settings.pop("split", "train"), settings.pop("allow_test", False)
    env, rows = _maker(id, split, allow_test, settings)(), list[dict[str, list[int]]]()
    draw = random.Random(seed)
    for task_id in _task_ids(env, count):
        episode, plan = _begin(env, task_id, tokenizer, changes_only, thoughts is not None), list[str]()
        while not episode.ended and (plan := plan or env.reference()):
            command = plan.pop(0)
            if draw.random() < slips:
                command, plan = draw.choice(env.action_space.commands), []
            tokens = _tokens(tokenizer, f"{command}\n")
            if thoughts:
                tokens = _tokens(tokenizer, f"{thoughts(env, episode.screen.observation)}\n") + tokens
            episode.written += [(token, 0.0) for token in tokens]
            _step(episode, tokens, command, tokenizer, float("inf"))
        labels = [-100 if chance is None else token for token, chance in episode.written]
        rows.append({"input_ids": episode.context, "labels": [-100] * len(episode.prompt) + labels})
    return rows


def reward(
    completions: list[Any],
    episode_reward: list[float],
    episode_cut: Sequence[bool] = (),
    episode_won: Sequence[bool] = (),
    log_metric: Callable[[str, float], None] | None = None,
    **_: Any,
) -> list[float]:
    """Return each episode's return, divided by the largest reward, for `reward_funcs`.

    Where TRL hands in `log_metric`, the shares of episodes that were won and that `max_tokens` cut are logged as
    `episodes/won` and `episodes/cut`.
    """
    for name, marks in (("cut", episode_cut), ("won", episode_won)):
        if log_metric is not None and marks:
            log_metric(f"episodes/{name}", sum(marks) / len(marks))
    return episode_reward


@dataclass
class _RolloutEpisode:
    """One game, and its tokens so far: those of the model's have log-probabilities, those of the environment's none."""

    env: NatLangEnv
    prompt: list[int]
    screen: Screen
    written: list[tuple[int, float | None]] = field(default_factory=list[tuple[int, float | None]])
    earned: float = 0.0
    steps: int = 0
    ended: bool = False
    won: bool = False
    cut: bool = False

    @property
    def context(self) -> list[int]:
        """All tokens, from the prompt on."""
        return self.prompt + [token for token, _ in self.written]


def rollout(
    id: str,
    *,
    listed_only: bool = True,
    think: int = 0,
    turns: int | None = None,
    max_new_tokens: int = 16,
    max_tokens: int | None = None,
    changes_only: bool = False,
    split: str | None = "train",
    allow_test: bool = False,
    **kwargs: Any,
) -> Rollout:
    """Return a function for `GRPOTrainer(rollout_func=...)`: one episode per prompt.

    The prompts are task ids, as `tasks` gives them. The model writes a line, which is the command; the answer and the
    next observation follow, until the game ends. All games of a batch go in step, so that a turn is one `generate`.
    The completion of a game that ended ends in EOS, which is the environment's; one that `turns` or `max_tokens` cut
    does not, so that TRL's `mask_truncated_completions` leaves those and no others out.

    Args:
        id: The environment.
        listed_only: Whether only tokens of listed commands can be sampled. A model that does not know the form yet
            would otherwise earn the same in every episode, and GRPO learns from differences.
        think: The most tokens of a line of thought that the model writes before each command; 0 for none. It is the
            model's, and so in the loss.
        turns: The most commands of an episode; without it the environment's horizon.
        max_new_tokens: The most tokens of a command.
        max_tokens: An episode is cut where prompt and completion together could become longer; without it the length
            that the model takes. The first cut is warned of; `episode_cut` of the returned fields marks each.
        changes_only: Whether an answer shows of the observation only what changed, and the commands only where they
            did. The texts of episodes are shorter: to a third in DangerousTaxi.
        split: The split that the tasks are of; None for an environment that takes no split.
        allow_test: Also needed for a split that may hold test tasks, and for None.
        **kwargs: What else the environment is made with.

    Raises:
        UsageError: The environment cannot be made, the split is not one to learn from, or a number is below 1. The
            function itself raises it for a prompt that is no task of the split or is too long, and for `max_tokens`
            beyond what the model takes.
    """
    numbers = {"turns": turns, "max_new_tokens": max_new_tokens, "max_tokens": max_tokens, "think": think or None}
    for name, given in numbers.items():
        if given is not None:
            check_count(name, given)
    check_flag("listed_only", listed_only)
    check_flag("changes_only", changes_only)
    make = _maker(id, split, allow_test, kwargs)
    warned = False

    def play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        nonlocal warned
        tokenizer = getattr(trainer, "processing_class", None)
        if getattr(trainer, "use_vllm", False):
            raise UsageError("rollout generates with the model itself: leave use_vllm out, or use environment(ID)")
        if tokenizer is None or tokenizer.eos_token_id is None:
            raise UsageError("the trainer's processing_class must be a tokenizer with an end-of-sequence token")
        limit, form = _limit(max_tokens, trainer), Form(tokenizer, think, max_new_tokens, listed_only)
        episodes = [_begin(make(), str(prompt), tokenizer, changes_only, think > 0) for prompt in prompts]
        for episode, prompt in zip(episodes, prompts, strict=True):
            if len(episode.prompt) + form.longest > limit:
                written = "a thought and a command" if think else "a command"
                room = f"{len(episode.prompt)} tokens, and {written} up to {form.longest}"
                most = "the model takes" if max_tokens is None else "max_tokens allows"
                raise UsageError(f"the prompt of {prompt} has {room}: more than {most} ({limit:.0f})")
        for _ in range(turns or episodes[0].env.horizon):
            going = [each for each in episodes if not each.ended and not each.cut]
            if not going:
                break
            commands = [each.env.action_space.commands for each in going]
            turn = write([each.context for each in going], commands, trainer, form)
            for episode, (tokens, chances, command) in zip(going, turn, strict=True):
                episode.written += zip(tokens, chances, strict=True)
                _step(episode, tokens, command, tokenizer, limit - form.longest)
        cut = [each.steps for each in episodes if each.cut]
        if cut and not warned:
            warned = True
            warnings.warn(
                f"{len(cut)} of {len(episodes)} episodes were cut at max_tokens={limit:.0f}, the first of them after "
                f"{min(cut)} commands; this is said once, and `episode_cut` marks each",
                stacklevel=2,
            )
        return {
            "prompt_ids": [each.prompt for each in episodes],
            "completion_ids": [[token for token, _ in each.written] for each in episodes],
            "logprobs": [[chance or 0.0 for _, chance in each.written] for each in episodes],
            "env_mask": [[int(chance is not None) for _, chance in each.written] for each in episodes],
            "episode_reward": [each.earned / each.env.reward_scale for each in episodes],
            "episode_cut": [each.cut for each in episodes],
            "episode_won": [each.won for each in episodes],
        }

    return play


def _limit(max_tokens: int | None, trainer: Any) -> float:
    """Return the most tokens of an episode: what was asked for, which the model has to take, or what it takes."""
    config = trainer.accelerator.unwrap_model(trainer.model).config.get_text_config()
    takes = getattr(config, "max_position_embeddings", None) or float("inf")
    if max_tokens is not None and max_tokens > takes:
        raise UsageError(f"max_tokens={max_tokens} is more than the {takes} tokens that the model takes: ask for fewer")
    return takes if max_tokens is None else max_tokens


def _begin(env: NatLangEnv, task_id: str, tokenizer: Any, changes_only: bool, thinks: bool) -> _RolloutEpisode:
    observation, info = env.reset(options={"task_id": task_id})
    state, role = state_prompt(info["task"], [], observation), _THINKING_ROLE if thinks else CHAT_ROLE
    if tokenizer.chat_template:
        messages = chat_messages(state, info["admissible_commands"], role)
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    else:
        text = f"{role}\n\n{state}\n{listed(info['admissible_commands'])}\n>"
    return _RolloutEpisode(env, _tokens(tokenizer, text), Screen(observation, info, changes_only))


def _tokens(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _step(episode: _RolloutEpisode, tokens: list[int], command: str, tokenizer: Any, longest: float) -> None:
    """Give the command that the model wrote, and append what the environment answers, or EOS where the game ended."""
    observation, earned, terminated, truncated, info = episode.env.step(command)
    episode.earned += float(earned)
    episode.steps += 1
    episode.ended, episode.won = terminated or truncated, info["success"]
    if episode.ended:
        if tokens[-1] != tokenizer.eos_token_id:
            episode.written.append((tokenizer.eos_token_id, None))
        return
    answer = _tokens(tokenizer, f"\n{episode.screen.after(observation, info)}\n>")
    episode.cut = len(episode.context) + len(answer) > longest
    if episode.cut:  # an EOS of the model's, in the middle of a game, may not stand last: TRL would take it for the end
        answer = answer[:1] if tokens[-1] == tokenizer.eos_token_id else []
    episode.written += ((token, None) for token in answer)


def environment(
    id: str, *, changes_only: bool = False, split: str | None = "train", allow_test: bool = False, **kwargs: Any
) -> type:
    """Return a class for `GRPOTrainer(environment_factory=...)` with the tool `act`.

    The rows of the data set are those of `tasks(id, chat=True)`, and may have columns of your own. `get_reward` is what
    the episode earned, divided by the environment's largest reward.

    Args:
        id: The environment.
        changes_only: As in `rollout`.
        split: The split that the tasks are of; None for an environment that takes no split.
        allow_test: Also needed for a split that may hold test tasks, and for None.
        **kwargs: What else the environment is made with.

    Raises:
        UsageError: The environment cannot be made, or the split is not one to learn from. `reset` of the class raises
            it for a row without a task of the split.
    """
    check_flag("changes_only", changes_only)
    make = _maker(id, split, allow_test, kwargs)

    class Game:
        """One game, played by calls of `act`."""

        def __init__(self) -> None:
            self._env = make()
            self._earned = 0.0
            self._ended = True

        def reset(self, task_id: str | None = None, **columns: Any) -> str:
            # All rows of a group have one task: sampled here, its games could not be compared.
            near = [name for name in columns if get_close_matches(name.lower(), ["task_id"], cutoff=0.8)]
            if task_id is None or near:
                found = f"the column {near[0]!r} is not 'task_id'" if near else "a row has no column 'task_id'"
                raise UsageError(f"{found}: make the rows with natlang_envs.learners.trl.tasks(ID, chat=True)")
            self._earned, self._ended = 0.0, False
            observation, info = self._env.reset(options={"task_id": task_id})
            self._screen = Screen(observation, info, changes_only)
            state = state_prompt(info["task"], [], observation)
            return f"\n\n{state}\n{listed(info['admissible_commands'])}"  # TRL glues it to the prompt

        def act(self, command: str) -> str:
            """Give one command in the game.

            Args:
                command: One of the listed commands, word for word.

            Returns:
                What happened, and the commands that can be given next.
            """
            if self._ended:
                return "The game has ended."
            observation, earned, terminated, truncated, info = self._env.step(command)
            self._earned += float(earned)
            self._ended = terminated or truncated
            return self._screen.after(observation, info, self._ended)

        def get_reward(self) -> float:
            return self._earned / self._env.reward_scale

    return Game
