"""A chat model behind an OpenAI-compatible endpoint, Azure's too.

An endpoint may be hostile: the time of a request, the size of its answer and the shape of it are all checked.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from natlang_envs.errors import UsageError

ATTEMPTS = 3  # requests for one answer
MAX_BODY = 16 << 20  # bytes of one response
_OPENAI = "https://api.openai.com/v1"
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
        UsageError: There is no model, or the environment names no endpoint.
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
        self.endpoint, self._address, self._headers = _from_environment(model, agent)
        # Proxies of the environment are used; redirections are not followed: they could lead to any host.
        self._opener = urllib.request.build_opener(_NoRedirects)
        self.tokens = Tokens()

    def answer(self, system: str, prompt: str) -> str:
        """Return the model's answer to a prompt, below a system message.

        Raises:
            UsageError: The endpoint does not answer, refuses, or answers with nothing that is a chat completion.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        content: dict[str, Any] = {"model": self._model, "messages": messages}
        if self._max_tokens is not None:
            content["max_tokens"] = self._max_tokens
        body = json.dumps(content).encode()
        for attempt in range(1, self._attempts + 1):
            try:
                return self._read(self._in_time(body))
            except _Problem as problem:
                if problem.pause is None or attempt == self._attempts:
                    raise UsageError(f"{self.endpoint} {problem}") from None
                time.sleep(min(max(problem.pause, _FIRST_PAUSE * 2 ** (attempt - 1)), _LONGEST_PAUSE))
        raise UsageError(f"attempts must be at least 1, not {self._attempts}")

    def _in_time(self, body: bytes) -> bytes:
        """Return the body of the response to one request.

        The request is made in a thread of its own: a socket's timeout is for each piece of an answer, and an endpoint
        may send one byte a second without end.
        """
        done: list[bytes | BaseException] = []

        def make() -> None:
            try:
                done.append(self._post(body))
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

    def _post(self, body: bytes) -> bytes:
        request = urllib.request.Request(self._address, body, dict(self._headers))
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer = response.read(MAX_BODY + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._status_problem(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(reason, TimeoutError):
                raise reason from None
            raise _Problem(
                f"cannot be reached ({_plain(str(reason))}): is it running, and is OPENAI_BASE_URL right?"
            ) from None
        if len(answer) > MAX_BODY:
            raise _Problem(f"answers with more than {MAX_BODY:,} bytes: is it an OpenAI-compatible endpoint?", None)
        return answer

    @staticmethod
    def _status_problem(error: urllib.error.HTTPError) -> _Problem:
        try:
            said = error.read(4 * _SAID).decode("utf-8", "backslashreplace")
        except (OSError, http.client.HTTPException):
            said = ""
        line = _plain(" ".join(said.split()))[:_SAID]
        pause: float | None = None
        if error.code >= 500 or error.code in _TRIED_AGAIN:
            try:
                pause = max(float(error.headers.get("Retry-After") or 0), 0.0)
            except ValueError:
                pause = 0.0
        return _Problem(f"answers with status {error.code}: {line or error.reason}", pause)

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


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Answers a redirection as the error that it is here."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        """Return no further request."""


def _member(content: object, name: str) -> object:
    return cast("dict[str, object]", content).get(name) if isinstance(content, dict) else None


def _count(usage: object, name: str) -> int:
    number = _member(usage, name)
    return number if isinstance(number, int) and 0 <= number < 1 << 53 else 0


def _plain(text: str) -> str:
    """Return foreign text with its control characters escaped, or it could steer the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _from_environment(model: str, agent: str) -> tuple[str, str, Mapping[str, str]]:
    """Return the endpoint as it is shown, the address that is asked, and the headers with the key."""
    names = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")
    for name in names:
        given = os.environ.get(name, "").strip()
        if not (given.isascii() and given.isprintable()):
            raise UsageError(f"{name} holds a character that no key has: set it again")
    key, azure_key, token = (os.environ.get(name, "").strip() for name in names)
    base = os.environ.get("OPENAI_BASE_URL", "").strip()
    azure = os.environ.get("AZURE_OPENAI_ENDPOINT", "").strip()
    headers = {"Content-Type": "application/json", "User-Agent": "natlang-envs"}
    query = ""
    if azure and not base:
        version = os.environ.get("OPENAI_API_VERSION", "").strip()
        if not version:
            raise UsageError(f"agent {agent!r} needs the version of Azure's interface: set OPENAI_API_VERSION")
        if not azure_key and not token:
            raise UsageError(f"agent {agent!r} finds no key for Azure: set AZURE_OPENAI_API_KEY")
        headers |= {"api-key": azure_key} if azure_key else {"Authorization": f"Bearer {token}"}
        base = f"{azure.rstrip('/')}/openai"
        path, query = f"deployments/{quote(model, safe='')}/chat/completions", urlencode({"api-version": version})
    else:
        if not key and not base:
            raise UsageError(
                f"agent {agent!r} finds no endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for one of your own, "
                "or AZURE_OPENAI_ENDPOINT"
            )
        base = base or _OPENAI
        headers["Authorization"] = f"Bearer {key or 'none'}"
        path = "chat/completions"
    try:
        parts = urlsplit(base)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"agent {agent!r} cannot be set up: OPENAI_BASE_URL is no address of the web")
    if parts.username is not None and not (key or azure):
        pair = f"{parts.username}:{parts.password or ''}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    where = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    shown = urlunsplit((parts.scheme, where, f"{parts.path.rstrip('/')}/", "", ""))
    return shown, f"{shown}{path}?{query}".rstrip("?"), headers
