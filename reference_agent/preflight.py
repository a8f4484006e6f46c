"""What a run needs beside time: found out before it takes its folder, which no other settings may have afterwards."""

from __future__ import annotations

from natlang_envs.cli_support import make_env
from reference_agent.collect import teachers_env
from reference_agent.config import Config
from reference_agent.models.backbone import check_backbone, load_tokenizer
from reference_agent.models.start import model_source
from reference_agent.models.tokenizer import check_labels, label_tokens


def check_model(config: Config) -> None:
    """Find out what is wrong with the settings of a model as far as that goes without loading it.

    Raises:
        UsageError: Something is.
    """
    config.model.check_trainable()
    if config.model.name != "tiny":
        check_backbone(model_source(config.model.name), config.model)


def check_environments(config: Config) -> int:
    """Make each environment of a run once, and return the most commands that one of its stages lists.

    Raises:
        UsageError: There is no such environment, or it does not take its arguments.
    """
    teachers_env(config).close()
    envs = [make_env(stage.env, **config.arguments(stage)) for stage in config.curriculum]
    for env in envs:
        env.close()
    return max(env.max_commands for env in envs)


def check_run(config: Config) -> None:
    """Make a run's environments once, and see that its model has labels enough for them where it takes labels.

    Raises:
        UsageError: As `check_environments`, or the labels are too few.
    """
    commands = check_environments(config)
    if config.model.name != "tiny" and config.head == "labels":
        check_labels(commands, len(label_tokens(load_tokenizer(model_source(config.model.name)))))
