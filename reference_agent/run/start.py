"""The model that both players start from: a tiny one, made for the settings, or a pretrained one by its name.

What differs between the two is here: where it is, what of it enters the keys of stages, what reads its prompts, and
what it must be able to do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from natlang_envs.errors import UsageError
from reference_agent.collection import Report
from reference_agent.models.backbone import check_backbone, load_tokenizer
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.named import model_source
from reference_agent.models.tokenizer import Origin, PromptReader, check_labels, label_tokens
from reference_agent.run.config import Config, ModelConfig
from reference_agent.run.idle import idle_loaded, refuse
from reference_agent.tiny.making import PICKUP, base_model, tiny_folder, tiny_name


class StartModel:
    """The model of a config before any fine-tuning: here a pretrained one."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def source(self, out: Path) -> str | Path:
        """Return its folder, or its hub id, for the run in `out`."""
        return model_source(self._config.model.name)

    def keys(self) -> tuple[str, list[Any]]:
        """Return what keys of stages hold of it beside the settings: what it is made from, and its context."""
        # Prompts are cut to the model's context, less what is reserved for reflections.
        config = self._config
        context = [config.model.name, config.head, config.reflection_tokens if config.reflect else 0]
        return "", [*context, *(["chat"] if config.model.chat else [])]

    def reader(self) -> PromptReader | None:
        """Return what cuts prompts to its context; None if it is made with as many positions as its task needs."""
        return PromptReader.of(model_source(self._config.model.name), self._config.head, self._config.model.chat)

    def check(self, commands: int = 0) -> None:
        """Refuse what it cannot do, as far as can be seen without loading it: to choose among so many commands."""
        source = model_source(self._config.model.name)
        if not commands:
            check_backbone(source, self._config.model)
        elif self._config.head == "labels":
            check_labels(commands, len(label_tokens(load_tokenizer(source))))

    def make(self, report: Report, link: Callable[[Callable[[Path], None]], Path]) -> None:
        """Make it, if it has to be made: `link` puts what a function writes into the run."""


class _Tiny(StartModel):
    def source(self, out: Path) -> Path:
        return out / "base"

    def keys(self) -> tuple[str, list[Any]]:
        return tiny_name(self._config), []

    def reader(self) -> None:
        return None

    def check(self, commands: int = 0) -> None:
        if self._config.model.chat:
            raise UsageError("the tiny model has no chat template: set model.chat = false, or name another model")

    def make(self, report: Report, link: Callable[[Callable[[Path], None]], Path]) -> None:
        link(lambda folder: base_model(self._config, report).save(folder))


def start_model(config: Config) -> StartModel:
    """Return the start model of a config."""
    return _Tiny(config) if config.model.is_tiny else StartModel(config)


def load_model(name: str = "tiny", config: ModelConfig = ModelConfig()) -> LanguageModel:  # noqa: B008 - immutable
    """Return a model to fine-tune.

    Args:
        name: `"tiny"`, the small model of the package (0.6 million weights, which can read labels and reflections of
            DangerousTaxi, and says once so where it meets other commands); `"smollm2"`; a folder; or a hub id.
        config: Precision, device and so on.

    Raises:
        UsageError: There is no such model, it is to be fetched first, or a setting has no effect on it.
    """
    refuse("model.", idle_loaded(config, name))
    if not ModelConfig(name).is_tiny:
        return LanguageModel.load(model_source(name), config)
    model, env = LanguageModel.load(tiny_folder(), config), PICKUP.make()
    model.origin = Origin("DangerousTaxi", env.action_space.commands)
    env.close()
    return model
