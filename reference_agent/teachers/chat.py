"""A chat model as the teacher M_R, behind an OpenAI-compatible or Azure endpoint (Algorithm 1, lines 7, 8, 15, 16).

Each lesson takes two requests: p(s) with p_reflect (after a mistake also p_negative) gives R; p(s), R and α(A(s)) give
a. Lessons are left out of the data, and counted, if the answer names no listed command, contradicts its reflection or
gives away what it was told; the game then goes on with the oracle's action. Answers are cached on disk by request. Set
the endpoint and its key with environment variables: see `natlang_envs.evaluation.chat_endpoint`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import threading
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from natlang_envs.answers import read_answer, split_thought
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, reason
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint
from natlang_envs.evaluation.chat_settings import ChatSettings
from natlang_envs.files import write_whole
from natlang_envs.prompt import Choice, enumerate_actions
from reference_agent.data_set import Meter
from reference_agent.families import prompts
from reference_agent.run.bounds import at_least, check_bounds
from reference_agent.run.config import TeacherConfig
from reference_agent.teachers.base import FORBIDDEN, Lesson, Moment, Teacher, ask, named_commands
from reference_agent.teachers.choose import check_options

_GENERAL = Path(__file__).with_name("prompts.toml")
_PATIENCE = 30.0  # seconds with one request that fails
_GONE = 20  # requests that fail in a row after which a server is given up


@dataclass(frozen=True)
class ChatOptions:
    """Options of the teacher `"openai"`."""

    model: str = ""  # the chat model's name; on Azure, the deployment's
    prompts: str = ""  # a TOML file with the prompts, instead of those of the environment's family
    hint: bool = True  # whether the model is told the oracle's next action, if the prompts have a place for it
    workers: int = at_least(1, 4)  # trajectories played at a time
    timeout: float = 120.0  # the most seconds of a request
    price_read: float = 0.0  # of a million tokens, in any currency
    price_written: float = 0.0

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise UsageError("the teacher 'openai' needs the name of a chat model: set teacher.model")
        check_bounds(self, "teacher.")


def chat_options(config: TeacherConfig) -> ChatOptions:
    """Return the options of a chat model. Raises `UsageError` if one is unknown or wrong, or the model is missing."""
    check_options(config.name, config.options, {each.name: each.default for each in fields(ChatOptions)})
    return ChatOptions(**config.options)


class Prompts(NamedTuple):
    system: str  # its role
    reflect: str  # p_reflect
    negative: str  # p_negative
    hint: str  # tells it the oracle's action; empty where it is not told
    choose: str  # how it is asked to choose


def load_prompts(env: NatLangEnv, file: str = "") -> Prompts:
    """Return the prompts of a file, of the environment's family, or general ones about its class."""
    if file:
        try:
            told = tomllib.loads(Path(file).read_text(encoding="utf-8"))
            return Prompts(**{name: said.strip() for name, said in told.items()})
        except (OSError, ValueError, TypeError, AttributeError) as error:
            names = ", ".join(Prompts._fields)
            raise UsageError(f"{file} holds no prompts ({reason(error)}): write the texts {names}") from None
    own = prompts(env.family) or tomllib.loads(_GENERAL.read_text(encoding="utf-8"))
    said = {name: text.strip() for name, text in own.items()}
    return Prompts(**{**said, "system": said["system"].replace("{game}", described(env))})


def described(env: NatLangEnv) -> str:
    """Return the sections Description and Rewards of an environment's class docstring, or its first paragraph."""
    text = inspect.getdoc(type(env)) or env.family
    parts = re.split(r"^#+ *(.+)$", text, flags=re.MULTILINE)
    sections = {title.strip().lower(): body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}
    told = [sections[name] for name in ("description", "rewards") if name in sections]
    return "\n".join(told) or text.split("\n\n")[0]


class ChatAnswer(NamedTuple):
    """What a model said, and the tokens read and written for it."""

    text: str
    read: int
    written: int


class ChatModel:
    """A chat model that many threads ask at a time, with a cache in `folder`, if there is one."""

    def __init__(self, config: ChatOptions, folder: Path | None) -> None:
        self._config, self._folder = config, folder
        self._driver = ChatEndpoint(config.model, ChatSettings(timeout=config.timeout, patience=_PATIENCE))
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._kept: dict[str, ChatAnswer] = {}
        self._used = self._from_disk = self._read = self._written = 0
        self._failed_in_row, self._ever = 0, False
        self._left_out: Counter[str] = Counter()
        self._endpoint = self._driver.endpoint

    def ask(self, system: str, prompt: str, number: int) -> str | None:
        """Return answer `number` to this very request; None if the endpoint did not give one."""
        request = json.dumps([self._endpoint, self._config.model, system, prompt, number])
        key = hashlib.sha256(request.encode()).hexdigest()
        file = self._folder / key[:2] / f"{key}.json" if self._folder else None
        with self._lock:
            asking = self._asking[key]
        with asking:  # two threads with the same request get the same answer, and pay once
            kept = self._kept.get(key) or self._from_file(file)
            answer = kept or self._request(system, prompt)
            if answer is None:
                return None
            if not kept and file:
                content = {"request": json.loads(request), "answer": answer._asdict()}
                try:
                    write_whole(file, (json.dumps(content, indent=1) + "\n").encode())
                except OSError as error:
                    why = f"{self._folder} takes no more answers ({error.strerror})"
                    raise UsageError(f"{why}: those in it are kept, mend that and start again") from None
            if key in self._kept:
                return answer.text
            self._kept[key] = answer
        with self._lock:
            self._used += 1
            self._from_disk += kept is not None
            self._read += answer.read
            self._written += answer.written
        return answer.text

    def leave_out(self, reason: str) -> None:
        with self._lock:
            self._left_out[reason] += 1

    def meter(self) -> Meter:
        """Return what was used so far, and what it cost, the answers from the disk included."""
        with self._lock:
            cost = (self._read * self._config.price_read + self._written * self._config.price_written) / 1e6
            left_out = dict(sorted(self._left_out.items()))
            return Meter(self._endpoint, self._used, self._from_disk, self._read, self._written, cost, left_out)

    def _request(self, system: str, prompt: str) -> ChatAnswer | None:
        with self._lock:
            gone = self._failed_in_row >= _GONE
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        try:
            if gone:
                raise UsageError(f"{self._endpoint} has not answered {_GONE} requests in a row")  # noqa: TRY301
            done = self._driver.ask(messages)
        except UsageError as error:
            with self._lock:
                self._failed_in_row += 1
                if not self._ever:
                    raise
                if self._failed_in_row >= _GONE:
                    raise UsageError(f"{error}: run again later, the answers so far are kept") from None
            return None
        with self._lock:
            self._failed_in_row, self._ever = 0, True
        return ChatAnswer(done.text, done.bill.read, done.bill.written + done.bill.other)

    def _from_file(self, file: Path | None) -> ChatAnswer | None:
        try:
            return ChatAnswer(**json.loads(file.read_text(encoding="utf-8"))["answer"]) if file else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(f"{file} is no kept answer ({reason(error)}): delete it to ask again") from None


class ChatTeacher:
    """A teacher that lets a chat model, which several share, reflect and choose.

    The oracle's action is the hint, and the game goes on with it where the model fails.
    """

    def __init__(self, model: ChatModel, prompts: Prompts, oracle: Teacher, hint: bool) -> None:
        self.restarts, self.idles = getattr(oracle, "restarts", False), getattr(oracle, "idles", False)
        self._model, self._prompts, self._oracle = model, prompts, oracle
        self._hint = hint and bool(prompts.hint)

    def __call__(self, moment: Moment) -> Lesson:
        """Return the model's reflection and action; without a reflection, the oracle's action."""
        known = ask(self._oracle, moment).action
        told = self._lesson(moment, known)
        if isinstance(told, Lesson):
            return told
        self._model.leave_out(told)
        return Lesson(None, known)

    def _lesson(self, moment: Moment, known: str) -> Lesson | str:
        """Return a lesson, or why there is none."""
        prompts = self._prompts
        negative = [] if moment.wrong is None else [prompts.negative]
        hint = [prompts.hint.format(action=known)] if self._hint else []
        asked = [moment.state, *negative, *hint, prompts.reflect]
        said = self._model.ask(prompts.system, "\n\n".join(asked), moment.wording)
        if said is None:
            return "without an answer"
        reflection = " ".join(split_thought(said).said.split())
        if not reflection:
            return "empty"
        if FORBIDDEN.search(reflection) or "for you alone" in reflection.lower():
            return "giving away what was told"
        choices = enumerate_actions(moment.commands)
        listed = "\n".join(f"{each.label}. {each.command}" for each in choices)
        question = f"{moment.state}\n\nReflection: {reflection}\n\nActions:\n{listed}\n\n{prompts.choose}"
        answer = self._model.ask(prompts.system, question, moment.wording)
        if answer is None:
            return "without an answer"
        action = chosen(answer, choices)
        if action is None:
            return "naming no listed command"
        named = named_commands(reflection, moment.commands)
        if named and action not in named:
            return "whose action contradicts the reflection"
        return Lesson(reflection, action)


def chosen(answer: str, choices: Sequence[Choice]) -> str | None:
    """Return the command that an answer gives by its label, its words or both; None if it gives none, or several."""
    commands, labels = [each.command for each in choices], [each.label for each in choices]
    return read_answer(answer, commands, labels=labels).command
