"""A chat model behind an OpenAI-compatible endpoint, Azure's too.

The `openai` package makes the requests; it is imported when an endpoint is made. An endpoint may be hostile, so the
time of a request and the size and shape of its answer are checked here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.chat_connection import connect, proxy_of, shown_address, without_secrets
from natlang_envs.evaluation.chat_response import (
    IS_IT_ONE,
    MAX_BODY,
    Bill,
    Completion,
    Problem,
    completion_of,
    plain,
    refusal,
)
from natlang_envs.evaluation.chat_settings import ChatSettings

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between two requests
_UNLIKELY = 3  # requests of an endpoint that has never answered, or of a filter
_OF_AN_ERROR = 1 << 16  # bytes of a refusal that are read


class RefusedPromptError(UsageError):
    """A provider takes this prompt never: `kind` is `context` (it is too long) or `refused` (its filter)."""

    def __init__(self, line: str, kind: str) -> None:
        super().__init__(line)
        self.kind = kind


class ChatEndpoint:
    """A client of one chat model, for several threads; it keeps no conversation.

    Environment variables name the endpoint and its key, as everywhere: `OPENAI_BASE_URL` and `OPENAI_API_KEY`; for
    Azure `AZURE_OPENAI_ENDPOINT`, `AZURE_OPENAI_API_KEY` (or `AZURE_OPENAI_AD_TOKEN`) and `OPENAI_API_VERSION`, where
    the model is the name of the deployment. An endpoint of your own needs no key.

    Args:
        model: The model's name.
        settings: How it is asked, and for how long.
        agent: What to call the agent in errors; `allow_more` is what sets the timeout there.
        tell: Told in a line of each pause that takes time. Without it the line goes to the log, which shows it on
            standard error.
    """

    def __init__(
        self,
        model: str,
        settings: ChatSettings | None = None,
        *,
        agent: str = "openai",
        allow_more: str = "--timeout",
        tell: Callable[[str], None] = _log.warning,
    ) -> None:
        if not model.strip():
            raise UsageError(f"agent {agent!r} needs the name of a model: pass --model")
        self.settings = settings or ChatSettings()
        self._model, self._allow_more, self._tell = model, allow_more, tell
        self._client = connect(self.settings.timeout, agent, _refuse)
        self._proxy = proxy_of(str(self._client.base_url))
        self._answered = False  # ever
        self._lock = threading.Lock()
        self.endpoint = shown_address(str(self._client.base_url))
        self.tokens = Bill()

    def answer(self, system: str, prompt: str) -> str:
        """Return the model's answer to a prompt, below a system message, as `Completion.text` has it."""
        return self.ask([{"role": "system", "content": system}, {"role": "user", "content": prompt}]).text

    def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        failed: Callable[[Problem], None] = lambda _: None,
    ) -> Completion:
        """Return the model's whole answer to a conversation.

        Args:
            messages: The conversation, which a system message may begin.
            tools: The tools that the model may call.
            failed: Told of each request that gave no answer.

        Raises:
            RefusedPromptError: The provider never takes this prompt.
            UsageError: It gives no answer, and patience has ended.
        """
        begun, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            try:
                done = completion_of(self._in_time(lambda: self._post(messages, tools)))
            except Problem as problem:
                self._count(problem.bill)
                failed(problem)
                self._wait(problem, attempt, begun)
            else:
                self._answered = True
                self._count(done.bill)
                return done

    def _count(self, bill: Bill) -> None:
        with self._lock:
            self.tokens = self.tokens.plus(bill)

    def _wait(self, problem: Problem, attempt: int, begun: float) -> None:
        """Wait until the next request, or raise what ends them."""
        pause = min(max(problem.pause or 0.0, _FIRST_PAUSE * 2 ** min(attempt - 1, 10)), _LONGEST_PAUSE)
        passed = time.monotonic() - begun
        kind = problem.kind
        last = kind in ("lasting", "context") or passed + pause > self.settings.patience
        few = kind == "refused" or (kind == "unlikely" and not self._answered)
        if not last and not (few and attempt >= _UNLIKELY):
            if pause > 2 * _FIRST_PAUSE:
                self._tell(without_secrets(f"{self.endpoint} {problem.why}: it is asked again in {pause:.3g} s"))
            time.sleep(pause)
            return
        after = f" ({attempt} requests in {passed:.0f} s)" if attempt > 1 else ""
        line = without_secrets(f"{self.endpoint} {problem.why}{after}{problem.remedy and f': {problem.remedy}'}")
        raise UsageError(line) if kind not in ("context", "refused") else RefusedPromptError(line, kind)

    def _in_time(self, post: Callable[[], bytes]) -> bytes:
        """Return the body of the response to one request.

        A thread of its own makes the request: a socket's timeout is for each piece of an answer, and an endpoint may
        send one byte a second without end.
        """
        answer: Future[bytes] = Future()

        def make() -> None:
            try:
                answer.set_result(post())
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=make, daemon=True).start()
        try:
            return answer.result(self.settings.timeout)
        except TimeoutError:
            why = f"did not answer within {self.settings.timeout:g} seconds"
            raise Problem(why, "unlikely", remedy=f"allow more with {self._allow_more}") from None

    def _post(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> bytes:
        said: list[Any] = list(messages)
        if not self.settings.system and len(said) > 1 and said[0]["role"] == "system":
            said[:2] = [{**said[1], "content": f"{said[0]['content']}\n\n{said[1]['content']}"}]
        more = {**self.settings.body(), **({"tools": list(tools)} if tools else {})}
        body, deadline = bytearray(), time.monotonic() + self.settings.timeout
        try:
            with self._client.chat.completions.with_streaming_response.create(
                model=self._model, messages=said, extra_body=more or None
            ) as response:
                for piece in response.http_response.iter_bytes():
                    body += piece
                    if len(body) > MAX_BODY or time.monotonic() > deadline:
                        break
        except Exception as error:
            raise self._problem_of(error) from None
        if len(body) > MAX_BODY:
            raise Problem(f"answers with more than {MAX_BODY:,} bytes", "lasting", remedy=IS_IT_ONE)
        return bytes(body)  # nobody waits for what is late

    def _problem_of(self, error: Exception) -> Exception:
        """Return what a failed request means; some versions of the package wrap the errors of its HTTP library."""
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        if isinstance(error, openai.APITimeoutError | TimeoutError):
            return TimeoutError()
        if isinstance(cause, Problem):
            return cause
        why = plain(" ".join(str(cause).split()))[:300] or type(cause).__name__
        if self._proxy is None:
            return Problem(
                f"cannot be reached ({why})", "unlikely", remedy="is it running, and is OPENAI_BASE_URL right?"
            )
        name, proxy = self._proxy
        remedy = f"is {name} right? NO_PROXY goes round it"
        return Problem(f"cannot be reached through the proxy {proxy} ({why})", "unlikely", remedy=remedy)


def _refuse(response: Any) -> None:
    """Raise a `Problem` for any status but success: redirections are not followed, they could lead to any host.

    The package's own errors leave out what the endpoint said.
    """
    if response.status_code in (200, 201):
        return
    body = b""
    for piece in response.iter_bytes():
        body += piece
        if len(body) > _OF_AN_ERROR:
            break
    raise refusal(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)
