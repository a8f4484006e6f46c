"""Reads the command that an answer means, from explicit forms to a sentence.

A tool call, a label, a tag, a block, JSON or a box states a command explicitly. Without any of them, the whole answer
counts, then its first or last line, then a sentence that states what is done. Statements of equal rank with different
commands are ambiguous. A command that is only mentioned does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

from natlang_envs.answers.calls import commands_of
from natlang_envs.answers.listed import ListedCommands, NamedCommands, is_rejected, union
from natlang_envs.answers.spoken import split_thought
from natlang_envs.answers.texts import AnswerPart, Field, fields_of, is_example, marks_in, parts_of

Problem = Literal["", "no command", "ambiguous"]
MAX_SAID = 200_000  # characters of an answer without its thought; a longer one is not read
_MOST_LINES = 2_000  # in which a listed command is looked for
_DEEPEST = 3  # texts in blocks in texts
_WHOLE_LINES = 400  # characters of a line that may be a command
_ABOUT_IT = re.compile(
    r"\s*(?:(?:this|that|it|which) (?=was|would|fail|is not|isn't|is wrong)|)"
    r"(?:is|was|would|could|might|fail(?:s|ed)|does|did|has|leads|looks)\b",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\(?\w{1,3}[.):])\s")
_NUMBERED = re.compile(r"\s*(?:\*\*)?(?:step )?\(?\d{1,3}[.):]\s", re.IGNORECASE)


class Reading(NamedTuple):
    """What is read in an answer.

    Attributes:
        command: The command, as it is listed, or a free one; None where the answer gives none.
        form: How it was found, in a word or two: "bare", "label", "action", "fence", "tag", "json", "boxed",
            "tool call", "sentence", …
        rest: The text around it, which is the reasoning, with what was thought before.
        left_over: How many further commands stand with it, and are not run.
        problem: Why there is no command: "no command" or "ambiguous"; else "".
    """

    command: str | None
    form: str = ""
    rest: str = ""
    left_over: int = 0
    problem: Problem = ""


class FreeCommands(Protocol):
    """A grammar of commands that are not listed; the copilot's is `natlang_envs.copilot.shell.Shell`."""

    def whole(self, said: str) -> Reading | None:
        """Return the command that all of a text is, or None."""
        ...

    def read(self, said: str) -> Reading | None:
        """Return the command in a text, or None."""
        ...

    def called(self, calls: Sequence[Mapping[str, Any]]) -> Reading | None:
        """Return the command that tool calls give, or None."""
        ...


def read_answer(
    answer: str | Mapping[str, Any],
    commands: Sequence[str] = (),
    *,
    labels: Sequence[str] = (),
    free: FreeCommands | None = None,
) -> Reading:
    """Return the command that an answer means.

    Args:
        answer: A text, or a message with `content` (a text or parts), `tool_calls` or `function_call`, and
            `reasoning_content` or `reasoning`.
        commands: The listed commands.
        labels: The label of each command, where the prompt shows labels: `enumerate_actions` gives them.
        free: A grammar, where commands that are not listed count too.
    """
    thought, said, finished, calls = split_thought(answer)
    if not finished or len(said) > MAX_SAID:
        return Reading(None, rest=thought or said[:MAX_SAID], problem="no command")
    listed = _listed(tuple(commands), tuple(labels), free is not None)
    if free is None or commands:
        first = _of_value(calls[0], listed)._replace(left_over=len(calls) - 1) if calls else None
        reading = _result(first, "tool call", "") if first else _read(said, listed)
    else:
        reading = Reading(None, rest=said, problem="no command")
    if free is not None and reading.problem != "ambiguous" and reading.form != "bare":
        own = free.called(calls) if calls else free.whole(said) or (None if reading.command else free.read(said))
        reading = own or reading
        named = listed.exactly(reading.command or "")
        reading = reading._replace(command=next(iter(named))) if len(named) == 1 else reading
    before = f"{thought}\n" if thought else ""
    return reading._replace(rest=(before + reading.rest).strip())


_listed = lru_cache(maxsize=64)(ListedCommands)


class _Statement(NamedTuple):
    """What states a command: how, at which line, and what it gives."""

    form: str
    line: int
    named: NamedCommands
    number: str = ""
    final: bool = False


def _of_value(value: object, listed: ListedCommands) -> NamedCommands:
    """Return what a JSON value gives: every text that it has in the place of a command counts."""
    return NamedCommands(union(listed.field(text).commands for text in commands_of(value)))


def _result(named: NamedCommands, form: str, rest: str) -> Reading:
    if len(named.commands) == 1:
        return Reading(next(iter(named.commands)), form, rest, named.left_over)
    return Reading(None, rest=rest, problem="ambiguous" if named.commands else "no command")


def _read(said: str, listed: ListedCommands, depth: int = 0) -> Reading:
    whole = listed.named(said)
    if whole.commands:
        return _result(whole, "label" if len(said.strip("()[]`*\"'. ")) < 4 else "bare", "")
    if said.count("\n") > _MOST_LINES:
        return Reading(None, rest=said, problem="no command")
    text, parts = parts_of(said)
    fields = fields_of(text)
    stated, blocked = _statements(fields, parts, listed, depth)

    def rest(until: int | None, without: int) -> str:
        lines = [each.text if each.kind == "thought" else each.raw for each in fields]
        kept = lines[:until] if until is not None else [each for at, each in enumerate(lines) if at != without]
        return re.sub("\ue000(\\d+)\ue001", lambda mark: said[slice(*parts[int(mark[1])][2:])], "\n".join(kept)).strip()

    if stated:
        chosen = _agreed(stated, fields, listed)
        until = chosen.line if chosen.form in ("action", "final") else None
        return _result(chosen.named, chosen.form, rest(until, chosen.line))
    if blocked:
        return Reading(None, rest=said, problem="no command")
    weak = [at for at, each in enumerate(fields) if each.kind == "weak" and listed.named(each.text).commands]
    if len(weak) == 1 and not any(each.kind == "shown" for each in fields[: weak[0]]):
        return _result(listed.named(fields[weak[0]].text), "action", rest(None, weak[0]))
    at, named, form = _unlabelled(fields, listed)
    return _result(named, form, rest(None, at) if len(named.commands) == 1 else said)


def _statements(
    fields: list[Field], parts: list[AnswerPart], listed: ListedCommands, depth: int
) -> tuple[list[_Statement], bool]:
    """Return the explicit statements up to an observation, and whether one states a command that is not listed."""
    found: list[_Statement] = []
    blocked = False
    at = 0
    while at < len(fields):
        each = fields[at]
        is_shown = each.kind in ("shown", "weak") or any(parts[each].form == "shown" for each, _ in marks_in(each.raw))
        if is_shown and found:  # what comes now is made up
            break
        inside = list[_Statement]()
        if each.kind in ("intent", "prose", "thought") and not is_example(each.raw.partition("\ue000")[0]):
            following = fields[at + 1].text if at + 1 < len(fields) else ""
            inside, wrong = _in_parts(each, at, parts, listed, depth, following)
            blocked = blocked or wrong
        if each.kind != "intent":
            found += inside
            at += 1
            continue
        first, number, final = at, each.number, each.final
        lines = [] if not each.text else [each.text]
        at += 1
        while at < len(fields) and not fields[at].labelled and fields[at].kind == "prose":
            lines.append(fields[at].text)
            if not lines[0].strip():
                lines = lines[1:]
            at += 1
        marked = marks_in(lines[0]) if lines else []
        if marked and not inside:
            inside, wrong = _in_parts(Field("prose", lines[0], lines[0]), at - 1, parts, listed, depth)
            blocked = blocked or wrong
        if inside:
            found += [each._replace(number=number, final=final, line=first) for each in inside]
            continue
        given = _slot(lines, listed)
        if not given.commands and each.text and at < len(fields):
            given = _with_input(each.text, fields[at], listed)
        if given.commands and len(lines) > 1 and _ABOUT_IT.match(lines[1]):
            given = NamedCommands()
        if given.commands:
            found.append(_Statement("final" if final else "action", first, given, number, final))
        else:
            blocked = blocked or bool(lines and not marked)
        later = (line for line in fields[first + 1 : at] if marks_in(line.text))
        for line in later if not marked else ():
            more, wrong = _in_parts(line, first, parts, listed, depth)
            found, blocked = found + more, blocked or wrong
    return found, blocked


def _in_parts(
    field: Field, line: int, parts: list[AnswerPart], listed: ListedCommands, depth: int, following: str = ""
) -> tuple[list[_Statement], bool]:
    """Return what the parts in a line state, and whether one of them states what is not listed."""
    found: list[_Statement] = []
    wrong = False
    for number, begin in marks_in(field.text):
        part = parts[number]
        if part.form == "shown" and found:
            break
        after = field.text[begin:].partition("\ue001")[2] or following
        if _ABOUT_IT.match(after):
            continue
        if part.form == "fence":
            inner = _read(str(part.values[0]), listed, depth + 1) if depth < _DEEPEST else Reading(None)
            ambiguous = listed.all if inner.problem == "ambiguous" else frozenset[str]()
            commands = frozenset((inner.command,)) if inner.command else ambiguous
            found += [_Statement("fence", line, NamedCommands(commands))] if commands else []
        elif part.form not in ("", "shown") and not is_rejected(field.text[:begin]):
            several = [_of_value(value, listed) for value in part.values]
            several = several if part.form == "tool call" else [NamedCommands(union(each.commands for each in several))]
            stated = [_Statement(part.form, line, named) for named in several if named.commands]
            found += stated
            empty = part.form == "json" and not any(True for value in part.values for _ in commands_of(value))
            wrong = wrong or (not stated and not empty)
    return found, wrong


def _slot(lines: list[str], listed: ListedCommands) -> NamedCommands:
    """Return the commands after a label, on its line or below it; numbered lines are a plan."""
    if not lines:
        return NamedCommands()
    items = [(line, listed.named(line).commands) for line in lines]
    count = next((at for at, (_, named) in enumerate(items) if not named), len(items))
    if count > 1:
        every = union(named for _, named in items[:count])
        if len(every) == 1:
            return NamedCommands(every)
        is_plan = all(map(_NUMBERED.match, lines[:count])) or not any(map(_LIST_ITEM.match, lines[:count]))
        if is_plan and every != listed.all:
            return NamedCommands(items[0][1], count - 1)
        return NamedCommands(every)
    return listed.field(lines[0])


def _with_input(name: str, after: Field, listed: ListedCommands) -> NamedCommands:
    """Return what the name of a tool gives with the line `Action Input:` after it."""
    if "input" not in after.raw.lower():
        return NamedCommands()
    texts = (after.text, f"{name} {after.text}", *commands_of(after.text))
    return NamedCommands(union(listed.named(text).commands for text in texts))


def _agreed(stated: list[_Statement], fields: list[Field], listed: ListedCommands) -> _Statement:
    """Return the statement that counts; it gives several commands where none ranks above another."""
    for group in ([each for each in stated if each.final], stated):
        commands = union(each.named.commands for each in group)
        if len(commands) == 1:
            chosen = group[0]
            after = " ".join(each.text for each in fields[chosen.line + 1 :] if each.kind == "prose")
            if not (back := listed.taken_back(after)) <= commands:
                return chosen._replace(named=NamedCommands(commands | back))
            return chosen
        numbers = [int(each.number) for each in group if each.number]
        in_order = len(numbers) == len(group) and numbers == sorted(set(numbers))
        in_order = in_order and not any("step" in fields[each.line].raw.lower()[:12] for each in group)
        if (
            group
            and (in_order or all(each.form == "tool call" for each in group))
            and len(group[0].named.commands) == 1
        ):
            return group[0]._replace(named=group[0].named._replace(left_over=len(group) - 1))
        if group:
            return group[0]._replace(named=NamedCommands(commands))
    raise AssertionError("there is a statement")


def _unlabelled(fields: list[Field], listed: ListedCommands) -> tuple[int, NamedCommands, str]:
    """Return the commands that the first line, the last line or a sentence gives: their line, and the form."""
    lines = [(at, each) for at, each in enumerate(fields) if each.kind in ("prose", "thought")]
    if not lines:
        return 0, NamedCommands(), ""
    bare = {at: listed.named(each.text).commands for at, each in lines if len(each.text) <= _WHOLE_LINES}
    bare = {at: named for at, named in bare.items() if named}
    runs = {at for at in bare if at - 1 in bare or at + 1 in bare}
    every = union(bare.values())
    said = "\n".join(each.text for at, each in lines if at not in bare and each.kind == "prose")
    if runs or len(every) > 1:
        own = NamedCommands() if len(every) == 1 else listed.stated(said)
        single = union(named for at, named in bare.items() if at not in runs)
        last = lines[-1][0]
        if len(every) > 1 and last in bare and last not in runs and len(single) == 1 and len(runs) > 1:
            return last, NamedCommands(single), "last line"
        if len(own.commands) == 1 and not single - own.commands:
            return -1, own, "sentence"
        return 0, NamedCommands(every) if len(every) > 1 else NamedCommands(), ""
    if bare:
        at = next(iter(bare))
        first, last = lines[0][0], lines[-1][0]
        labelled = fields[at].labelled or (fields[at].kind == "thought" and at == first)
        introduced = at > 0 and is_example(fields[at - 1].raw) and fields[at - 1].raw.rstrip("*_ ")[-1:] in ":,"
        if at in (first, last) and not labelled and not introduced:
            other = listed.stated(said).commands
            return at, NamedCommands(every | (other if at == first or len(other) == 1 else frozenset())), "bare"
        return 0, NamedCommands(), ""
    opening = listed.beginning(lines[0][1].text) if lines[0][1].kind == "prose" else NamedCommands()
    meant = listed.stated(said)
    if opening.commands and not opening.left_over:
        return -1, NamedCommands(opening.commands | meant.commands), "bare"
    if opening.left_over:
        return -1, NamedCommands(listed.meant_beside(lines[0][1].text)), ""
    if not meant.commands:
        final = re.split(r"(?<=[.!])\s+", lines[-1][1].text)[-1]
        named = listed.named(final) if lines[-1][1].kind == "prose" and len(final) <= _WHOLE_LINES else NamedCommands()
        refused = re.search(r"\b(?:no|not|never|cannot)\b|n['\u2019]t\b", lines[-1][1].text, re.IGNORECASE)
        if (
            named.commands
            and not refused
            and listed.meant_beside(said) <= named.commands
            and not is_example(said[-2 * _WHOLE_LINES :])
        ):
            return -1, named, "sentence"
    beside = listed.meant_beside(said)
    return -1, meant if meant.commands or len(beside) < 2 else NamedCommands(beside), "sentence"
