"""A chat model behind an OpenAI-compatible endpoint, Azure's too. The `openai` package is imported at first use only.

An endpoint may be hostile: the time of a request, the size of its answer and the shape of it are all checked.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from natlang_envs.errors import UsageError

if TYPE_CHECKING:
    import httpx
    import openai
    from openai.types.chat import ChatCompletion

ATTEMPTS = 3  # requests for one answer
MAX_BODY = 16 << 20  # bytes of one response
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between two requests
_TRIED_AGAIN = frozenset({408, 409, 429})  # and every status from 500 on
_KEYS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")


class Tokens(NamedTuple):
    """How many tokens a model read and wrote, as the endpoint counts them."""

    read: int = 0
    written: int = 0


class ChatEndpoint:
    """A client of one chat model; it keeps no conversation.

    Environment variables name the endpoint and its key, as for the `openai` package: `OPENAI_BASE_URL` and
    `OPENAI_API_KEY`; for Azure `AZURE_OPENAI_ENDPOINT`, `AZURE_OPENAI_API_KEY` (or `AZURE_OPENAI_AD_TOKEN`) and
    `OPENAI_API_VERSION`, where the model is the name of the deployment. An endpoint of your own needs no key.

    Args:
        model: The model's name.
        timeout: The most seconds that one request may take, from the connection to the last byte.
        attempts: How many requests are made for one answer: failed connections, overload and answers without choices
            are tried again.
        agent: What to call the agent in errors.
        allow_more: What sets the timeout, for the error message.
        max_tokens: The most tokens of an answer; None leaves it to the endpoint.

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
        self._client = _client(timeout, agent)
        self.tokens = Tokens()

    @property
    def endpoint(self) -> str:
        """The address of the endpoint."""
        return re.sub("//[^/@]*@", "//", str(self._client.base_url))  # a password may stand in it

    def answer(self, system: str, prompt: str) -> str:
        """Return the model's answer to a prompt, below a system message.

        Raises:
            UsageError: The endpoint does not answer, refuses, or answers with nothing that is a chat completion.
        """
        import openai

        problem: Exception | str = ""
        for attempt in range(1, self._attempts + 1):
            pause = 0.0
            try:
                done = self._request(system, prompt)
            except (openai.APITimeoutError, TimeoutError) as error:
                problem = error
            except openai.APIConnectionError as error:
                problem, pause = error, _FIRST_PAUSE * 2 ** (attempt - 1)
            except openai.APIStatusError as error:
                if error.status_code < 500 and error.status_code not in _TRIED_AGAIN:
                    raise self._failure(error) from None
                problem, pause = error, _asked_for(error.response, _FIRST_PAUSE * 2 ** (attempt - 1))
            except (openai.OpenAIError, ValueError, RecursionError) as error:  # the body is no JSON, or nested too deep
                problem = f"answers with what is no chat completion ({type(error).__name__})"
            else:
                self._count(done)
                text, problem = _text_of(done)
                if text is not None:
                    return text
            if attempt < self._attempts:
                time.sleep(pause)
        raise self._failure(problem)

    def _failure(self, problem: Exception | str) -> UsageError:
        """Return the one line that says why there is no answer."""
        import openai

        if isinstance(problem, str):
            return UsageError(
                f"{self.endpoint} {problem} ({self._attempts} times): is it an OpenAI-compatible endpoint?"
            )
        if isinstance(problem, openai.APIStatusError):
            said = _plain(" ".join(str(problem.message).split())[:300])
            return UsageError(f"{self.endpoint} answers with status {problem.status_code}: {said}")
        if isinstance(problem, (openai.APITimeoutError, TimeoutError)):
            return UsageError(
                f"{self.endpoint} did not answer within {self._timeout:g} seconds ({self._attempts} times): "
                f"allow more with {self._allow_more}"
            )
        reason = problem.__cause__ or problem
        if isinstance(reason, _RefusedBody):
            return UsageError(f"{self.endpoint} {reason}: is it an OpenAI-compatible endpoint?")
        return UsageError(
            f"{self.endpoint} cannot be reached ({_plain(str(reason))}): is it running, and is OPENAI_BASE_URL right?"
        )

    def _request(self, system: str, prompt: str) -> ChatCompletion:
        """Make one request.

        It is made in a thread of its own: the package's timeout is for each piece of an answer, and an endpoint may
        send one byte a second without end.

        Raises:
            TimeoutError: There is no whole answer in time.
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
        thread.join(self._timeout)
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


def _plain(text: str) -> str:
    """Return foreign text with its control characters escaped, or it could steer the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _asked_for(response: httpx.Response, otherwise: float) -> float:
    """Return the seconds that an overloaded endpoint asks to wait, within reason."""
    try:
        return min(max(float(response.headers["retry-after"]), 0.0), _LONGEST_PAUSE)
    except (KeyError, ValueError):
        return otherwise


class _RefusedBody(Exception):  # noqa: N818 - the message says it
    """A response that is not read to its end."""


def _bounded(response: httpx.Response) -> None:
    """Replace the body of a response by one that ends with an error where it is too large."""
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":  # a few bytes may unpack to any number
        raise _RefusedBody(f"answers in the encoding {_plain(encoding)[:30]!r}, which was not asked for")
    response.stream = _capped_stream(response.stream)


def _capped_stream(stream: Any) -> Any:
    import httpx

    class Capped(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            room = MAX_BODY
            for chunk in stream:
                room -= len(chunk)
                if room < 0:
                    raise _RefusedBody(f"answers with more than {MAX_BODY:,} bytes")
                yield chunk

        def close(self) -> None:
            stream.close()

    return Capped()


def _client(timeout: float, agent: str) -> openai.OpenAI:
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
    hooks: dict[str, list[Callable[..., Any]]] = {"response": [_bounded]}
    headers = {"Accept-Encoding": "identity"}
    client = openai.DefaultHttpxClient(event_hooks=hooks, timeout=timeout)
    try:
        if azure and not base:
            return openai.AzureOpenAI(timeout=timeout, max_retries=0, http_client=client, default_headers=headers)
        if not key and not base:
            raise UsageError(
                f"agent {agent!r} finds no endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for one of your own, "
                "or AZURE_OPENAI_ENDPOINT"
            )
        return openai.OpenAI(
            api_key=key or "none", timeout=timeout, max_retries=0, http_client=client, default_headers=headers
        )
    except (openai.OpenAIError, ValueError) as error:
        raise UsageError(f"agent {agent!r} cannot be set up: {' '.join(str(error).split())}") from None
