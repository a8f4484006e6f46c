"""The packaging index: where pip would look on this machine, and a file from there.

pip itself is not used to download: for a source distribution it runs the project's own build code.
"""

from __future__ import annotations

import ast
import os
import re
import ssl
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from natlang_envs.errors import UsageError, reason
from natlang_envs.files import run_python

_DEFAULT_INDEX = "https://pypi.org/simple"
_LINE = re.compile(r"(?P<section>global|download)\.(?P<name>[^.=]+)=(?P<value>.*)")


class Unreachable(UsageError):  # noqa: N818 - a UsageError that says what happened
    """The index cannot be reached, or does not have the file; the message says which."""


@dataclass(frozen=True)
class IndexSettings:
    """Where to look for packages, as pip is told on this machine."""

    indexes: tuple[str, ...] = (_DEFAULT_INDEX,)
    links: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    certificates: str | None = None
    client_certificate: str | None = None
    proxy: str | None = None
    timeout: float = 15.0


def read_settings() -> IndexSettings:
    given = _pip_config() | {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in os.environ.items()
        if name.startswith("PIP_") and value
    }
    alone = given.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t")
    indexes = () if alone else (given.get("index-url", _DEFAULT_INDEX), *given.get("extra-index-url", "").split())
    try:
        timeout = float(given.get("timeout") or given.get("default-timeout") or 15)
    except ValueError:
        raise UsageError(f"pip's timeout is {given.get('timeout')!r}: set it to a number of seconds") from None
    return IndexSettings(
        indexes=indexes,
        links=tuple(given.get("find-links", "").split()),
        trusted=tuple(given.get("trusted-host", "").split()),
        certificates=given.get("cert"),
        client_certificate=given.get("client-cert"),
        proxy=given.get("proxy"),
        timeout=timeout,
    )


def _pip_config() -> dict[str, str]:
    """Return what pip's configuration files say to `pip download`."""
    try:
        listed = run_python("-m", "pip", "config", "list", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, dict[str, str]] = {"global": {}, "download": {}}
    for line in listed.stdout.splitlines() if listed.returncode == 0 else ():
        match = _LINE.fullmatch(line)
        if match:
            with suppress(ValueError, SyntaxError):
                found[match["section"]][match["name"]] = str(ast.literal_eval(match["value"]))
    return found["global"] | found["download"]


class Index:
    """The packaging index that the settings describe; by default, the user's."""

    def __init__(self, settings: IndexSettings | None = None) -> None:
        try:
            from unearth import PackageFinder
            from unearth.auth import MultiDomainBasicAuth
            from unearth.fetchers.sync import PyPIClient
        except ImportError:
            raise UsageError("fetching needs the package unearth: pip install 'natlang-envs[data]'") from None
        self._settings = chosen = settings or read_settings()
        options: dict[str, Any] = {"timeout": chosen.timeout, "follow_redirects": True}
        try:
            if chosen.certificates:
                options["verify"] = ssl.create_default_context(cafile=chosen.certificates)
            if chosen.client_certificate:
                options["cert"] = chosen.client_certificate
            if chosen.proxy:
                options["proxy"] = chosen.proxy
            client = PyPIClient(trusted_hosts=chosen.trusted, **options)
        except (OSError, ValueError) as error:
            raise UsageError(f"pip's settings cannot be used ({reason(error)}): see pip config list") from None
        client.auth = MultiDomainBasicAuth(prompting=False, index_urls=list(chosen.indexes))
        self._client: Any = client  # the library's own client lacks a detail of its own protocol
        self._finder = PackageFinder(
            self._client,
            index_urls=chosen.indexes,
            find_links=chosen.links,
            trusted_hosts=chosen.trusted,
            ignore_compatibility=True,
        )

    def address(self, name: str, version: str, ending: str = ".tar.gz") -> str:
        """Return the address of a file whose name ends so: a source distribution, or `-py3-none-any.whl`."""
        try:
            found = [
                package.link
                for package in self._finder.find_all_packages(name, allow_yanked=True)
                if package.version == version and package.link.filename.endswith(ending)
            ]
        except Exception as error:  # whatever the client library and what it stands on raise
            raise Unreachable(f"{self._where} cannot be read ({_short(error)})") from error
        if not found:
            kind = "source distribution" if ending == ".tar.gz" else "wheel"
            raise Unreachable(f"{self._where} cannot be reached, or has no {kind} of {name} {version}")
        return found[0].url_without_fragment

    @contextmanager
    def open(self, address: str, start: int) -> Generator[tuple[int, int | None, Iterator[bytes]]]:
        """Open a file of the index from the byte `start`, if the index can.

        Yields the byte it does begin at, the number of bytes from the first to the last or None, and the bytes.
        """
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        try:
            with self._client.stream("GET", address, headers=headers) as answer:
                answer.raise_for_status()
                begin = start if answer.status_code == 206 else 0
                length = answer.headers.get("content-length")
                yield begin, None if length is None else begin + int(length), answer.iter_raw()
        except (OSError, UsageError, GeneratorExit):
            raise
        except Exception as error:
            raise Unreachable(f"{address.rpartition('/')[2]} cannot be downloaded ({_short(error)})") from error

    @property
    def _where(self) -> str:
        places = [re.sub("//[^/@]*@", "//", place) for place in (*self._settings.indexes, *self._settings.links)]
        return f"the packaging index {places[0]}" if places else "the packaging index"


def _short(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:200]
