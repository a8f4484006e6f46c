"""A chat model behind an OpenAI-compatible endpoint, Azure's too.

The `openai` package makes the requests; it is imported when an endpoint is made. An endpoint may be hostile, so the
time of a request and the size and shape of its answer are checked here.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.chat_response import (
    IS_IT_ONE,
    MAX_BODY,
    Bill,
    ChatReply,
    Problem,
    completion_of,
    plain,
    refusal,
)
from natlang_envs.evaluation.chat_settings import ChatSettings

if TYPE_CHECKING:
    import openai

_KEYS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")
_HEADERS = (*_KEYS, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_VERSION")
_PASSWORD = re.compile(r"//[^/@\s]*@")
_QUERY = re.compile(r"\?.*", re.DOTALL)
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
        """Return the model's answer to a prompt, below a system message, as `ChatReply.text` has it."""
        return self.ask([{"role": "system", "content": system}, {"role": "user", "content": prompt}]).text

    def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        failed: Callable[[Problem], None] = lambda _: None,
    ) -> ChatReply:
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
        sent: list[Any] = list(messages)
        if not self.settings.system and len(sent) > 1 and sent[0]["role"] == "system":
            sent[:2] = [{**sent[1], "content": f"{sent[0]['content']}\n\n{sent[1]['content']}"}]
        more = {**self.settings.body(), **({"tools": list(tools)} if tools else {})}
        body, deadline, late = bytearray(), time.monotonic() + self.settings.timeout, False
        try:
            with self._client.chat.completions.with_streaming_response.create(
                model=self._model, messages=sent, extra_body=more or None
            ) as response:
                for piece in response.http_response.iter_bytes():
                    body += piece
                    late = time.monotonic() > deadline
                    if late or len(body) > MAX_BODY:
                        break
        except Exception as error:
            raise self._problem_of(error) from None
        if late:
            raise TimeoutError
        if len(body) > MAX_BODY:
            raise Problem(f"answers with more than {MAX_BODY:,} bytes", "lasting", remedy=IS_IT_ONE)
        return bytes(body)

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
            remedy = "is it running, and is OPENAI_BASE_URL right?"
            return Problem(f"cannot be reached ({why})", "unlikely", remedy=remedy)
        name, proxy = self._proxy
        remedy = f"is {name} right? NO_PROXY goes round it"
        return Problem(f"cannot be reached through the proxy {proxy} ({why})", "unlikely", remedy=remedy)


def _refuse(response: Any) -> None:
    """Raise a `Problem` for any status but success: redirections are not followed, they could lead to any host.

    The package's own errors leave out the endpoint's text.
    """
    if response.status_code in (200, 201):
        return
    body = b""
    for piece in response.iter_bytes():
        body += piece
        if len(body) > _OF_AN_ERROR:
            break
    raise refusal(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


def setting(name: str) -> str | None:
    given = os.environ.get(name)
    return None if given is None else given.strip()


def without_secrets(text: str) -> str:
    for name in _KEYS:
        key = setting(name)
        if key and len(key) > 3:
            text = text.replace(key, f"[{name}]")
    return _PASSWORD.sub("//", text)


def shown_address(address: str) -> str:
    """Return an address without what may be secret in it: a password, and what follows a question mark."""
    return _QUERY.sub("", without_secrets(address))


def proxy_of(address: str) -> tuple[str, str] | None:
    """Return the environment variable that names the proxy to an address, and the proxy; None without one."""
    parts = urlsplit(address)
    if proxy_bypass(parts.hostname or ""):
        return None
    names = (f"{parts.scheme}_proxy", "all_proxy")
    found = ((each, setting(each)) for name in names for each in (name, name.upper()))
    return next(((name, shown_address(plain(proxy))) for name, proxy in found if proxy), None)


def connect(timeout: float, agent: str, response_hook: Any) -> openai.OpenAI:
    """Return a client of the endpoint that the environment names; `timeout` is in seconds for a piece of an answer."""
    try:
        import openai
    except ImportError:
        install = "install it with pip install 'natlang-envs[explore]'"
        raise UsageError(f"agent {agent!r} needs the package openai: {install}") from None
    for name in _HEADERS:
        given = setting(name) or ""
        if not (given.isascii() and given.isprintable()) or " " in given:
            raise UsageError(f"{name} holds a character that no key has: set it again")
    azure, base, key = setting("AZURE_OPENAI_ENDPOINT"), setting("OPENAI_BASE_URL"), setting("OPENAI_API_KEY")
    if azure and not base:
        _check_address("AZURE_OPENAI_ENDPOINT", azure, agent)
    elif base is not None:
        _check_address("OPENAI_BASE_URL", base, agent)
    if not azure and not key and not base:
        known = "OPENAI_API_KEY, or OPENAI_BASE_URL for one of your own, or AZURE_OPENAI_ENDPOINT"
        raise UsageError(f"agent {agent!r} finds no endpoint: set {known}")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        path = os.environ.get(name)
        if path and not Path(path).exists():
            raise UsageError(f"{name} names {path!r}, which does not exist: give a file of certificates, or unset it")
    common: dict[str, Any] = {"timeout": timeout, "max_retries": 0, "organization": setting("OPENAI_ORG_ID")}
    address = base or azure or ""
    # Reading certificates takes 30 ms. Where nothing is encrypted none are read, and without them TLS fails.
    unencrypted = address.startswith("http:") and proxy_of(address) is None
    certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if unencrypted else True
    try:
        common["http_client"] = openai.DefaultHttpxClient(
            follow_redirects=False,
            event_hooks={"response": [response_hook]},
            headers={"Accept-Encoding": "gzip"},
            verify=certificates,
        )
    except Exception as error:  # of many kinds: what the variables below may hold differs between versions
        raise UsageError(_no_client(error, agent)) from None
    try:
        if azure and not base:
            return openai.AzureOpenAI(
                azure_endpoint=azure,
                api_key=setting("AZURE_OPENAI_API_KEY"),
                azure_ad_token=setting("AZURE_OPENAI_AD_TOKEN"),
                api_version=setting("OPENAI_API_VERSION") or None,
                **common,
            )
        return openai.OpenAI(api_key=key or "none", base_url=base, project=setting("OPENAI_PROJECT_ID"), **common)
    except (openai.OpenAIError, ValueError) as error:
        raise UsageError(f"agent {agent!r} cannot be set up: {_line(error)}") from None


def _line(error: Exception) -> str:
    return without_secrets(plain(" ".join(str(error).split())))[:300]


def _no_client(error: Exception, agent: str) -> str:
    """Return why there is no client: its proxies and certificates are read when it is made."""
    proxies = [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy", "no_proxy")]
    named = ", ".join(sorted(proxies)) or "SSL_CERT_FILE, SSL_CERT_DIR"
    if isinstance(error, ImportError):
        socks = sorted(name for name in proxies if (setting(name) or "").lower().startswith("socks"))
        return f"{', '.join(socks)} names a SOCKS proxy: pip install socksio, which it needs, or unset it"
    return f"agent {agent!r} cannot be set up ({_line(error)}): is what {named} says right?"


def _check_address(name: str, address: str, agent: str) -> None:
    try:
        parts = urlsplit(address)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or any(each.isspace() for each in address):
        raise UsageError(f"agent {agent!r} cannot be set up: {name} is no address of the web")
