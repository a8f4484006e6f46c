"""A chat model behind an OpenAI-compatible endpoint, Azure's too.

The `openai` package makes the requests; it is imported when an endpoint is made. An endpoint may be hostile, so the
time of a request and the size and shape of its answer are checked here.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from natlang_envs.errors import UsageError

if TYPE_CHECKING:
    import openai

ATTEMPTS = 3  # requests for one answer
MAX_BODY = 16 << 20  # bytes of one response
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between two requests
_TRIED_AGAIN = frozenset({408, 409, 429})  # and every status from 500 on
_SAID = 300  # characters of an endpoint's own words


class Tokens(NamedTuple):
    """How many tokens a model read and wrote, as the endpoint counts them."""

    read: int = 0
    written: int = 0


class _Problem(Exception):  # noqa: N818 - becomes a UsageError with the address in front
    """Why a request gave no answer, and how long to wait before the next; None: there is no use in another."""

    def __init__(self, why: str, pause: float | None = 0.0) -> None:
        super().__init__(why)
        self.pause = pause


class _Refused(Exception):  # noqa: N818 - becomes a `_Problem`
    """A response with an error status, of which no more is read than is shown."""

    def __init__(self, status: int, retry_after: str, said: bytes) -> None:
        super().__init__(status)
        self.status, self.retry_after, self.said = status, retry_after, said


class ChatEndpoint:
    """A client of one chat model; it keeps no conversation.

    Environment variables name the endpoint and its key, as everywhere: `OPENAI_BASE_URL` and `OPENAI_API_KEY`; for
    Azure `AZURE_OPENAI_ENDPOINT`, `AZURE_OPENAI_API_KEY` (or `AZURE_OPENAI_AD_TOKEN`) and `OPENAI_API_VERSION`, where
    the model is the name of the deployment. An endpoint of your own needs no key.

    Args:
        model: The model's name.
        timeout: The most seconds that one request may take, from the connection to the last byte.
        attempts: How many requests are made for one answer: failed connections, overload and answers without choices
            are tried again.
        agent: What to call the agent in errors.
        allow_more: What sets the timeout, for the error message.
        max_tokens: The most tokens of an answer; None leaves it to the endpoint.

    Attributes:
        endpoint: The address, without a password.
        tokens: What was read and written so far.

    Raises:
        UsageError: There is no model, the package is not installed, or the environment names no endpoint.
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
        self._model = model
        self._timeout = timeout
        self._attempts = attempts
        self._allow_more = allow_more
        self._max_tokens = max_tokens
        self._client = _client(timeout, agent)
        self.endpoint = re.sub("//[^/@]*@", "//", str(self._client.base_url))  # a password may be in it
        self.tokens = Tokens()

    def answer(self, system: str, prompt: str) -> str:
        """Return the model's answer to a prompt, below a system message.

        Raises:
            UsageError: The endpoint does not answer, refuses, or answers with nothing that is a chat completion.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                return self._read(self._in_time(lambda: self._post(system, prompt)))
            except _Problem as problem:
                if problem.pause is None or attempt == self._attempts:
                    raise UsageError(f"{self.endpoint} {problem}") from None
                time.sleep(min(max(problem.pause, _FIRST_PAUSE * 2 ** (attempt - 1)), _LONGEST_PAUSE))
        raise UsageError(f"attempts must be at least 1, not {self._attempts}")

    def _in_time(self, post: Callable[[], bytes]) -> bytes:
        """Return the body of the response to one request.

        The request is made in a thread of its own: a socket's timeout is for each piece of an answer, and an endpoint
        may send one byte a second without end.
        """
        done: list[bytes | BaseException] = []

        def make() -> None:
            try:
                done.append(post())
            except BaseException as error:
                done.append(error)

        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        thread.join(self._timeout)
        found = done[0] if done else TimeoutError()
        if isinstance(found, TimeoutError):
            raise _Problem(
                f"did not answer within {self._timeout:g} seconds ({self._attempts} times): "
                f"allow more with {self._allow_more}"
            )
        if isinstance(found, BaseException):
            raise found
        return found

    def _post(self, system: str, prompt: str) -> bytes:
        limit = None if self._max_tokens is None else {"max_tokens": self._max_tokens}
        body, late = bytearray(), False
        deadline = time.monotonic() + self._timeout
        try:
            with self._client.chat.completions.with_streaming_response.create(
                model=self._model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
                extra_body=limit,
            ) as response:
                for piece in response.http_response.iter_raw():  # nothing packed is unpacked
                    body += piece
                    late = time.monotonic() > deadline
                    if late or len(body) > MAX_BODY:
                        break
        except Exception as error:
            raise _problem_of(error) from None
        if late:
            raise TimeoutError
        if len(body) > MAX_BODY:
            raise _Problem(f"answers with more than {MAX_BODY:,} bytes: is it an OpenAI-compatible endpoint?", None)
        return bytes(body)

    def _read(self, body: bytes) -> str:
        """Return the text of a response, which may have any shape."""
        again = f"({self._attempts} times): is it an OpenAI-compatible endpoint?"
        try:
            done = cast("object", json.loads(body))
        except (ValueError, RecursionError):  # no JSON, or nested too deep
            raise _Problem(f"answers with what is no chat completion {again}") from None
        choices = _member(done, "choices")
        if not isinstance(choices, list):
            raise _Problem(f"answers with what is no chat completion {again}")
        usage = _member(done, "usage")
        self.tokens = Tokens(
            self.tokens.read + _count(usage, "prompt_tokens"), self.tokens.written + _count(usage, "completion_tokens")
        )
        if not choices:
            raise _Problem(f"returned no choices {again}")
        text = _member(_member(cast("list[object]", choices)[0], "message"), "content")
        return text if isinstance(text, str) else ""


def _problem_of(error: Exception) -> Exception:
    """Return what a failed request means; some versions of the package wrap the errors of its HTTP library."""
    import openai

    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
    if isinstance(error, openai.APITimeoutError):
        return TimeoutError()
    if not isinstance(cause, _Refused):
        return _Problem(f"cannot be reached ({_plain(str(cause))}): is it running, and is OPENAI_BASE_URL right?")
    said = _plain(" ".join(cause.said.decode("utf-8", "backslashreplace").split()))[:_SAID]
    pause: float | None = None
    if cause.status >= 500 or cause.status in _TRIED_AGAIN:
        try:
            pause = max(float(cause.retry_after or 0), 0.0)
        except ValueError:
            pause = 0.0
    return _Problem(f"answers with status {cause.status}: {said}", pause)


def _refuse(response: Any) -> None:
    """Raise `_Refused` for any status but success: redirections are not followed, they could lead to any host."""
    if not response.is_success:
        said = b"".join(islice(response.iter_bytes(_SAID), 4))
        raise _Refused(response.status_code, response.headers.get("Retry-After", ""), said)


def _member(content: object, name: str) -> object:
    return cast("dict[str, object]", content).get(name) if isinstance(content, dict) else None


def _count(usage: object, name: str) -> int:
    number = _member(usage, name)
    return number if isinstance(number, int) and 0 <= number < 1 << 53 else 0


def _plain(text: str) -> str:
    """Return foreign text with its control characters escaped, or it could steer the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _client(timeout: float, agent: str) -> openai.OpenAI:
    try:
        import openai
    except ImportError:
        raise UsageError(
            f"agent {agent!r} needs the package openai: install it with pip install 'natlang-envs[explore]'"
        ) from None
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"):
        given = os.environ.get(name, "").strip()
        if not (given.isascii() and given.isprintable()):
            raise UsageError(f"{name} holds a character that no key has: set it again")
    azure = os.environ.get("AZURE_OPENAI_ENDPOINT")
    base = os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY")
    _check_address(azure if azure and not base else base, agent)
    http = openai.DefaultHttpxClient(
        follow_redirects=False, event_hooks={"response": [_refuse]}, headers={"Accept-Encoding": "identity"}
    )
    try:
        if azure and not base:
            return openai.AzureOpenAI(timeout=timeout, max_retries=0, http_client=http)
        if not key and not base:
            raise UsageError(
                f"agent {agent!r} finds no endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for one of your own, "
                "or AZURE_OPENAI_ENDPOINT"
            )
        return openai.OpenAI(api_key=key or "none", timeout=timeout, max_retries=0, http_client=http)
    except (openai.OpenAIError, ValueError) as error:
        raise UsageError(f"agent {agent!r} cannot be set up: {' '.join(str(error).split())}") from None


def _check_address(address: str | None, agent: str) -> None:
    if address is None:
        return
    try:
        parts = urlsplit(address.strip())
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"agent {agent!r} cannot be set up: OPENAI_BASE_URL is no address of the web")


class OwnEndpoint(threading.local):
    """Each thread's own `ChatEndpoint`, made when the thread first asks: it counts its tokens by itself."""

    def __init__(self, model: str, **settings: Any) -> None:
        self.own = ChatEndpoint(model, **settings)
