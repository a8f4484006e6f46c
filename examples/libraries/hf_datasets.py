"""The expert's games as a data set of Hugging Face's: python examples/libraries/hf_datasets.py"""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium

from datasets import Dataset
from natlang_envs import unwrap
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.prompt import PathStep, chat_messages, state_prompt

warn_if_untested("datasets")

HOUSE = "NatLang/ALFWorld-v0"


def rows(env_id: str, episodes: int) -> Iterator[dict]:
    """Yield one row a step: the messages that a chat model is given, and the expert's command."""
    env = unwrap(gymnasium.make(env_id, split="train"))
    for seed in range(episodes):
        observation, info = env.reset(seed=seed)
        path: list[PathStep] = []
        for command in env.reference():
            state = state_prompt(info["task"], path, observation)
            messages = list(chat_messages(state, info["admissible_commands"]))
            yield {"messages": [*messages, {"role": "assistant", "content": command}], "task_id": info["task_id"]}
            observation, *_, info = env.step(command)
            path.append(PathStep(command, info["feedback"]))


def main(episodes: int = 20) -> Dataset:
    """Return the data set: SFT trainers read its column `messages` as it is."""
    return Dataset.from_generator(rows, gen_kwargs={"env_id": HOUSE, "episodes": episodes})


if __name__ == "__main__":
    print(main())
