"""A model behind an OpenAI-compatible endpoint, Azure's too, as the driver of a copilot.

The `openai` package is imported only here, and only when a driver is made.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING, NamedTuple

from natlang_envs.autoexplore.copilot.copilot import AutoExploreCopilot
from natlang_envs.errors import UsageError

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

ATTEMPTS = 3  # requests for one answer
_PAUSE = 60.0  # seconds that an overloaded endpoint may ask for between two of them
_KEYS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")


class Tokens(NamedTuple):
    """How many tokens a model read and wrote, as the endpoint counts them."""

    read: int = 0
    written: int = 0


class OpenAIDriver:
    """Asks a chat model.

    Where the endpoint is and its key come from the environment, as the `openai` package has it: `OPENAI_BASE_URL` and
    `OPENAI_API_KEY`; for Azure `AZURE_OPENAI_ENDPOINT`, `AZURE_OPENAI_API_KEY` (or `AZURE_OPENAI_AD_TOKEN`) and
    `OPENAI_API_VERSION`, the model then being the deployment's name. An endpoint of one's own needs no key.

    Args:
        model: The model's name.
        timeout: The most seconds that one request may take.
        attempts: How many requests are made for one answer: failed connections, overload and answers without choices
            are tried again.
        agent: What to call the agent in errors.
        allow_more: What sets the timeout, for the error of one that was not met.
        max_tokens: The most tokens of an answer, which is cut there; None leaves it to the endpoint.

    Attributes:
        tokens: What was read and written so far.

    Raises:
        UsageError: The package is not installed, or the environment names no endpoint.
    """

    def __init__(
        self,
        model: str,
        *,
        timeout: float = 120.0,
        attempts: int = ATTEMPTS,
        agent: str = "openai",
        allow_more: str = "--timeout",
        max_tokens: int | None = None,
    ) -> None:
        if not model.strip():
            raise UsageError(f"agent {agent!r} needs the name of a model: pass --model")
        self._allow_more = allow_more
        self._model = model
        self._timeout = timeout
        self._attempts = attempts
        self._limit = None if max_tokens is None else {"max_tokens": max_tokens}
        self._client = _client(timeout, attempts - 1, agent)
        self.tokens = Tokens()

    @property
    def endpoint(self) -> str:
        """The address of the endpoint."""
        return re.sub("//[^/@]*@", "//", str(self._client.base_url))  # a password may stand in it

    def reply(self, copilot: AutoExploreCopilot) -> str:
        """Return the model's answer to the present prompt; see `answer`."""
        return self.answer(copilot.instructions, copilot.prompt())

    def answer(self, system: str, prompt: str) -> str:
        """Return the model's answer to a prompt, below a system message.

        Raises:
            UsageError: The endpoint does not answer, refuses, or answers with nothing that is a chat completion.
        """
        problem = ""
        for _ in range(self._attempts):
            text, problem = self._ask(system, prompt)
            if text is not None:
                return text
        raise UsageError(f"{self.endpoint} {problem} ({self._attempts} times): is it an OpenAI-compatible endpoint?")

    def _ask(self, system: str, prompt: str) -> tuple[str | None, str]:
        """Return one answer, or what was wrong with it."""
        import openai

        try:
            done = self._request(system, prompt)
        except (openai.APITimeoutError, TimeoutError):
            raise UsageError(
                f"{self.endpoint} did not answer within {self._timeout:g} seconds ({self._attempts} times): "
                f"allow more with {self._allow_more}"
            ) from None
        except openai.APIConnectionError as error:
            reason = error.__cause__ or error
            raise UsageError(
                f"{self.endpoint} cannot be reached ({reason}): is it running, and is OPENAI_BASE_URL right?"
            ) from None
        except openai.APIStatusError as error:
            raise UsageError(f"{self.endpoint} answers with status {error.status_code}: {_said(error)}") from None
        except (openai.OpenAIError, ValueError) as error:  # ValueError: a body that is no JSON
            return None, f"answers with what is no chat completion ({type(error).__name__})"
        self._count(done)
        return _text_of(done)

    def _request(self, system: str, prompt: str) -> ChatCompletion:
        """Make one request, with the retries of the package.

        It is made in a thread of its own: the package's timeout is for each piece of an answer, and an endpoint may
        send one byte a second for ever.
        """
        done: list[ChatCompletion | BaseException] = []

        def make() -> None:
            try:
                done.append(
                    self._client.chat.completions.create(
                        model=self._model,
                        messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
                        extra_body=self._limit,
                    )
                )
            except BaseException as error:
                done.append(error)

        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        thread.join(self._attempts * (self._timeout + _PAUSE) - _PAUSE)
        if not done:
            raise TimeoutError
        if isinstance(done[0], BaseException):
            raise done[0]
        return done[0]

    def _count(self, done: ChatCompletion) -> None:
        usage = getattr(done, "usage", None)
        read, written = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        self.tokens = Tokens(
            self.tokens.read + (read if isinstance(read, int) else 0),
            self.tokens.written + (written if isinstance(written, int) else 0),
        )


def _text_of(done: ChatCompletion) -> tuple[str | None, str]:
    """Return the text of a completion, which may have any shape: the package does not check what an endpoint sends."""
    choices: object = getattr(done, "choices", None)
    if not isinstance(choices, list):
        return None, "answers with what is no chat completion"
    if not choices:
        return None, "returned no choices"
    message: object = getattr(done.choices[0], "message", None)
    text: object = getattr(message, "content", None)
    return (text if isinstance(text, str) else ""), ""


def _said(error: openai.APIStatusError) -> str:
    """Return an endpoint's own words, as one short line."""
    return " ".join(str(error.message).split())[:300]


def _client(timeout: float, retries: int, agent: str) -> openai.OpenAI:
    try:
        import openai
    except ImportError:
        raise UsageError(
            f"agent {agent!r} needs the package openai: install it with pip install 'natlang-envs[explore]'"
        ) from None
    for name in _KEYS:
        given = os.environ.get(name, "").strip()
        if not (given.isascii() and given.isprintable()):
            raise UsageError(f"{name} holds a character that no key has: set it again")
    azure = os.environ.get("AZURE_OPENAI_ENDPOINT")
    base = os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY")
    try:
        if azure and not base:
            return openai.AzureOpenAI(timeout=timeout, max_retries=retries)
        if not key and not base:
            raise UsageError(
                f"agent {agent!r} finds no endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for one of your own, "
                "or AZURE_OPENAI_ENDPOINT"
            )
        return openai.OpenAI(api_key=key or "none", timeout=timeout, max_retries=retries)
    except (openai.OpenAIError, ValueError) as error:
        raise UsageError(f"agent {agent!r} cannot be set up: {' '.join(str(error).split())}") from None
