"""Models without fine-tuning, as agents: `--agent zero-shot:MODEL`, `zero-shot-chat:MODEL` and `react:MODEL`.

`zero-shot` is a causal LM on this machine, by hub id or folder. It chooses one of the listed labels, as a trained
policy does, with as much of the path in its prompt as fits. `zero-shot-chat` puts the same prompt into the model's chat
template. `react` is a chat model behind an OpenAI-compatible endpoint that writes a thought and then an action (ReAct)
with the whole path as its memory; it needs no torch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from importlib import resources
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.evaluation.chat_endpoint import OwnEndpoint
from reference_agent.run.config import Config
from reference_agent.run.config_file import EXPERIMENTS, load_config

if TYPE_CHECKING:
    from reference_agent.run.agent import PlayersAgent

UNTUNED_CONFIGS = EXPERIMENTS / "untuned"
UNPARSABLE = "[unparsable] "
_AT_ONCE = 8  # requests in flight
_LONGEST = 200  # characters of an action that nobody listed


def zero_shot_agent(name: str | Path, config: Config | None = None, chat: bool = False) -> PlayersAgent:
    """Return an untuned causal LM that chooses the likeliest of the listed labels, in order; it draws nothing.

    `config` says how it is loaded and which head chooses; with `chat` it is asked in its chat template.
    """
    from reference_agent.models.language_model import LanguageModel
    from reference_agent.models.saycan import with_head
    from reference_agent.run.agent import PlayersAgent  # torch, which `react` does without

    config = config or Config()
    model = LanguageModel.load(name, replace(config.model, chat=chat or config.model.chat))
    return PlayersAgent(with_head(model, config), None, "full")


class Answer(NamedTuple):
    """A model's thought and action; `known` says whether the action is one of the listed commands."""

    thought: str
    action: str
    known: bool


class ReActAgent:
    """A chat model that thinks, then acts; the endpoint draws its words, so every run of a protocol is played.

    An answer whose action is none of the listed commands is *unparsable*: nobody guesses what was meant. What stands
    after the last `Action:` (or the last line) goes to the environment as it is, cut to 200 characters. It is counted
    in `unparsable`, and its recorded reflection is `[unparsable]` and the whole answer.

    `OPENAI_BASE_URL` and `OPENAI_API_KEY` (or Azure's) say where the model is; `NATLANG_TIMEOUT` the most seconds of a
    request, 120 without it; `NATLANG_MAX_TOKENS` where an answer is cut.
    """

    sampling = True

    def __init__(self, model: str) -> None:
        timeout = _above_zero("NATLANG_TIMEOUT", "seconds") or 120.0
        longest = _above_zero("NATLANG_MAX_TOKENS", "tokens")
        self._instructions = resources.files("reference_agent").joinpath("data/react.txt").read_text(encoding="utf-8")
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        limit = None if longest is None else ceil(longest)
        settings = {"timeout": timeout, "agent": "react", "allow_more": "NATLANG_TIMEOUT", "max_tokens": limit}
        self._endpoint = OwnEndpoint(model, **settings)
        self.answers = self.unparsable = 0

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        """Return a decision for each view; several requests are made at once."""
        written = list(self._pool.map(self._ask, views))
        decisions: list[Decision] = []
        for view, (text, tokens) in zip(views, written, strict=True):
            answer = parse(text, view.admissible_commands)
            self.answers += 1
            self.unparsable += not answer.known
            said = answer.thought if answer.known else UNPARSABLE + text.strip()
            decisions.append(Decision(answer.action, said, tokens))
        return decisions

    def _ask(self, view: AgentInput) -> tuple[str, int]:
        """Return what the model writes, and the tokens read and written for it."""
        endpoint = self._endpoint.own
        before = sum(endpoint.tokens)
        listed = "\n".join(["Actions:", *(f"- {command}" for command in view.admissible_commands)])
        text = endpoint.answer(self._instructions, f"{view.prompt()}\n{listed}")
        return text, sum(endpoint.tokens) - before


def parse(text: str, commands: Sequence[str]) -> Answer:
    """Return the thought and the action of an answer.

    The action is what follows the last `Action:` at the beginning of a line, to the end of that line, or of the next
    one where nothing follows; without any it is the last line. Case, marks of Markdown or lists before it, quotes
    around it and a full stop after it do not matter.
    """
    lines = [line.strip() for line in text.strip().splitlines()] or [""]
    heads = [line.partition(":")[0].strip("*# ").casefold() if ":" in line else "" for line in lines]
    starts = [at for at, head in enumerate(heads) if head == "action"]
    at = starts[-1] if starts else len(lines) - 1
    action = lines[at].partition(":")[2] if starts else lines[at]
    if starts and not action.strip("* ") and at + 1 < len(lines):
        action = next((line for line in lines[at + 1 :] if line), "")
    action = action.strip("*`'\" ").removeprefix("- ")
    thought = " ".join(line for line in lines[:at] if line)
    head, colon, tail = thought.partition(":")
    if colon and head.strip("*# ").casefold() == "thought":
        thought = tail.strip("* ")
    by_words = {command.casefold(): command for command in commands}
    known = by_words.get(action.casefold()) or by_words.get(action.rstrip(".").rstrip("*`'\" ").casefold())
    return Answer(thought, known or action[:_LONGEST], known is not None)


def _above_zero(name: str, of: str) -> float | None:
    """Return the number that an environment variable holds; None without it."""
    if (given := os.environ.get(name)) is None:
        return None
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{name} is {given!r}: set it to a number of {of} above 0")
    return value


def load_zero_shot(argument: str) -> PlayersAgent:
    """Return the agent of `zero-shot:MODEL`; see `untuned_model`."""
    return zero_shot_agent(*untuned_model("zero-shot", argument))


def load_zero_shot_chat(argument: str) -> PlayersAgent:
    """Return the agent of `zero-shot-chat:MODEL`; see `untuned_model`."""
    return zero_shot_agent(*untuned_model("zero-shot-chat", argument), chat=True)


def untuned_model(agent: str, argument: str) -> tuple[str | Path, Config | None]:
    """Return the hub id or folder of `AGENT:MODEL`, and how it is loaded.

    MODEL is a hub id, a folder, a config file, or the name of one in `experiments/untuned`.
    """
    if not argument:
        raise UsageError(f"agent {agent} needs a model: write --agent {agent}:MODEL, a hub id, a folder or a config")
    own = argument.endswith(".toml")
    path = Path(argument) if own else UNTUNED_CONFIGS / f"{argument}.toml"
    from reference_agent.models.named import model_source

    if not own and not path.exists():
        return model_source(argument), None
    config = load_config(path)
    used = Config(model=config.model, head=config.head)
    if idle := [each.name for each in fields(Config) if getattr(config, each.name) != getattr(used, each.name)]:
        raise UsageError(f"{path}: agent {agent} plays by [model] and head alone: leave {idle[0]} out")
    return model_source(config.model.name), config


def load_react(argument: str) -> ReActAgent:
    """Return the agent of `react:MODEL`."""
    if not argument:
        raise UsageError("agent react needs the name of a model: write --agent react:MODEL")
    return ReActAgent(argument)
