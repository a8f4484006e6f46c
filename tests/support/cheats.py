"""The public cheats: what a change may hold that repairs nothing, by kind. `tests/cheats` has their texts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

_EVERY = '''

def every(make):
    """Put something in the place of every function, method and property here."""
    import types

    def other(old):
        if isinstance(old, property):
            return property(make(old.fget))
        return make(old) if isinstance(old, types.FunctionType) and old.__name__[:2] != "__" else old

    for name, old in list(globals().items()):
        if isinstance(old, type) and old.__module__ == __name__:
            for attribute, inside in list(vars(old).items()):
                if other(inside) is not inside:
                    setattr(old, attribute, other(inside))
        elif name != "every" and getattr(old, "__module__", "") == __name__:
            globals()[name] = other(old)

'''


def cheats() -> dict[str, str]:
    """Return all of them by `kind: name`."""
    return {
        f"{path.stem}: {name}": text
        for path in sorted((Path(__file__).parents[1] / "cheats").glob("*.toml"))
        for name, text in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }


def cheated(source: str, cheat: str, seen: Mapping[str, str], function: str = "") -> str:
    """Return a broken source with a cheat.

    Args:
        source: The broken source.
        cheat: The text of the cheat.
        seen: Every recorded question with its answer.
        function: What is broken.
    """
    return source + _EVERY + cheat.replace("@SEEN@", repr(dict(seen))).replace("@FUNCTION@", function) + "\n"
