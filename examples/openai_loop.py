"""A chat model behind any OpenAI-compatible endpoint plays a game: python examples/openai_loop.py URL MODEL [ID]"""

from __future__ import annotations

import os
import sys

import gymnasium
import openai

import natlang_envs  # noqa: F401 - registers the environments
from natlang_envs.learners.wrappers import ChatMessages

HOUSE = "NatLang/ALFWorld-v0"


def main(url: str, model: str, env_id: str = HOUSE, seed: int = 0) -> bool:
    """Return whether the model won."""
    client = openai.OpenAI(base_url=url, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    env = ChatMessages(gymnasium.make(env_id))
    messages, info = env.reset(seed=seed)
    ended = False
    while not ended:
        answer = client.chat.completions.create(model=model, messages=list(messages), max_tokens=40)
        command = (answer.choices[0].message.content or "").strip()
        messages, _, terminated, truncated, info = env.step(command)
        print(f"> {command}\n{info['feedback']}")
        ended = terminated or truncated
    return info["success"]


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print("won" if main(*sys.argv[1:]) else "lost")
