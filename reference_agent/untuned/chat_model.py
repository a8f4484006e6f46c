"""A chat model behind an OpenAI-compatible endpoint, asked by several threads at a time."""

from __future__ import annotations

import threading
from typing import Any

from natlang_envs.autoexplore.copilot.endpoint import OpenAIDriver


class OwnDriver(threading.local):
    """Each thread's own driver, made when the thread first asks: a driver counts its tokens by itself.

    Args:
        model: The chat model's name.
        settings: What else `OpenAIDriver` takes.
    """

    def __init__(self, model: str, **settings: Any) -> None:
        self.own = OpenAIDriver(model, **settings)
