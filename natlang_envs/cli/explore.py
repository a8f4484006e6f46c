"""`natlang explore`: a question about any repository is answered; or a person, a model or an agent explores it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer
from rich.console import Console
from rich.text import Text

from natlang_envs.autoexplore.agent_driver import AgentDriver
from natlang_envs.cli.answer import answer, print_passages
from natlang_envs.cli.support import printable
from natlang_envs.copilot.copilot import MODES, AutoExploreCopilot, Driver, Mode, PromptContent, Turn, describe
from natlang_envs.copilot.drivers import HumanDriver, ModelDriver
from natlang_envs.copilot.project_tests import ProjectTests, compared, run_project_tests
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.agents import agent_names, load_agent
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint
from natlang_envs.evaluation.chat_settings import ChatSettings
from natlang_envs.finder.find import TOP
from natlang_envs.repository.tree import Repository, open_repository
from natlang_envs.sandbox.changes.patch import check_outside
from natlang_envs.sandbox.isolation.isolation import Limits

_SHOWN_CHARACTERS = 4_000  # of what one command printed
_SHOWN_LINES = 5_000  # of the changes
_ANSWER = frozenset({"top", "kind", "passages", "as_json", "opens"})  # options of the answer without an agent
_BOTH = frozenset({"question", "repo", "ignored", "agent"})
_OF_MODELS = frozenset({"model", "timeout", "results"})
# Options that change nothing with an agent; `None` stands for those that `natlang evaluate` takes too.
_IDLE = {"human": _OF_MODELS | {"seed"}, "openai": {"seed"}, None: _OF_MODELS | {"choices", "listing", "unsafe", "env"}}
# Of a project's own tests, which may take minutes.
_IN_ENVIRONMENT = Limits(seconds=300.0, memory=2 << 30, processes=128, disk=256 << 20)
_ENDINGS = {
    "identified": "Identified: {}",
    "answered": "Answer: {}",
    "done": "Done.",
    "left": "Left without an end of the task.",
    "no step left": "No step is left.",
    "no command": "Ended: no command was found in several answers in a row.",
}


def explore_command(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="What is asked; with --mode change, what is to be done.")],
    repo: Annotated[Path, typer.Option(help="The folder to explore; it is never modified.")] = Path(),
    top: Annotated[int, typer.Option(min=1, help="How many files are shown, before the best source files.")] = TOP,
    kind: Annotated[str, typer.Option(help="Only source files (code), only documentation (docs), or all.")] = "all",
    passages: Annotated[bool, typer.Option("--answer", help="Print the three likeliest passages.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    opens: Annotated[bool, typer.Option("--open", help="Open the best line in VISUAL or EDITOR.")] = False,
    agent: Annotated[
        str, typer.Option(help="Who explores step by step: human, openai, bm25, or any agent's name or name:argument.")
    ] = "",
    mode: Annotated[str, typer.Option(help="identify a file, answer the question, or change files.")] = "identify",
    steps: Annotated[int, typer.Option(min=1, help="The largest number of commands.")] = 30,
    export: Annotated[Path | None, typer.Option(help="A new file for the changes, as a patch for git apply.")] = None,
    model: Annotated[str, typer.Option(help="The model that --agent openai asks.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one request of --agent openai.")] = 120.0,
    results: Annotated[int, typer.Option(min=1, help="How many earlier outputs a model is shown.")] = 3,
    choices: Annotated[bool, typer.Option("--choices", help="List the commands behind labels (identify).")] = False,
    listing: Annotated[bool, typer.Option("--list/--no-list", help="Show the files of the current folder.")] = True,
    ignored: Annotated[bool, typer.Option("--ignored", help="Show what git ignores, too.")] = False,
    env: Annotated[Path | None, typer.Option(help="A Python environment for the sandbox, such as .venv.")] = None,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Run programs without isolation if there is none.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of an agent that draws.")] = 0,
) -> None:
    """Print the files of a repository that answer a question, and the lines that matched.

    With --agent, that agent explores it step by step: finds a file, answers, or changes files in a copy.
    """
    chosen = cast("Mode", require_choice("mode", mode, MODES))
    console = Console(highlight=False, soft_wrap=True)
    _check_options(context, agent)
    if not agent:
        if passages:
            if not print_passages(question, open_repository(repo, ignored=ignored), as_json, opens, console):
                raise typer.Exit(1)
            return
        sort = cast("Literal['code', 'docs', 'all']", require_choice("kind", kind, ("code", "docs", "all")))
        if not answer(question, open_repository(repo, ignored=ignored), top, sort, as_json, opens, console):
            raise typer.Exit(1)
        return
    driver = _driver(agent, chosen, model, timeout, seed, console)
    shown = PromptContent(files=listing, choices=choices or isinstance(driver, AgentDriver), results=results)
    # What a build wrote, such as a module with the version, is ignored, and needed by what runs.
    repository = open_repository(repo, ignored=ignored or ("built" if env else False))
    _check_export(export, repository)
    with AutoExploreCopilot(
        question,
        repository,
        mode=chosen,
        steps=steps,
        shown=shown,
        limits=None if env is None else _IN_ENVIRONMENT,
        unsafe=unsafe,
        environment=env,
        chained=True,
    ) as copilot:
        before = _tests(console, copilot)
        if isinstance(driver, HumanDriver):
            _print(console, f"{copilot.instructions}\n", "dim")
        else:
            _print(console, copilot.task, "bold")
        try:
            ending = copilot.run(driver, lambda turn: _show_turn(console, turn, isinstance(driver, HumanDriver)))
        except (KeyboardInterrupt, UsageError) as error:
            if isinstance(error, KeyboardInterrupt):
                _print(console, "\nInterrupted.", "bold")
            _finish(console, copilot, driver, export)
            raise
        idle = ending.kind == "done" and not copilot.sandbox.overlay.changes
        well = copilot.succeeded and not idle
        said = "Nothing was changed." if idle else _ENDINGS[ending.kind].format(ending.value)
        _print(console, said, "bold green" if well else "bold red")
        _finish(console, copilot, driver, export)
        if before is not None and not idle and _broke(console, before, _tests(console, copilot)):
            well = False
        if not well:
            raise typer.Exit(1)


def _tests(console: Console, copilot: AutoExploreCopilot) -> ProjectTests | None:
    """Run the project's tests if files are to be changed and an environment is given."""
    if copilot.mode != "change" or copilot.sandbox.environment is None:
        return None
    with console.status("The project's tests are run …"):
        return run_project_tests(copilot.sandbox)


def _broke(console: Console, before: ProjectTests, after: ProjectTests | None) -> bool:
    """Say what became of the tests; return whether some are broken, or can no longer be run."""
    assert after is not None
    broken = bool(after.broken_since(before)) or bool(after.problem and not before.problem)
    for line in compared(before, after):
        _print(console, line, "bold red" if line.startswith("Broken") else "")
    return broken


def _check_options(context: typer.Context, agent: str) -> None:
    """Refuse an option that would change nothing: those of an agent without it, and those of the answer with one."""
    sources = {each: context.get_parameter_source(each) for each in context.params}
    given = [each for each, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    unused = [each for each in given if each in (_ANSWER if agent else context.params.keys() - _ANSWER - _BOTH)]
    names = {each.name: each.opts[0] for each in context.command.params}
    if unused:
        option = names[unused[0]]
        raise UsageError(
            f"{option} is for an answer without --agent: leave one of the two out"
            if agent
            else f"{option} is for a walk through the repository: add --agent, for example --agent human"
        )
    if idle := [each for each in given if agent and each in _IDLE.get(agent, _IDLE[None])]:
        raise UsageError(f"{names[idle[0]]} changes nothing with --agent {agent}: leave it out")
    if "passages" in given and (other := {"top", "kind"} & set(given)):
        raise UsageError(f"{names[min(other)]} is for a list of files, and --answer for lines: leave one out")
    if {"as_json", "opens"} <= set(given):
        raise UsageError("--json is for programs, and --open for a person: leave one of the two out")


def _check_export(export: Path | None, repository: Repository) -> None:
    if export is None:
        return
    check_outside(export, repository.path)
    if export.exists() or export.is_symlink():
        raise UsageError(f"{str(export)!r} exists: choose another name for the patch")
    if not export.parent.is_dir():
        raise UsageError(f"there is no folder {str(export.parent)!r} for the patch: make it, or choose another one")


def _driver(agent: str, mode: Mode, model: str, timeout: float, seed: int, console: Console) -> Driver:
    if agent == "human":
        return HumanDriver(lambda copilot: _ask(console, copilot))
    if agent == "openai":
        return ModelDriver(
            ChatEndpoint(model, ChatSettings(timeout=timeout), tell=lambda line: _print(console, line, "yellow"))
        )
    kind = agent.partition(":")[0]
    require_choice("agent", kind, ["human", "openai", *agent_names()])
    if mode != "identify":
        raise UsageError(f"agent {kind!r} names files and no more: use --mode identify, or --agent human or openai")
    return AgentDriver(agent, load_agent(agent), seed)


def _print(console: Console, text: str, style: str = "") -> None:
    console.print(Text(printable(text), style))


def _ask(console: Console, copilot: AutoExploreCopilot) -> str | None:
    if not copilot.turns:
        _print(console, copilot.task, "bold")
    _print(console, _state(copilot), "cyan")
    try:
        return input("> ")
    except EOFError:
        console.print()
        return None


def _state(copilot: AutoExploreCopilot) -> str:
    """Return what a person has to know before the next command."""
    folder = copilot.sandbox.cwd
    lines = [f"{'/work/' if folder else '/work'}{folder} ({copilot.steps_left} steps left)"]
    if copilot.shown.files:
        here = copilot.sandbox.overlay.folder(folder)
        names = [*(f"{name}/" for name in here.folders), *here.files]
        lines.append("  ".join(names[:200]) + (f"  (and {len(names) - 200} more: see ls)" if len(names) > 200 else ""))
    lines += [f"{each.label}. {each.command}" for each in copilot.choices()]
    return "\n".join(lines)


def _show_turn(console: Console, turn: Turn, typed: bool) -> None:
    if not typed:
        if turn.reasoning:
            _print(console, turn.reasoning, "dim")
        _print(console, f"> {turn.command or '(no command)'}", "bold")
    result = turn.result
    if result.stdout or result.stderr or result.exit_code:
        _print(console, describe(result, _SHOWN_CHARACTERS), "red" if result.exit_code else "")


def _finish(console: Console, copilot: AutoExploreCopilot, driver: Driver, export: Path | None) -> None:
    """Show what was done so far, however it ended, and write the patch."""
    tokens = driver.endpoint.tokens if isinstance(driver, ModelDriver) else None
    if tokens is not None and any(tokens):
        _print(console, f"Tokens: {tokens.words}.")
    try:
        changed = copilot.sandbox.changed_files()
        diff = copilot.sandbox.diff()
    except UsageError as error:
        _print(console, f"The changes cannot be shown: {error}", "bold red")
        return
    *lines, rest = diff.split("\n", _SHOWN_LINES) if diff else [""]
    for line in lines:
        _print(console, line, _style(line))
    if rest:
        _print(console, f"[and {rest.count(chr(10)):,} more lines; --export writes them all]", "bold")
    if changed or copilot.mode == "change":
        count = "No file was" if not changed else "1 file was" if len(changed) == 1 else f"{len(changed)} files were"
        _print(console, f"{count} changed in the sandbox, none in {copilot.sandbox.repository.path}.")
    if export is not None and not all(each.locked for each in changed):
        while export.exists():  # made by another process since the start: neither's work is lost
            export = export.with_name(f"{export.name}.new")
        copilot.sandbox.export(export)
        _print(console, f"The patch is in {export}.")
    elif export is not None:
        _print(console, f"{export} was not written: there is nothing to export.")


def _style(line: str) -> str:
    if line.startswith(("diff ", "--- ", "+++ ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
