"""A check of demonstrations: whether each reflection says what p(s) shows, and no p(s) is taught two ways."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from natlang_envs.prompt import CUT, DONE
from reference_agent.data_set import Example, as_examples
from reference_agent.teachers.base import named_commands, unseen_names

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
    - `names`: the paths, words of code, numbers and numbered things (`desk 1`) in it stand in p(s) or in A(s);
    - `quotes`: what stands between double quotes stands in p(s), white space aside;
    - `regrets`: where the last step was a mistake (`negative`), p(s) shows a last step;
    - `verdicts`: no two examples with the same p(s) have different actions, or regret the last step in one alone.

    ```python
    from reference_agent.teachers.check import check_demonstrations
    for row in check_demonstrations(examples):
        print(row.rule, row.faults, "of", row.examples, row.first)
    ```

    Raises:
        UsageError: `examples` holds something that `collect` does not return.
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


def _row(rule: str, found: Sequence[tuple[bool, Example, str]]) -> RuleCount:
    faults = [f"{each.task_id}: {each.reflection} ({fault})" for broken, each, fault in found if broken]
    return RuleCount(rule, len(found), len(faults), faults[0] if faults else "")


def _faults(example: Example) -> Iterator[tuple[str, str]]:
    said, state = example.reflection, example.state
    last = last_command(state)
    others = [each for each in named_commands(said, example.commands) if each not in (example.action, last)]
    missing = [] if example.action in said else [f"without {example.action!r}"]
    yield "action", ", ".join([*missing, *(f"names {each!r}" for each in others)])
    shown = "\n".join((state, *example.commands))
    yield "names", ", ".join(f"{each!r} is not shown" for each in unseen_names(said, shown))
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
