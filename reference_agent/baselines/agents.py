"""Models without fine-tuning, as agents: `--agent zero-shot:MODEL` and `zero-shot-chat:MODEL`.

`zero-shot` is a causal LM on this machine, by hub id or folder. It chooses one of the listed labels, as a trained
policy does, with as much of the path in its prompt as fits. `zero-shot-chat` puts the same prompt into the model's chat
template.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from natlang_envs.errors import UsageError
from reference_agent.run.config import Config
from reference_agent.run.config_file import EXPERIMENTS, load_config

if TYPE_CHECKING:
    from reference_agent.players import PlayersAgent

UNTUNED_CONFIGS = EXPERIMENTS / "untuned"


def zero_shot_agent(name: str | Path, config: Config | None = None, chat: bool = False) -> PlayersAgent:
    """Return an untuned causal LM that chooses the most probable of the listed labels greedily.

    `config` says how it is loaded and which head chooses; with `chat` it is asked in its chat template.
    """
    from reference_agent.models.language_model import LanguageModel
    from reference_agent.models.saycan import with_head
    from reference_agent.players import PlayersAgent

    config = config or Config()
    model = LanguageModel.load(name, replace(config.model, chat=chat or config.model.chat))
    return PlayersAgent(with_head(model, config), None, "full")


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
