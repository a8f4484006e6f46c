"""A frozen reflector that a server of its own writes for, such as vLLM; this process holds its tokenizer alone.

    vllm serve RUN/reflector --served-model-name reflector

Prompts are sent as tokens to the server's OpenAI-compatible completions. Greedy ones are what the model itself would
write, up to rounding; sampled ones depend on the server and on how it takes a seed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.errors import UsageError
from reference_agent.models.language_model import GeneratedText
from reference_agent.models.tokenizer import PromptReader

NAME = "reflector"
_TOGETHER = 256  # prompts in one request
_TIMEOUT = 600.0  # seconds


class ServedModel(PromptReader):
    """A model behind an OpenAI-compatible address such as `http://localhost:8000/v1`, where it is called `reflector`.

    `folder`, or a hub id, has its tokenizer; `command` starts such a server, for the error message. `OPENAI_API_KEY` is
    sent if set.
    """

    def __init__(self, folder: str | Path, address: str, command: str, chat: bool = False) -> None:
        self.__dict__.update(vars(PromptReader.of(folder, chat=chat)))
        self._address = address
        try:
            import openai
        except ImportError:
            raise UsageError("rl.reflector_endpoint needs openai: pip install 'natlang-envs[explore]'") from None
        self._error: type[Exception] = openai.OpenAIError
        key = os.environ.get("OPENAI_API_KEY") or "none"
        self._client = openai.OpenAI(base_url=address, api_key=key, timeout=_TIMEOUT)
        try:
            listed = [each.id for each in self._client.models.list().data]
        except (openai.OpenAIError, ValueError, TypeError) as error:
            raise UsageError(
                f"rl.reflector_endpoint {address} does not answer ({_plain(error)}): start the reflector there, for "
                f"example by `{command}`, and run the same command again"
            ) from None
        # Another may be the base without its adapter, whose reflections would mislead in silence.
        if NAME not in listed:
            raise UsageError(
                f"rl.reflector_endpoint {address} has no model called {NAME!r}, but {', '.join(listed) or 'none'}: "
                f"start it as by `{command}`"
            )

    def changes(self) -> int:
        """Return 0: what is served does not change."""
        return 0

    def complete(
        self,
        prompts: Sequence[str],
        max_tokens: int,
        draws: Sequence[np.random.Generator] | None = None,
        draft_from: Sequence[str] = (),
    ) -> list[GeneratedText]:
        """Return completions as `LanguageModel.complete` does; `draft_from` is not sent."""
        told: list[GeneratedText] = []
        for first in range(0, len(prompts), _TOGETHER):
            part = [list(self.encode_prompt(prompt)) for prompt in prompts[first : first + _TOGETHER]]
            sampling = {"temperature": 1, "seed": int(draws[first].integers(2**31))} if draws else {"temperature": 0}
            told += self._ask(part, min(max_tokens, self.positions - max(map(len, part))), sampling)
        return told

    def _ask(self, prompts: list[list[int]], most: int, sampling: dict[str, Any]) -> list[GeneratedText]:
        try:
            answer = self._client.completions.create(model=NAME, prompt=prompts, max_tokens=most, **sampling)
        except (self._error, ValueError) as error:
            raise UsageError(
                f"rl.reflector_endpoint {self._address} fails ({_plain(error)}): the run goes on from its last "
                "checkpoint when the same command is run again"
            ) from None
        found = {each.index: each for each in getattr(answer, "choices", None) or ()}
        if sorted(found) != list(range(len(prompts))) or not all(isinstance(each.text, str) for each in found.values()):
            raise UsageError(
                f"rl.reflector_endpoint {self._address} answers {len(prompts)} prompts with {len(found)} completions: "
                "is it an OpenAI-compatible server?"
            )
        each_in_turn = (found[number] for number in range(len(prompts)))
        return [GeneratedText(each.text.strip(), each.finish_reason == "length") for each in each_in_turn]

    def freeze(self) -> None:
        """Do nothing: nobody here changes the server's weights."""

    def fingerprint(self) -> str:
        """Return the address: the server's weights cannot be seen from here."""
        return self._address


def _plain(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
