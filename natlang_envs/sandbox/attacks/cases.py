"""The attacks that hostile code tries from inside the isolation; `arena.py` judges them.

An attack is Python code that prints ESCAPED when it succeeds; the arena looks for damage from the host. Each class has
a TOML file of sets, which map names to code. A set may give `control = false`, `limits`, `layered`, `pip`, and `x86`
for code with the numbers of that processor's system calls. Its templates make the attacks: `@name@` and `@code@` stand
for those of the set, `@repr@` for the name as Python writes it, other words for the file's `parts` or numbers of this
machine.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from natlang_envs.sandbox.isolation.watch import Limits

SECRET = "canary-7c1f03"
ALLOWANCE = 5.0  # seconds beyond the limit, on a busy machine
PRELUDE = """
import json, os, sys, time
P = json.loads(sys.argv[1])
def leak(data):
    # In two parts in the arguments, or their own copy in the memory of others would look like a find.
    text = data if isinstance(data, str) else bytes(data).decode(errors="replace")
    if "".join(P["secret"]) in text: print("ESCAPED: read")
def reached(what): print("ESCAPED:", what)
def quiet(call, *arguments):
    try: return call(*arguments)
    except Exception: return None
"""

_CLASSES = ("read", "write", "reach", "rights", "bomb", "hold", "left", "pip", "call", "layer")
_SELDOM = ("ctypes", "shutil", "signal", "socket", "subprocess")  # imported where used: most of the time is start-up
_LIBC = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
_USUAL = Limits(seconds=3, memory=96 << 20, processes=12, disk=4 << 20, output=64 << 10)
_LIMITS = {
    "usual": _USUAL,
    "short": replace(_USUAL, seconds=0.5),
    "long": replace(_USUAL, seconds=40, memory=400 << 20),
}
_X86 = os.uname().machine == "x86_64"
_WORDS = {
    "PRELUDE": repr(PRELUDE),
    "FILES": str(_USUAL.disk // 4096 * 11 // 10),
    "ROOM": str(_USUAL.memory * 11 // 10),
    # System calls: exit, clone, rt_sigqueueinfo, timer_create.
    **({"EXIT": "60", "CLONE": "56"} if _X86 else {"EXIT": "93", "CLONE": "220"}),
    **({"SIGNAL": "129", "TIMER": "222"} if _X86 else {"SIGNAL": "138", "TIMER": "107"}),
}


@dataclass(frozen=True)
class Attack:
    """One attempt: its code, whether it gets out unisolated, its limits, the program that runs it, its files."""

    code: str
    control: bool = True  # whether it gets out where nothing isolates, which shows that the code can succeed
    limits: Limits = _USUAL
    pip: tuple[str, ...] = ()  # then pip is what runs, and the code prepares
    layered: bool = False  # whether its files are above others that many runs share


def script(code: str) -> str:
    needed = "".join(f"import {name}\n" for name in _SELDOM if f"{name}." in code)
    return PRELUDE + needed + (_LIBC if "libc." in code else "") + code


def _read(name: str) -> Iterator[tuple[str, Attack]]:
    content = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    words = content.get("parts", {}) | _WORDS
    for each in content["sets"]:
        for name, code in each["attacks"].items():
            given = {"name": name, "code": code, "repr": repr(name)}
            for template in each.get("templates", ({"name": "@name@", "code": "@code@"},)):
                filled = _filled(template["code"], given | words)
                yield _filled(template["name"], given), _attack(each | template, filled)


def _filled(text: str, words: Mapping[str, str]) -> str:
    before = ""
    while before != text:  # what a word stands for may hold others
        before = text
        for word, meaning in words.items():
            text = text.replace(f"@{word}@", meaning)
    return text


def _attack(about: Mapping[str, Any], code: str) -> Attack:
    if about.get("x86") and not _X86:
        return Attack("raise OSError", control=False)
    limits = _LIMITS[about.get("limits", "usual")]
    return Attack(code, about.get("control", True), limits, tuple(about.get("pip", ())), about.get("layered", False))


GROUPS = {name: dict(_read(name)) for name in _CLASSES}
ATTACKS = {f"{group}: {name}": attack for group, named in GROUPS.items() for name, attack in named.items()}
