"""Checks of demonstrations: whether each reflection says what p(s) shows, and no p(s) is taught two ways."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.prompt import CUT, DONE, History
from reference_agent.data_set import Example, as_examples
from reference_agent.run.config import CollectConfig
from reference_agent.teachers.base import named_commands, unseen_names

_log = logging.getLogger(__name__)
# "no wall between columns 3 and 4": what is not there cannot be shown. A sentence does not end inside "v5.1.0.rst".
_DENIED = re.compile(r"\b[Nn]o (?:[^.]|\.(?=\w))*")
_NUMBER = re.compile(r"'[\d.]+' is not shown(, |$)")  # which may be computed from what is shown
_SHOWN = ("names", "quotes", "regrets")  # the rules on what p(s) shows
_LONG = 200  # characters of an example in a table
_STEP = re.compile(r"^- (.*?)(?:: .*)?$", re.MULTILINE)


class RuleCount(NamedTuple):
    """A row of the table.

    Attributes:
        rule: What is asked of an example.
        examples: How many the rule is about.
        faults: How many break it.
        first: The first of those, and what breaks it; empty without one.
    """

    rule: str
    examples: int
    faults: int
    first: str


def check_demonstrations(examples: Sequence[Example]) -> list[RuleCount]:
    """Return a table of how many demonstrations are not true of their p(s), with a row for each rule.

    - `action`: the reflection names the action, and of other listed commands none but the last one in p(s);
    - `names`: the paths, words of code, numbers and numbered things (`desk 1`) in it stand in p(s) or in A(s), but for
      what it says there is "no ..." of;
    - `quotes`: what stands between double quotes stands in p(s), white space aside;
    - `regrets`: where the last step was a mistake (`negative`), p(s) shows a last step;
    - `verdicts`: no two examples with the same p(s) have different actions, or regret the last step in one alone.

    ```python
    from reference_agent.teachers.check import check_demonstrations
    for row in check_demonstrations(examples):
        print(row.rule, row.faults, "of", row.examples, row.first)
    ```
    """
    examples = as_examples(examples)
    found: dict[str, list[tuple[bool, Example, str]]] = defaultdict(list)
    taught: dict[str, Example] = {}
    for each in examples:
        for rule, fault in _faults(each):
            found[rule].append((bool(fault), each, fault))
        first = taught.setdefault(each.state, each)
        differs = (first.action, first.negative) != (each.action, each.negative)
        found["verdicts"].append((differs, each, f"also taught: {first.reflection}" if differs else ""))
    return [_row(rule, found[rule]) for rule in ("action", "names", "quotes", "regrets", "verdicts")]


class Knowable(NamedTuple):
    """What a student can know of what it is taught, as numbers of examples; `str` is a table.

    Attributes:
        inferable: Nothing in p(s) speaks against it.
        invisible: The reflection names, quotes or regrets what p(s) does not show. A number alone may be computed.
        contradictory: The same p(s) is taught with and without regret of the last step.
        first: The first invisible and the first contradictory example; empty without one.
    """

    inferable: int
    invisible: int
    contradictory: int
    first: tuple[str, str]

    @property
    def unclear(self) -> float:
        """The share of examples that are invisible or contradictory."""
        return (self.invisible + self.contradictory) / max(1, sum(self[:3]))

    def __str__(self) -> str:
        total = sum(self[:3])
        rows = zip(("inferable", "invisible", "contradictory"), self[:3], ("", *self.first), strict=True)
        lines = [f"  {name:13} {count:6} {count / max(1, total):4.0%}  {first}".rstrip() for name, count, first in rows]
        return "\n".join([f"What a student can know, of {total} examples:", *lines])


def what_can_be_known(examples: Sequence[Example]) -> Knowable:
    """Return how many demonstrations a student can infer from p(s).

    ```python
    from reference_agent.teachers.check import what_can_be_known
    print(what_can_be_known(examples))
    ```
    """
    verdicts: dict[str, set[bool]] = defaultdict(set)
    for each in as_examples(examples):
        verdicts[each.state].add(each.negative)
    hidden = [(each, _hidden(each)) for each in examples]
    invisible = [_told(each, fault) for each, fault in hidden if fault]
    apart = [_told(each, "and the opposite") for each, fault in hidden if not fault and len(verdicts[each.state]) > 1]
    clear = len(hidden) - len(invisible) - len(apart)
    return Knowable(clear, len(invisible), len(apart), ("".join(invisible[:1]), "".join(apart[:1])))


def _hidden(example: Example) -> str:
    """Return what the reflection says that p(s) does not show; empty if nothing."""
    faults = (_NUMBER.sub("", fault) for rule, fault in _faults(example) if rule in _SHOWN)
    return next(filter(None, faults), "")


def check_regrets(history: History, settings: CollectConfig) -> None:
    """Raise `UsageError` if mistakes are to be regretted in a p(s) that shows no step."""
    for name in ("negatives", "detours"):
        if history in (0, "none") and (value := getattr(settings, name)):
            raise UsageError(
                f"collect.{name} is {value} and history is {history!r}: the teacher would regret a step that p(s) does "
                f"not show; set history to 1 or more, or collect.{name} to 0"
            )


def check_knowable(examples: Sequence[Example], most: float) -> Knowable:
    """Return `what_can_be_known`, and say it if something cannot be.

    Raises `UsageError` if a larger share than `most` cannot be known.
    """
    found = what_can_be_known(examples)
    if found.unclear > most:
        first = next(filter(None, found.first))
        raise UsageError(
            f"{found.unclear:.0%} of {len(examples)} examples teach what a student cannot know ({found.invisible} "
            f"invisible, {found.contradictory} contradictory): {first}: show more in p(s) (history), mend the teacher, "
            f"or raise collect.unclear, which is {most:g}"
        )
    if found.unclear:
        _log.warning("%s", found)
    return found


def _told(example: Example, fault: str) -> str:
    said = f"{example.task_id}: {example.reflection}"
    return f"{said if len(said) <= _LONG else said[:_LONG] + '...'} ({fault})"


def _row(rule: str, found: Sequence[tuple[bool, Example, str]]) -> RuleCount:
    faults = [_told(each, fault) for broken, each, fault in found if broken]
    return RuleCount(rule, len(found), len(faults), faults[0] if faults else "")


def _faults(example: Example) -> Iterator[tuple[str, str]]:
    said, state = example.reflection, example.state
    last = last_command(state)
    others = [each for each in named_commands(said, example.commands) if each not in (example.action, last)]
    missing = [] if example.action in said else [f"without {example.action!r}"]
    yield "action", ", ".join([*missing, *(f"names {each!r}" for each in others)])
    shown = "\n".join((state, *example.commands))
    yield "names", ", ".join(f"{each!r} is not shown" for each in unseen_names(_DENIED.sub("", said), shown))
    if '"' in said:
        yield "quotes", "" if _quotes_stand(said, state) else "the quote is not shown"
    if example.negative:
        yield "regrets", "" if last else "no step is shown"


def last_command(state: str) -> str:
    head = state.partition("\nObservation: ")[0]
    if f"\n{DONE} " in head:
        return head.rpartition(f"\n{DONE} ")[2].partition("\n")[0].rpartition("; ")[2]
    steps: list[str] = _STEP.findall(head.partition("\nPrevious path:\n")[2])
    return steps[-1] if steps else ""


def _quotes_stand(said: str, state: str) -> bool:
    """Return whether the text between the first and the last quote stands in p(s), or each text between two."""
    shown = _plain(state)
    parts = said.split('"')
    return _plain('"'.join(parts[1:-1])) in shown or all(_plain(each) in shown for each in parts[1::2])


def _plain(text: str) -> str:
    return " ".join(text.replace(CUT, "").split())
