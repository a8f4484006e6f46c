"""The form of an attack, and the code that every attack begins with.

An attack is Python code that prints ESCAPED when it got what it wanted; what it does to the host is looked at from
the host. `control` are the attacks that get out where nothing isolates: they show that the code can succeed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from natlang_envs.sandbox.isolation.isolation import Limits

SECRET = "canary-7c1f03"
LIMITS = Limits(seconds=3, memory=96 << 20, processes=12, disk=4 << 20, output=64 << 10)
SHORT = replace(LIMITS, seconds=0.5)
LONG = replace(LIMITS, seconds=40, memory=400 << 20)
ALLOWANCE = 3.0  # seconds beyond the limit, on a busy machine

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
# Imported where used: most of an attack\'s time is start-up.
SELDOM = ("ctypes", "shutil", "signal", "socket", "subprocess")
LIBC = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"


def script(code: str) -> str:
    """Return the code of an attack with the imports and helpers that it needs."""
    needed = [name for name in SELDOM if f"{name}." in code]
    libc = LIBC if "libc." in code else ""
    return PRELUDE + "".join(f"import {name}\n" for name in needed) + libc + code


@dataclass(frozen=True)
class Attack:
    """One attempt: its code, whether it gets out unisolated, its limits, the program that runs it, its files."""

    code: str
    control: bool = True
    limits: Limits = LIMITS
    pip: tuple[str, ...] = ()  # then pip is what runs, and the code prepares
    layered: bool = False  # whether its files are above others that many runs share
