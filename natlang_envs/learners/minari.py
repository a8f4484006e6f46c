"""Let Minari keep the text spaces: call `register()` before recording and before loading a data set.

Minari writes a space as JSON by its type. Without this a `UnicodeText` is kept as the `Text` of a single character.
Recordings are of the environment's own split: record training data with `split="train"`.
"""

# Minari is no dependency of the suite.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from typing import Any

from minari.serialization import deserialize_space, serialize_space

from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.spaces import CommandText, UnicodeText

warn_if_untested("minari")


def register() -> None:
    """Teach Minari to write and read `UnicodeText` and `CommandText`; calling it again changes nothing."""
    serialize_space.register(UnicodeText, _write)
    deserialize_space.register("UnicodeText")(lambda its: UnicodeText(its["max_length"]))
    deserialize_space.register("CommandText")(lambda its: CommandText(its["max_length"], tuple(its["commands"])))


def _write(space: UnicodeText, to_string: bool = True) -> dict[str, Any] | str:
    fields: dict[str, Any] = {"type": type(space).__name__, "max_length": space.max_length}
    if isinstance(space, CommandText):
        fields["commands"] = list(space.commands)
    return json.dumps(fields) if to_string else fields
