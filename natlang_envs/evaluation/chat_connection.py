"""The connection to a chat endpoint, as environment variables name it: address, key, proxy and certificates."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.chat_response import plain

if TYPE_CHECKING:
    import openai

_KEYS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")
_HEADERS = (*_KEYS, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_VERSION")
_PASSWORD = re.compile(r"//[^/@\s]*@")
_QUERY = re.compile(r"\?.*", re.DOTALL)


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
        raise UsageError(
            f"agent {agent!r} needs the package openai: install it with pip install 'natlang-envs[explore]'"
        ) from None
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
        raise UsageError(
            f"agent {agent!r} finds no endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for one of your own, "
            "or AZURE_OPENAI_ENDPOINT"
        )
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        path = os.environ.get(name)
        if path and not Path(path).exists():
            raise UsageError(f"{name} names {path!r}, which does not exist: give a file of certificates, or unset it")
    common: dict[str, Any] = {"timeout": timeout, "max_retries": 0, "organization": setting("OPENAI_ORG_ID")}
    try:
        common["http_client"] = openai.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"response": [response_hook]}, headers={"Accept-Encoding": "gzip"}
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
