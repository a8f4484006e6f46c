"""Checks of the model, the teacher and the environments before a run claims its folder for one configuration."""

from __future__ import annotations

import numpy as np

from reference_agent.config import Config
from reference_agent.models.backbone import check_backbone, load_tokenizer
from reference_agent.models.start import model_source
from reference_agent.models.tokenizer import check_labels, label_tokens
from reference_agent.teachers.chat import chat_options
from reference_agent.teachers.choose import CHAT, make_teacher


def check_model(config: Config) -> None:
    """Check the settings of a model as far as possible without loading it.

    Raises:
        UsageError: Something is wrong.
    """
    config.model.check_trainable()
    if config.model.name != "tiny":
        check_backbone(model_source(config.model.name), config.model)


def check_environments(config: Config) -> int:
    """Make each environment of a run once, and its teacher; return the largest number of commands of a stage.

    Raises:
        UsageError: There is no such environment or teacher, or it does not take its arguments.
    """
    env = config.demonstrations.make()
    make_teacher(env, np.random.default_rng(0), config.teacher)
    if config.teacher.name == CHAT:
        chat_options(config.teacher)
    env.close()
    envs = [stage.make() for stage in config.stages]
    for env in envs:
        env.close()
    return max(env.max_commands for env in envs)


def check_run(config: Config) -> None:
    """Check a run's environments, and that its model has enough single-token labels for them.

    Raises:
        UsageError: As `check_environments`, or the labels are too few.
    """
    commands = check_environments(config)
    if config.model.name != "tiny" and config.head == "labels":
        check_labels(commands, len(label_tokens(load_tokenizer(model_source(config.model.name)))))
