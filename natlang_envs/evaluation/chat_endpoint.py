"""A chat model behind an OpenAI-compatible endpoint, Azure's too.

The `openai` package makes the requests; it is imported when an endpoint is made. An endpoint may be hostile, so the
time of a request and the size and shape of its answer are checked here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from natlang_envs.errors import UsageError, check_count
from natlang_envs.evaluation.chat_connection import connect, proxy_of, shown_address, without_secrets
from natlang_envs.evaluation.chat_response import IS_IT_ONE, MAX_BODY, Problem, completion_of, plain, refusal, unpacked

ATTEMPTS = 3  # requests for one answer
_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between two requests
_OF_AN_ERROR = 1 << 16  # bytes of a refusal that are read


class Tokens(NamedTuple):
    """How many tokens a model read and wrote, as the endpoint counts them."""

    read: int = 0
    written: int = 0


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
        agent: What to call the agent in errors; `allow_more` is what sets the timeout there.
        max_tokens: The most tokens of an answer; None leaves it to the endpoint.
        tell: Told in a line what takes time or is cut: a pause that the endpoint asks for, a limit of tokens. Without
            it the line goes to the log, which shows it on standard error.
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
        tell: Callable[[str], None] = _log.warning,
    ) -> None:
        if not model.strip():
            raise UsageError(f"agent {agent!r} needs the name of a model: pass --model")
        self._model = model
        self._timeout = timeout
        self._attempts = check_count("attempts", attempts)
        self._allow_more = allow_more
        self._max_tokens = max_tokens
        self._tell = tell
        self._client = connect(timeout, agent, _refuse)
        self._proxy = proxy_of(str(self._client.base_url))
        self.endpoint = shown_address(str(self._client.base_url))
        self.tokens = Tokens()

    def answer(self, system: str, prompt: str) -> str:
        """Return the model's answer to a prompt, below a system message.

        Tool calls come as text, `<tool_call>{...}</tool_call>`. Where there is no text, the answer holds what the
        endpoint gives in its place: a thought in `<think>` tags, a refusal, and the reason why it ended.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                done = completion_of(self._in_time(lambda: self._post(system, prompt)))
            except Problem as problem:
                if problem.pause is None or attempt == self._attempts:
                    raise UsageError(without_secrets(f"{self.endpoint} {problem.told(attempt)}")) from None
                pause = min(max(problem.pause, _FIRST_PAUSE * 2 ** (attempt - 1)), _LONGEST_PAUSE)
                if problem.asked:
                    asked = f"asks to wait {problem.pause:,.3g} s"
                    self._tell(without_secrets(f"{self.endpoint} {asked}: it is asked again in {pause:.3g} s"))
                time.sleep(pause)
            else:
                self.tokens = Tokens(self.tokens.read + done.read, self.tokens.written + done.written)
                if done.notice:
                    self._tell(f"{self.endpoint}: {done.notice}")
                return done.text

    def _in_time(self, post: Callable[[], bytes]) -> bytes:
        """Return the body of the response to one request.

        The request is made in a thread of its own: a socket's timeout is for each piece of an answer, and an endpoint
        may send one byte a second without end.
        """
        answer: Future[bytes] = Future()

        def make() -> None:
            try:
                answer.set_result(post())
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=make, daemon=True).start()
        try:
            return answer.result(self._timeout)
        except TimeoutError:
            why = f"did not answer within {self._timeout:g} seconds"
            raise Problem(why, remedy=f"allow more with {self._allow_more}") from None

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
                packed = response.http_response.headers.get("Content-Encoding", "")
                for piece in response.http_response.iter_raw():  # unpacked below, within a limit
                    body += piece
                    late = time.monotonic() > deadline
                    if late or len(body) > MAX_BODY:
                        break
        except Exception as error:
            raise self._problem_of(error) from None
        if late:
            raise TimeoutError
        content = unpacked(bytes(body), packed) if len(body) <= MAX_BODY else bytes(body)
        if len(content) > MAX_BODY:
            raise Problem(f"answers with more than {MAX_BODY:,} bytes", None, remedy=IS_IT_ONE)
        return content

    def _problem_of(self, error: Exception) -> Exception:
        """Return what a failed request means; some versions of the package wrap the errors of its HTTP library."""
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        if isinstance(error, openai.APITimeoutError):
            return TimeoutError()
        if isinstance(cause, Problem):
            return cause
        why = plain(" ".join(str(cause).split()))[:300] or type(cause).__name__
        if self._proxy is None:
            return Problem(f"cannot be reached ({why}): is it running, and is OPENAI_BASE_URL right?")
        name, proxy = self._proxy
        return Problem(f"cannot be reached through the proxy {proxy} ({why}): is {name} right? NO_PROXY goes round it")


def _refuse(response: Any) -> None:
    """Raise a `Problem` for any status but success: redirections are not followed, they could lead to any host.

    The package's own errors leave out what the endpoint said.
    """
    if response.is_success:
        return
    body = b""
    for piece in response.iter_raw():
        body += piece
        if len(body) > _OF_AN_ERROR:
            break
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        body = unpacked(body, headers.get("content-encoding", ""))
    except Problem:
        body = b""  # its status says enough
    raise refusal(response.status_code, headers, body)


class OwnEndpoint(threading.local):
    """Each thread's own `ChatEndpoint`, made when the thread first asks: it counts its tokens by itself."""

    def __init__(self, model: str, **settings: Any) -> None:
        self.own = ChatEndpoint(model, **settings)
