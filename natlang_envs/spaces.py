"""Text spaces: bounded Unicode, and commands that can be sampled.

Gymnasium's own `Text` accepts only the characters of a charset it lists, which for all of Unicode takes seconds to
build. These two are `Text` for everything that dispatches on it (batching, wrappers) and differ in what they contain.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space, Text, flatten, flatten_space, unflatten  # pyright: ignore[reportUnknownVariableType]
from gymnasium.vector.utils import (
    create_shared_memory,  # pyright: ignore[reportUnknownVariableType]
    read_from_shared_memory,  # pyright: ignore[reportUnknownVariableType]
    write_to_shared_memory,  # pyright: ignore[reportUnknownVariableType]
)
from numpy.typing import NDArray

from natlang_envs.errors import UsageError

# A sampled observation consists of these words: readable text beats noise.
_SAMPLE_WORDS = ("a", "taxi", "waits", "at", "the", "corner", "of", "an", "open", "folder")


def escape_surrogates(text: str) -> str:
    """Return `text` with lone surrogates backslash-escaped."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


# Computed once: every `Text` derives these from its charset, and here the charset is always the same.
_ONE_CHARACTER = {name: value for name, value in vars(Text(1, charset=frozenset(" "))).items() if "char" in name}


class UnicodeText(Text):
    """Any string that UTF-8 can encode, of at most `max_length` characters.

    Args:
        max_length: The largest number of characters, inclusive.
        seed: Seeds `sample`.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        # SyncVectorEnv breaks on an empty charset, so there is one character in it; `contains` never looks.
        super().__init__(max_length, min_length=0, charset=frozenset(" "), seed=seed)
        vars(self).update(_ONE_CHARACTER)

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a string within the bound and free of lone surrogates."""
        if not isinstance(x, str) or len(x) > self.max_length:
            return False
        if x.isascii():
            return True
        try:
            x.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a few random words; masks mean nothing here and are ignored."""
        count = int(self.np_random.integers(1, 9))
        words = self.np_random.integers(len(_SAMPLE_WORDS), size=count)
        return " ".join(_SAMPLE_WORDS[int(word)] for word in words)[: self.max_length]

    def __eq__(self, other: object, /) -> bool:
        """Compare kind and bound, not the commands of the moment: vector environments compare spaces."""
        return type(other) is type(self) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash((type(self), self.max_length))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.max_length})"


class CommandText(UnicodeText):
    """A text space whose `sample` returns an admissible command.

    The environment writes `commands` at every step, so `env.action_space.sample()` is a random agent. Any other text
    is contained too: an environment answers unknown text in words.

    Args:
        max_length: The largest number of characters of a command.
        commands: The commands that `sample` returns before the first reset.
        seed: Seeds `sample`.
    """

    def __init__(
        self, max_length: int, commands: tuple[str, ...], *, seed: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(max_length, seed=seed)
        self.commands = commands

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return one of `commands`, uniformly."""
        commands = self.commands
        # The property seeds on first use; asked every time, it would take a tenth of the draw.
        random = self._np_random or self.np_random
        return commands[int(random.integers(len(commands)))]


# In shared memory Gymnasium's own `Text` is read once, at the start, and loses what is not in the charset.
_LENGTH = 4  # bytes before each text, that say how many it takes


class SharedTexts(Sequence[str]):
    """Texts in the memory of `AsyncVectorEnv`: each is read when it is asked for; a deep copy is a tuple of them."""

    def __init__(self, memory: Any, n: int, max_length: int) -> None:
        self._rows = np.frombuffer(memory.get_obj(), np.uint8).reshape(n, _LENGTH + 4 * max_length)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        row = self._rows[index]
        size = int.from_bytes(row[:_LENGTH].tobytes(), "little")
        return row[_LENGTH : _LENGTH + size].tobytes().decode("utf-8")

    def __setitem__(self, index: int, text: str) -> None:
        content = escape_surrogates(text).encode("utf-8")
        whole = len(content).to_bytes(_LENGTH, "little") + content
        self._rows[index, : len(whole)] = np.frombuffer(whole, np.uint8)

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


@create_shared_memory.register(UnicodeText)
def _create_shared(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:  # pyright: ignore[reportUnusedFunction]
    return ctx.Array("B", n * (_LENGTH + 4 * space.max_length))


@read_from_shared_memory.register(UnicodeText)
def _read_shared(space: UnicodeText, shared_memory: Any, n: int = 1) -> Any:  # pyright: ignore[reportUnusedFunction]
    return SharedTexts(shared_memory, n, space.max_length)


@write_to_shared_memory.register(UnicodeText)
def _write_shared(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:  # pyright: ignore[reportUnusedFunction]
    size = _LENGTH + 4 * space.max_length
    SharedTexts(shared_memory, len(shared_memory) // size, space.max_length)[index] = value


# Gymnasium's own forms of `Text` look characters up in the charset. Ours: code points plus one, filled up with zeros.


@flatten_space.register(UnicodeText)
def _flat_space(space: UnicodeText) -> Box:  # pyright: ignore[reportUnusedFunction]
    return Box(0, sys.maxunicode + 1, (space.max_length,), np.int32)


@flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: str) -> NDArray[np.int32]:  # pyright: ignore[reportUnusedFunction]
    flat = np.zeros(space.max_length, np.int32)
    flat[: len(x)] = np.frombuffer(x.encode("utf-32-le"), "<i4") + 1
    return flat


@unflatten.register(UnicodeText)
def _unflatten(space: UnicodeText, x: NDArray[np.integer[Any]]) -> str:  # pyright: ignore[reportUnusedFunction]
    points: list[int] = x[x > 0].tolist()
    return "".join(chr(point - 1) for point in points)


def check_texts(space: Space[Any], wrapper: str) -> None:
    """Raise `UsageError` unless a wrapper's observations are texts."""
    if not isinstance(space, Text):
        raise UsageError(f"{wrapper} takes texts, but the observations are {space}: put it further inside")


def check_commands(space: Space[Any], wrapper: str) -> None:
    """Raise `UsageError` unless a wrapper's actions are commands."""
    if not isinstance(space, CommandText):
        raise UsageError(f"{wrapper} takes commands, but the actions are {space}: put it further inside")
