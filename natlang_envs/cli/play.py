"""`natlang play`: a person plays an environment, or the episodes of a protocol, which are then recorded as a run."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import typer

from natlang_envs.cli.support import counted, printable
from natlang_envs.env import NatLangEnv, unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.recording import record as recorded
from natlang_envs.make_env import make_env

_PERSON = "a person"


def play_command(
    id: Annotated[str, typer.Argument(help="The environment, for example NatLang/DangerousTaxi-Pickup-v0.")],
    task: Annotated[str | None, typer.Option(help="The id of a task; without it one is drawn.")] = None,
    split: Annotated[str | None, typer.Option(help="train, validation, test or all.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Of AutoExplore: embedded, labelled, or labels or tasks.")] = None,
    repository: Annotated[str | None, typer.Option("--repo", help="The folder that labels or tasks are about.")] = None,
    map: Annotated[str | None, typer.Option(help="The kind of map, where the environment has several.")] = None,
    source: Annotated[str | None, typer.Option(help="Of ALFWorld: generated, mixed, official or folder.")] = None,
    folder: Annotated[str | None, typer.Option(help="Of ALFWorld: a folder of games, for --source folder.")] = None,
    grammar: Annotated[str | None, typer.Option(help="Of ALFWorld: json_2.1.1 or 0.4.2.")] = None,
    game: Annotated[str | None, typer.Option(help="Of ALFWorld: a game.tw-pddl of your own.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draws the same task again.")] = None,
    hints: Annotated[bool, typer.Option("--hints", help="Let ? show the next step of the environment's plan.")] = False,
    record: Annotated[
        Path | None, typer.Option(help="Play a protocol, named in place of ID, into this folder; stopped, it goes on.")
    ] = None,
    name: Annotated[str, typer.Option(help="What the run calls you.")] = _PERSON,
) -> None:
    """Play an environment yourself."""
    given = {"split": split, "dataset": dataset, "repository": repository, "map": map}
    given |= {"source": source, "folder": folder, "grammar": grammar, "game": game}
    arguments = {key: value for key, value in given.items() if value is not None}
    if record is not None:
        if arguments or hints or task is not None or seed is not None:
            raise UsageError("a protocol says what is played: leave all options but --record and --name out")
        _play_protocol(id, record, name)
        return
    if name != _PERSON:
        raise UsageError("--name is for a run that is recorded: add --record FOLDER, or leave it out")
    env = make_env(id, **arguments)
    if "rgb_array" in env.metadata["render_modes"]:  # it has a picture besides its texts
        env = make_env(id, render_mode="ansi", **arguments)
    _play(env, env, hints, seed=seed, options=None if task is None else {"task_id": task})


def _play_protocol(protocol: str, out: Path, name: str) -> None:
    env = recorded(protocol, out, name=name, resume=True)
    inner = unwrap(env)
    while env.episodes_left:
        typer.echo(f"\n{env.episodes_left} episodes of {protocol} are left.")
        if not _play(env, inner, hints=False):
            typer.echo(f"Go on with the same command; what has ended is kept in {out}.")
            return
    typer.echo(f"The run is in {out}: pack it with natlang-leaderboard pack.")


def _play(env: gymnasium.Env[str, str], inner: NatLangEnv, hints: bool, **start: Any) -> bool:
    observation, info = env.reset(**start)
    try:
        plan = f"; the environment's own plan has {len(inner.reference())}"
    except NotImplementedError:
        if hints:
            raise
        plan = ""
    # Nothing is shown twice: ALFWorld's first observation tells the task, and each later one is the answer alone.
    said = info["task"] if observation.endswith(info["task"]) else ""
    _say(f"Task {info['task_id']}" + ("" if said else f": {printable(info['task'])}"))
    typer.echo("Type the number or the text of an action, q to quit" + (", ? for a hint." if hints else "."))
    asked = info["task"].strip().rpartition("\n")[2].removeprefix("Your task is to: ")
    rewards: list[float] = []
    ended = False
    while not ended:
        commands: tuple[str, ...] = info["admissible_commands"]
        _show(inner, "" if observation == said else observation, commands)
        if rewards:
            _say(f"Step {len(rewards) + 1} of {inner.horizon}: {printable(asked)}")
        command = _ask(inner, commands, hints)
        if command is None:
            typer.echo(f"Stopped after {counted(len(rewards), 'step')}.")
            return False
        observation, reward, terminated, truncated, info = env.step(command)
        rewards.append(float(reward))
        ended = terminated or truncated
        said = info["feedback"]
        typer.echo("")
        _say(f"{printable(said)} (reward {reward:g})")
    _show(inner, "" if observation == said else observation, ())
    result = (
        f"{'Success' if info['success'] else 'No success'}: return {sum(rewards):g} in {counted(len(rewards), 'step')}"
    )
    typer.echo(f"{result}{plan}.")
    return True


def _say(text: str) -> None:
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrapper.fill(line) for line in text.split("\n"))
    typer.echo(text)


def _show(env: NatLangEnv, observation: str, commands: tuple[str, ...]) -> None:
    typer.echo("")
    if env.render_mode == "ansi":
        typer.echo(printable(str(env.render())))
    if observation:
        _say(printable(observation))
    for number, command in enumerate(commands, 1):
        typer.echo(f"{number:3}. {printable(command)}")


def _ask(env: NatLangEnv, commands: tuple[str, ...], hints: bool) -> str | None:
    """Return the command a person chooses, or None when they quit or the input ends."""
    while True:
        try:
            answer = input("> ").strip()
        except EOFError:
            typer.echo("")
            return None
        if answer in commands:
            return answer
        if answer == "q":
            return None
        if answer == "?" and hints:
            typer.echo(f"The plan goes on with: {printable(env.reference()[0])}")
        elif answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(commands):
            return commands[int(answer) - 1]
        else:
            typer.echo(f"Not listed: {printable(answer)!r}. Type a number from 1 to {len(commands)} or an action.")
