"""Why a command did nothing or ended the game: a cause, in words, with a remedy.

Environments made with `explain=True` put it into `info["why"]`, and with `feedback="explained"` into the observation
too. A cause reveals no more than a player can know: the rules, and the texts so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import Any, Literal, NamedTuple, get_args

from natlang_envs.errors import UsageError, check_flag, require_choice

LONGEST = 1_000  # characters that a reason has at most
Feedback = Literal["plain", "explained"]
ENDINGS = {  # of nothing but the end of a game that is lost
    "wall": "a wall is in the way",
    "edge": "the map ends there",
    "nobody there": "nobody waits there",
    "nobody in the taxi": "nobody is in the taxi",
    "in the taxi": "the passenger is in the taxi already",
    "not the destination": "the passenger wants to go elsewhere",
    "wrong answer": "the file does not answer the question",
    "wrong repair": "the changes do not do what was asked",
    "left": "the player left without an answer",
}
CAUSES = {
    # The words of the command: it would work now if it were written otherwise.
    "spelling": "a name or a verb is misspelt, or written with other spaces, letters or signs",
    "number missing": "a name has no number",
    "other verb": "the verb has another name here",
    "other grammar": "the words around the names are not those of this game, such as put … in/on … for move … to …",
    "incomplete": "the command does not say where, or with what",
    "several at once": "it is more than one command",
    # The command itself.
    "no command": "there is no command in it",
    "no such verb": "there is no such command in this game",
    "no such thing": "there is nothing of this name",
    "not a place": "this can be neither gone to nor opened, and nothing can be put there",
    "wrong thing": "this cannot be done with such a thing",
    "wrong appliance": "another appliance does this",
    "does not belong": "such a thing has no place there",
    "not offered": "the word, line or edit is not among those that can be chosen",
    # What stands in the way.
    "elsewhere": "the player is at another place",
    "not there": "the thing is not where the command looks for it",
    "already there": "the player, or the thing, is there already",
    "same place as": "the receptacle is at the same place as another one, where the player is",
    "closed": "the receptacle is closed",
    "no door": "it can be neither opened nor closed",
    "already open": "it is open",
    "already closed": "it is closed",
    "hands full": "the player holds something else",
    "not held": "the player does not hold the thing",
    "already held": "the player holds the thing",
    "nothing edited": "nothing is edited yet",
    "used up": "it may not be done any more",
    "stopped": "it reached a limit of time or size, and was stopped",
    **ENDINGS,
}


class Why(NamedTuple):
    """Why a command did not work.

    Attributes:
        cause: One of `CAUSES`.
        words: The cause in a sentence.
        instead: The command that would have done now what was meant; empty where there is none.
        remedy: Commands that remove the cause, if given in this order; empty where none are known.
    """

    cause: str
    words: str
    instead: str = ""
    remedy: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The cause in words, with the command to give next."""
        first = self.instead or " and then ".join(self.remedy)
        return (f"{self.words} Try: {first}" if first else self.words)[: LONGEST - 1]


def why_of(value: Any) -> Why | None:
    """Return a `Why`, also one that went through JSON; None stays None."""
    if value is None:
        return None
    cause, words, instead, remedy = value
    return Why(cause, words, instead, tuple(remedy))


def check_explaining(explain: Any, feedback: Any) -> tuple[bool, bool]:
    """Return whether to give reasons, and whether in the observation.

    Raises:
        UsageError: One of them is no value of the argument of that name.
    """
    check_flag("explain", explain)
    if not isinstance(feedback, str):
        raise UsageError(f"feedback must be one of {', '.join(get_args(Feedback))}, not {feedback!a}")
    explained = require_choice("feedback", feedback, get_args(Feedback)) == "explained"
    return explain or explained, explained


class Misspelt:
    """Finds the known word that differs by one letter or one swap of two."""

    def __init__(self, words: Iterable[str]) -> None:
        self._shortened: dict[str, str] = {}
        self._longest = 0
        for word in words:
            self._longest = max(self._longest, len(word))
            for each in (word, *_shorter(word)):
                self._shortened.setdefault(each, word)

    def meant(self, word: str) -> str | None:
        """Return the known word; None if there is none, or the word is shorter than three letters."""
        if not 3 <= len(word) <= self._longest + 1:
            return None
        for each in (word, *_shorter(word)):
            found = self._shortened.get(each)
            if found is not None and abs(len(found) - len(word)) <= 1:
                return found
        return None


def misspelt(word: str, known: Iterable[str]) -> str | None:
    """Return the word that `Misspelt` finds, without preparation, for one query."""
    if len(word) < 3:
        return None
    return next((each for each in known if abs(len(each) - len(word)) < 2 and _one_slip(word, each)), None)


def _one_slip(one: str, other: str) -> bool:
    """Return whether two words are equal, but for one letter or two that changed places."""
    start = len(commonprefix((one, other)))  # noqa: RUF071 - of letters, not of paths
    one, other = one[start:], other[start:]
    return one[1:] == other[1:] or one[1:] == other or one == other[1:] or (one[1::-1] + one[2:] == other)


def _shorter(word: str) -> Sequence[str]:
    return [word[:at] + word[at + 1 :] for at in range(len(word))]
