"""Play the environments in TRL's GRPO: a rollout function, an environment with a tool, and the reward.

    trainer = GRPOTrainer(model, reward_funcs=reward, rollout_func=rollout(ID), train_dataset=tasks(ID), ...)

An episode is one completion: what the model wrote, and between its lines what the environment answered, which TRL's
`env_mask` keeps out of the loss. `environment(ID)` is the same game for models that call tools.
"""

# Torch and TRL are in extras; a trainer hands its own objects in, whose types depend on the version.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Any

from natlang_envs.cli_support import make_env
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from natlang_envs.prompt import CHAT_ROLE, chat_messages, state_prompt

Rollout = Callable[[list[Any], Any], dict[str, Any]]

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
"""A plain chat template, for tokenizers that have none: `tokenizer.chat_template = CHAT_TEMPLATE`."""


def tasks(id: str, count: int = 512, **kwargs: Any) -> list[dict[str, str]]:
    """Return rows `{"prompt": task id}` for `datasets.Dataset.from_list`.

    Args:
        id: The environment.
        count: At most so many tasks, the first of the split.
        **kwargs: What the environment is made with, such as `split="train"`.
    """
    return [{"prompt": task_id} for task_id in islice(make_env(id, **kwargs).tasks.ids(), count)]


def reward(completions: list[Any], episode_reward: list[float], **_: Any) -> list[float]:
    """Return what each episode earned, divided by the environment's largest reward; for `reward_funcs`."""
    return episode_reward


@dataclass
class _Episode:
    """One game, and its tokens so far."""

    env: NatLangEnv
    prompt: list[int]
    context: list[int]
    completion: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    mask: list[int] = field(default_factory=list[int])
    earned: float = 0.0
    ended: bool = False

    def add(self, tokens: list[int], logprobs: list[float] | None) -> None:
        """Append tokens of the model's (with log-probabilities) or of the environment's (without)."""
        self.context += tokens
        self.completion += tokens
        self.logprobs += logprobs or [0.0] * len(tokens)
        self.mask += [int(logprobs is not None)] * len(tokens)


def rollout(
    id: str,
    *,
    listed_only: bool = True,
    turns: int | None = None,
    max_new_tokens: int = 16,
    max_tokens: int = 1024,
    **kwargs: Any,
) -> Rollout:
    """Return a function for `GRPOTrainer(rollout_func=...)` that plays one episode for each prompt.

    The prompts are task ids, as `tasks` gives them. The model writes a line, which is the command; the answer and the
    next observation follow, until the game ends. All games of a batch go in step, so that a turn is one `generate`.

    Args:
        id: The environment.
        listed_only: Whether only tokens of listed commands can be drawn. A model that does not know the form yet would
            otherwise earn the same in every episode, and GRPO learns from differences.
        turns: The most commands of an episode; without it the environment's horizon.
        max_new_tokens: The most tokens of a command.
        max_tokens: An episode ends when prompt and completion together would be longer.
        **kwargs: What the environment is made with.
    """

    def play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        tokenizer = getattr(trainer, "processing_class", None)
        if tokenizer is None or tokenizer.eos_token_id is None:
            raise UsageError("the trainer's processing_class must be a tokenizer with an end-of-sequence token")
        episodes = [_begin(make_env(id, **kwargs), str(prompt), tokenizer) for prompt in prompts]
        for _ in range(turns or episodes[0].env.horizon):
            going = [each for each in episodes if not each.ended]
            if not going:
                break
            lines = _generate(going, trainer, max_new_tokens, listed_only)
            for episode, (tokens, logprobs) in zip(going, lines, strict=True):
                episode.add(tokens, logprobs)
                _step(episode, tokens, tokenizer, max_tokens)
        return {
            "prompt_ids": [each.prompt for each in episodes],
            "completion_ids": [each.completion for each in episodes],
            "logprobs": [each.logprobs for each in episodes],
            "env_mask": [each.mask for each in episodes],
            "episode_reward": [each.earned / each.env.reward_scale for each in episodes],
        }

    return play


def _begin(env: NatLangEnv, task_id: str, tokenizer: Any) -> _Episode:
    observation, info = env.reset(options={"task_id": task_id})
    state = state_prompt(info["task"], [], observation)
    if tokenizer.chat_template:
        messages = chat_messages(state, info["admissible_commands"])
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    else:
        text = f"{CHAT_ROLE}\n\n{state}\n{_listed(info)}\n>"
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    return _Episode(env, list(tokens), list(tokens))


def _listed(info: dict[str, Any]) -> str:
    return "Actions: " + "; ".join(info["admissible_commands"])


def _step(episode: _Episode, tokens: list[int], tokenizer: Any, max_tokens: int) -> None:
    """Give the command that the model wrote, and append what the environment answers."""
    written = tokenizer.decode(tokens, skip_special_tokens=True).strip()
    observation, earned, terminated, truncated, info = episode.env.step(written.partition("\n")[0].strip())
    episode.earned += float(earned)
    answer = f"\n{info['feedback']}\n{observation}\n{_listed(info)}\n>"
    told = list(tokenizer(answer, add_special_tokens=False)["input_ids"])
    episode.ended = terminated or truncated or len(episode.context) + len(told) >= max_tokens
    if not episode.ended:  # the last tokens of a completion are the model's
        episode.add(told, None)


def _generate(
    going: list[_Episode], trainer: Any, max_new_tokens: int, listed_only: bool
) -> list[tuple[list[int], list[float]]]:
    """Return each episode's next line: its tokens and their log-probabilities."""
    torch: Any = import_module("torch")  # natlang_envs itself does without
    model = trainer.accelerator.unwrap_model(trainer.model)
    end = trainer.processing_class.eos_token_id
    longest = max(len(each.context) for each in going)
    rows = [[end] * (longest - len(each.context)) + each.context for each in going]
    attention = [[0] * (longest - len(each.context)) + [1] * len(each.context) for each in going]
    allowed = _listed_tokens(going, trainer.processing_class, longest) if listed_only else None
    device = next(model.parameters()).device
    training = model.training
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
    found: list[tuple[list[int], list[float]]] = []
    for tokens, logprobs in zip(written.tolist(), chances.tolist(), strict=True):
        length = _line(tokens, end, trainer.processing_class)
        found.append((tokens[:length], logprobs[:length]))
    return found


def _listed_tokens(going: list[_Episode], tokenizer: Any, start: int) -> Callable[[int, Any], list[int]]:
    """Return the function that says which tokens may come next: those that go on with a listed command."""
    end = tokenizer.eos_token_id
    commands = [
        [tokenizer(f"{each}\n", add_special_tokens=False)["input_ids"] for each in episode.env.action_space.commands]
        for episode in going
    ]

    def allowed(index: int, sequence: Any) -> list[int]:
        written = sequence[start:].tolist()
        length = len(written)
        following = {each[length] for each in commands[index] if each[:length] == written and len(each) > length}
        return sorted(following) or [end]

    return allowed


def _line(tokens: list[int], end: int, tokenizer: Any) -> int:
    """Return how many tokens make the first line; what is generated after it for the sake of others is dropped."""
    for length, token in enumerate(tokens, start=1):
        if token == end or "\n" in tokenizer.decode([token]):
            return length
    return len(tokens)


def environment(id: str, **kwargs: Any) -> type:
    """Return a class for `GRPOTrainer(environment_factory=...)`, whose tool `act` gives a command.

    The rows of the data set carry `task_id`. `get_reward` is what the episode earned, divided by the environment's
    largest reward.

    Args:
        id: The environment.
        **kwargs: What the environment is made with.
    """

    class Game:
        """One game, played by calls of `act`."""

        def __init__(self) -> None:
            self._env = make_env(id, **kwargs)
            self._earned = 0.0
            self._ended = True

        def reset(self, task_id: str | None = None, **_: Any) -> str:
            self._earned, self._ended = 0.0, False
            observation, info = self._env.reset(options={"task_id": task_id} if task_id else None)
            return f"{state_prompt(info['task'], [], observation)}\n{_listed(info)}"

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
            return f"{info['feedback']}\n{observation}" if self._ended else f"{observation}\n{_listed(info)}"

        def get_reward(self) -> float:
            return self._earned / self._env.reward_scale

    return Game
