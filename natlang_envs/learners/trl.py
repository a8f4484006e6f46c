"""Play the environments in TRL's GRPO: a rollout function, an environment with a tool, the rows, and the reward.

    trainer = GRPOTrainer(model, reward, config, Dataset.from_list(tasks(ID)), rollout_func=rollout(ID), ...)

An episode is one completion: what the model wrote, and between its lines what the environment answered, which TRL's
`env_mask` keeps out of the loss. `environment(ID)` is the same game for models that call tools; its rows are
`tasks(ID, chat=True)`. All take the split `"train"` unless told otherwise.
"""

# Torch and TRL are in extras, and a trainer's own objects are of types that depend on the version.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from itertools import islice
from typing import Any

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from natlang_envs.learners.tried import tell_if_untried
from natlang_envs.making import make_env
from natlang_envs.prompt import CHAT_ROLE, chat_messages, state_prompt
from natlang_envs.tasks import check_learning_split

tell_if_untried("trl")
Rollout = Callable[[list[Any], Any], dict[str, Any]]

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
"""A plain chat template, for tokenizers that have none: `tokenizer.chat_template = CHAT_TEMPLATE`."""

_TOOL_ROLE = "Play by calling `act` with one of the listed commands, word for word, until the game has ended."


def _maker(id: str, split: str | None, allow_test: bool, kwargs: dict[str, Any]) -> Callable[[], NatLangEnv]:
    """Return what makes the environment, once it is known that it can be made and learned from."""
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
    """Return rows for `datasets.Dataset.from_list`: `{"prompt": task id}`, or those that `environment` takes.

    Args:
        id: The environment.
        count: At most so many tasks. Of a larger split they are drawn as `reset` draws them, the same ones every time.
        chat: Whether the rows are for `environment`: messages as `prompt`, and the task's id as `task_id`.
        split: The split of the tasks; None for an environment that takes no split.
        allow_test: Needed besides for a split that may hold test tasks, and for None.
        **kwargs: What else the environment is made with.

    Raises:
        UsageError: The environment cannot be made, the split is not one to learn from, or `count` is below 1.
    """
    found = _drawn(_maker(id, split, allow_test, kwargs)(), count)
    if chat:
        return [{"prompt": [{"role": "user", "content": _TOOL_ROLE}], "task_id": each} for each in found]
    return [{"prompt": each} for each in found]


def _drawn(env: NatLangEnv, count: int) -> list[str]:
    """Return all tasks of a small split, or so many of a large one: its first are all alike (one room of ALFWorld)."""
    if count < 1:
        raise UsageError(f"count must be at least 1, not {count}")
    first = list(islice(env.tasks.ids(), count + 1))
    if len(first) <= count:
        return first
    uniform = random.Random(0).random
    found = dict.fromkeys(env.tasks.draw(uniform) for _ in range(20 * count))  # enough to meet all but the rarest
    return list(islice(dict.fromkeys((*found, *first)), count))


def demonstrations(id: str, tokenizer: Any, count: int = 512, **settings: Any) -> list[dict[str, list[int]]]:
    """Return rows for TRL's `SFTTrainer`: the environment's own plans, as `rollout` plays them.

    GRPO learns from episodes that differ, so a model that never wins is shown some of these first.

    Args:
        id: The environment.
        tokenizer: The model's.
        count: At most so many tasks.
        **settings: What else `tasks` takes, and may raise `UsageError` for.
    """
    split, allow_test = settings.pop("split", "train"), settings.pop("allow_test", False)
    env, rows = _maker(id, split, allow_test, settings)(), list[dict[str, list[int]]]()
    for episode in (_begin(env, task_id, tokenizer) for task_id in _drawn(env, count)):
        for command in env.reference():
            tokens = _tokens(tokenizer, f"{command}\n")
            episode.written += [(token, 0.0) for token in tokens]
            _step(episode, tokens, tokenizer, float("inf"))
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
    """Return what each episode earned, divided by the environment's largest reward; for `reward_funcs`.

    Where TRL hands in `log_metric`, the shares of episodes that were won and that `max_tokens` cut are logged as
    `episodes/won` and `episodes/cut`.
    """
    for name, marks in (("cut", episode_cut), ("won", episode_won)):
        if log_metric is not None and marks:
            log_metric(f"episodes/{name}", sum(marks) / len(marks))
    return episode_reward


@dataclass
class _Episode:
    """One game, and its tokens so far: those of the model's have log-probabilities, those of the environment's none."""

    env: NatLangEnv
    prompt: list[int]
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
    turns: int | None = None,
    max_new_tokens: int = 16,
    max_tokens: int | None = None,
    split: str | None = "train",
    allow_test: bool = False,
    **kwargs: Any,
) -> Rollout:
    """Return a function for `GRPOTrainer(rollout_func=...)` that plays one episode for each prompt.

    The prompts are task ids, as `tasks` gives them. The model writes a line, which is the command; the answer and the
    next observation follow, until the game ends. All games of a batch go in step, so that a turn is one `generate`.
    The completion of a game that ended ends in EOS, which is the environment's; one that `turns` or `max_tokens` cut
    does not, so that TRL's `mask_truncated_completions` leaves those and no others out.

    Args:
        id: The environment.
        listed_only: Whether only tokens of listed commands can be drawn. A model that does not know the form yet would
            otherwise earn the same in every episode, and GRPO learns from differences.
        turns: The most commands of an episode; without it the environment's horizon.
        max_new_tokens: The most tokens of a command.
        max_tokens: An episode is cut where prompt and completion together could become longer; without it the length
            that the model takes. The first cut is warned of; `episode_cut` of the returned fields marks each.
        split: The split that the tasks are of; None for an environment that takes no split.
        allow_test: Needed besides for a split that may hold test tasks, and for None.
        **kwargs: What else the environment is made with.

    Raises:
        UsageError: The environment cannot be made, the split is not one to learn from, or a number is below 1. The
            function itself raises it for a prompt that is no task of the split or is too long, and for `max_tokens`
            beyond what the model takes.
    """
    for name, given in (("turns", turns), ("max_new_tokens", max_new_tokens), ("max_tokens", max_tokens)):
        if given is not None and given < 1:
            raise UsageError(f"{name} must be at least 1, not {given}")
    make = _maker(id, split, allow_test, kwargs)
    told_of_cuts = False

    def play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        nonlocal told_of_cuts
        tokenizer = getattr(trainer, "processing_class", None)
        if getattr(trainer, "use_vllm", False):
            raise UsageError("rollout generates with the model itself: leave use_vllm out, or use environment(ID)")
        if tokenizer is None or tokenizer.eos_token_id is None:
            raise UsageError("the trainer's processing_class must be a tokenizer with an end-of-sequence token")
        limit = _limit(max_tokens, trainer)
        episodes = [_begin(make(), str(prompt), tokenizer) for prompt in prompts]
        for episode, prompt in zip(episodes, prompts, strict=True):
            if len(episode.prompt) + max_new_tokens > limit:
                room = f"{len(episode.prompt)} tokens, and a command up to {max_new_tokens}"
                most = "the model takes" if max_tokens is None else "max_tokens allows"
                raise UsageError(f"the prompt of {prompt} has {room}: more than {most} ({limit:.0f})")
        for _ in range(turns or episodes[0].env.horizon):
            going = [each for each in episodes if not each.ended and not each.cut]
            if not going:
                break
            lines = _generate(going, trainer, max_new_tokens, listed_only)
            for episode, (tokens, logprobs) in zip(going, lines, strict=True):
                episode.written += zip(tokens, logprobs, strict=True)
                _step(episode, tokens, tokenizer, limit - max_new_tokens)
        cut = [each.steps for each in episodes if each.cut]
        if cut and not told_of_cuts:
            told_of_cuts = True
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


def _begin(env: NatLangEnv, task_id: str, tokenizer: Any) -> _Episode:
    observation, info = env.reset(options={"task_id": task_id})
    state = state_prompt(info["task"], [], observation)
    if tokenizer.chat_template:
        messages = chat_messages(state, info["admissible_commands"])
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    else:
        text = f"{CHAT_ROLE}\n\n{state}\n{_listed(info)}\n>"
    return _Episode(env, _tokens(tokenizer, text))


def _tokens(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _listed(info: dict[str, Any]) -> str:
    return "Actions: " + "; ".join(info["admissible_commands"])


def _answer(observation: str, info: dict[str, Any]) -> str:
    """Return what a command showed: its feedback, unless the observation tells that, and the observation."""
    return observation if info["feedback"] in observation else f"{info['feedback']}\n{observation}"


def _step(episode: _Episode, tokens: list[int], tokenizer: Any, longest: float) -> None:
    """Give the command that the model wrote, and append what the environment answers, or EOS where the game ended."""
    written = tokenizer.decode(tokens, skip_special_tokens=True).strip()
    observation, earned, terminated, truncated, info = episode.env.step(written.partition("\n")[0].strip())
    episode.earned += float(earned)
    episode.steps += 1
    episode.ended, episode.won = terminated or truncated, info["success"]
    if episode.ended:
        if tokens[-1] != tokenizer.eos_token_id:
            episode.written.append((tokenizer.eos_token_id, None))
        return
    told = _tokens(tokenizer, f"\n{_answer(observation, info)}\n{_listed(info)}\n>")
    episode.cut = len(episode.context) + len(told) > longest
    if episode.cut:  # an EOS of the model's, in the middle of a game, may not stand last: TRL would take it for the end
        told = told[:1] if tokens[-1] == tokenizer.eos_token_id else []
    episode.written += ((token, None) for token in told)


def _generate(
    going: list[_Episode], trainer: Any, max_new_tokens: int, listed_only: bool
) -> list[tuple[list[int], list[float]]]:
    """Return each episode's next line: its tokens and their log-probabilities."""
    torch: Any = import_module("torch")  # natlang_envs itself does without
    model = trainer.accelerator.unwrap_model(trainer.model)
    end = trainer.processing_class.eos_token_id
    contexts = [each.context for each in going]
    longest = max(map(len, contexts))
    rows = [[end] * (longest - len(each)) + each for each in contexts]
    attention = [[0] * (longest - len(each)) + [1] * len(each) for each in contexts]
    allowed = _listed_tokens(going, trainer.processing_class, longest) if listed_only else None
    device, training = next(model.parameters()).device, model.training
    model.eval()
    with torch.no_grad():
        done = model.generate(
            input_ids=torch.tensor(rows, device=device),
            attention_mask=torch.tensor(attention, device=device),
            do_sample=True,
            temperature=trainer.args.temperature,
            max_new_tokens=max_new_tokens,
            pad_token_id=end,
            stop_strings=["\n"],
            prefix_allowed_tokens_fn=allowed,
            tokenizer=trainer.processing_class,
            output_logits=True,
            return_dict_in_generate=True,
        )
    model.train(training)
    written = done.sequences[:, longest:]
    logits = torch.stack(done.logits, 1).float() / trainer.args.temperature
    chances = logits.log_softmax(-1).gather(-1, written[..., None])[..., 0]
    lines = zip(written.tolist(), chances.tolist(), strict=True)
    lengths = (_line(tokens, end, trainer.processing_class) for tokens in written.tolist())
    return [(tokens[:length], logprobs[:length]) for length, (tokens, logprobs) in zip(lengths, lines, strict=True)]


def _listed_tokens(going: list[_Episode], tokenizer: Any, start: int) -> Callable[[int, Any], list[int]]:
    """Return the function that says which tokens may come next: those that go on with a listed command."""
    end = tokenizer.eos_token_id
    commands = [[_tokens(tokenizer, f"{each}\n") for each in one.env.action_space.commands] for one in going]

    def allowed(index: int, sequence: Any) -> list[int]:
        written = sequence[start:].tolist()
        length = len(written)
        following = {each[length] for each in commands[index] if each[:length] == written and len(each) > length}
        return sorted(following) or [end]

    return allowed


def _line(tokens: list[int], end: int, tokenizer: Any) -> int:
    """Return how many tokens make the first line; what is generated after it for the sake of others is dropped."""
    ends = (length for length, each in enumerate(tokens, 1) if each == end or "\n" in tokenizer.decode([each]))
    return next(ends, len(tokens))


def environment(id: str, *, split: str | None = "train", allow_test: bool = False, **kwargs: Any) -> type:
    """Return a class for `GRPOTrainer(environment_factory=...)`, whose tool `act` gives a command.

    The rows of the data set are those of `tasks(id, chat=True)`, or have columns of your own besides. `get_reward` is
    what the episode earned, divided by the environment's largest reward.

    Args:
        id: The environment.
        split: The split that the tasks are of; None for an environment that takes no split.
        allow_test: Needed besides for a split that may hold test tasks, and for None.
        **kwargs: What else the environment is made with.

    Raises:
        UsageError: The environment cannot be made, or the split is not one to learn from. `reset` of the class raises
            it for a row without a task of the split.
    """
    make = _maker(id, split, allow_test, kwargs)

    class Game:
        """One game, played by calls of `act`."""

        def __init__(self) -> None:
            self._env = make()
            self._earned = 0.0
            self._ended = True

        def reset(self, task_id: str | None = None, **columns: Any) -> str:
            # All rows of a group have one task: drawn here, its games could not be compared.
            near = [name for name in columns if get_close_matches(name.lower(), ["task_id"], cutoff=0.8)]
            if task_id is None or near:
                found = f"the column {near[0]!r} is not 'task_id'" if near else "a row has no column 'task_id'"
                raise UsageError(f"{found}: make the rows with natlang_envs.learners.trl.tasks(ID, chat=True)")
            self._earned, self._ended = 0.0, False
            observation, info = self._env.reset(options={"task_id": task_id})
            return f"\n\n{state_prompt(info['task'], [], observation)}\n{_listed(info)}"  # TRL glues it to the prompt

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
            answer = _answer(observation, info)
            return answer if self._ended else f"{answer}\n{_listed(info)}"

        def get_reward(self) -> float:
            return self._earned / self._env.reward_scale

    return Game
