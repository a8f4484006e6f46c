"""Any protocol as a task of Inspect (`inspect_ai`), with the success and the return of `natlang evaluate`.

    inspect eval natlang_envs/protocol -T name=dangerous-taxi-pickup/v1 --model openai/gpt-5

When every episode has ended, a run that can be replayed and packed for the leaderboard is written beside Inspect's log,
in a folder of the log's name. Each further epoch is another such run.
"""

# Inspect is in an extra.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import logging
from contextlib import closing
from dataclasses import asdict, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import Sample
from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import (
    AgentInput,
    Decision,
    decide,
    find_agent,
    is_privileged,
    is_sampling,
    settings_of,
)
from natlang_envs.evaluation.chat_players import decision_of, note
from natlang_envs.evaluation.chat_response import Bill
from natlang_envs.evaluation.model_requests import lost_by, report_answers
from natlang_envs.evaluation.playing import RunningEpisode
from natlang_envs.evaluation.protocols import Protocol, load_protocol
from natlang_envs.evaluation.runs import Journal, PlayedEpisode, prepare_folder, provenance
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.prompt import History, chat_messages, check_history
from natlang_envs.trajectory import Trajectory, parse_line

warn_if_untested("inspect-ai")
_OURS = "natlang_envs"  # what a log's metadata has about a task of ours
_ENDS = {"model_length": "context", "content_filter": "refused"}  # by why a model stopped
_log = logging.getLogger(__name__)
_agent = cache(find_agent)  # one for a task and its solver


@task
def protocol(
    name: str,
    agent: str | None = None,
    history: History = "full",
    sampling: bool = False,
    episodes: int | None = None,
) -> Task:
    """Return the task whose samples are the episodes of a protocol.

    Args:
        name: The protocol's name, or the file of a live round.
        agent: Who plays in place of the model, as `natlang evaluate --agent` takes it: for a baseline in the same
            viewer, with `--model none`.
        history: How much of the previous path the model sees.
        sampling: Whether the model samples its answers; it then plays all runs of the protocol. Each is an epoch.
        episodes: The number of the protocol's first episodes to play, for a try.
    """
    chosen = _protocol(name, episodes)
    check_history(history)
    player = None if agent is None else _agent(agent)[0]
    if player is not None and (history != "full" or sampling):
        raise UsageError("history and sampling are of the model: leave them out, or agent")
    facts = {
        "protocol": chosen.name,
        "digest": chosen.digest,
        "sampling": sampling if player is None else is_sampling(player),
        "privileged": player is not None and is_privileged(player),
    }
    _listen()
    return Task(
        dataset=[Sample(id=each.task_id, input=each.task_id, metadata={"seed": each.seed}) for each in chosen.episodes],
        solver=play(name, agent, history, episodes),
        scorer=outcome(),
        epochs=Epochs(chosen.runs if facts["sampling"] else 1, "mean"),
        continue_on_fail=True,  # what is in play when one episode fails is played to its end
        version=chosen.digest[:12],
        display_name=chosen.name,
        metadata={_OURS: facts},
    )


def _protocol(name: str, episodes: int | None) -> Protocol:
    chosen = load_protocol(name)
    return chosen if episodes is None else chosen.first(episodes)


@solver
def play(name: str, agent: str | None = None, history: History = "full", episodes: int | None = None) -> Solver:
    """Return what plays an episode; for the arguments see `protocol`."""
    chosen = _protocol(name, episodes)
    places = {each.task_id: (position, each) for position, each in enumerate(chosen.episodes)}
    player = None if agent is None else _agent(agent)[0]
    alone = CapacityLimiter(1)  # an agent may not bear being asked from several threads

    async def solve(state: TaskState, _: Generate) -> TaskState:
        position, episode = places[str(state.sample_id)]
        with closing(await run_sync(chosen.make_env)) as env:
            privileged = player is not None and is_privileged(player)
            running = await run_sync(RunningEpisode, env, (position, episode, 0), privileged)
            running.given = replace(running.given, rng=np.random.default_rng([episode.seed, state.epoch - 1]))
            while not running.ended:
                if player is None:
                    decision = await _ask(state, running.given, history)
                else:
                    decision = (await run_sync(decide, player, [running.given], limiter=alone))[0]
                await run_sync(running.step, decision)
                state.store.set("return", running.earned)
            played = await run_sync(running.played)
        state.store.set("episode", asdict(played.trajectory))
        state.store.set("tokens", played.tokens)
        state.store.set("answers", dict(played.answers))
        state.store.set("bill", played.bill)
        return state

    return solve


async def _ask(state: TaskState, view: AgentInput, history: History) -> Decision:
    """Return what the model decides, and append what it was asked and what it says to what the viewer shows."""
    step, requests = len(view.path), view.requests
    if requests.ended is not None:
        return Decision(f"[{requests.ended}]", f"[{requests.ended}]")
    messages = chat_messages(view.prompt(history), view.admissible_commands)
    asked = messages[1]["content"] + note(requests, step, "inspect")
    system, prompt = ChatMessageSystem(content=messages[0]["content"]), ChatMessageUser(content=asked)
    state.output = await get_model().generate([system, prompt])
    shown = [system] if len(state.messages) < 2 else state.messages
    state.messages = [*shown, prompt, state.output.message]
    answer, usage = state.output.message, state.output.usage
    bill = Bill(usage.input_tokens, usage.output_tokens) if usage else Bill(uncounted=1)
    if (ended := _ENDS.get(state.output.stop_reason)) is not None:
        return decision_of(view, requests.keep(step, bill, ended=ended, said=state.output.completion))
    parts = [] if isinstance(answer.content, str) else answer.content
    calls = [{"name": each.function, "arguments": each.arguments} for each in answer.tool_calls or ()]
    message = {
        "role": "assistant",
        "content": state.output.completion,
        "reasoning_content": "\n".join(each.reasoning for each in parts if each.type == "reasoning"),
        "tool_calls": [{"type": "function", "function": each} for each in calls],
    }
    cut = state.output.stop_reason == "max_tokens"
    return decision_of(view, requests.keep(step, bill, message=message, cut=cut))


@scorer(metrics={"success": [mean(), stderr()], "return": [mean(), stderr()]})
def outcome() -> Scorer:
    """Score an episode by its success and its return; one that a limit of Inspect's cut is no success."""

    async def score(state: TaskState, _: Target) -> Score:
        episode: Any = state.store.get("episode")
        if episode is None:
            earned = state.store.get("return", 0.0)
            return Score(value={"success": 0, "return": earned}, explanation="A limit of Inspect's cut the episode.")
        value = {"success": int(episode["success"]), "return": sum(episode["rewards"])}
        found = {"answers": state.store.get("answers", {}), "lost by": lost_by(_trajectory(episode))}
        commands = "\n".join(episode["actions"])
        return Score(value=value, answer=episode["actions"][-1], explanation=commands, metadata=found)

    return score


@cache
def _listen() -> None:
    """Have runs written when tasks end; before there is a task of ours, Inspect is not to announce a hook."""

    @hooks(name="recordings", description="writes a run for the leaderboard beside the log of a protocol")
    class Recordings(Hooks):
        async def on_task_end(self, data: TaskEnd) -> None:
            if _OURS in (data.log.eval.metadata or {}):
                try:
                    write_runs(data.log)
                except UsageError as error:
                    _log.warning("%s", error)


def write_runs(log: EvalLog | str | Path, out: Path | None = None) -> list[Path]:
    """Write what was played under Inspect as `natlang evaluate` writes it, and return the folders, one for each run.

    Inspect does this by itself when a task ends. It is of use for a log that lies on another machine.

    Args:
        log: A log of the task `protocol`, or where it is.
        out: The folder for the first run; the second one goes to `out` with `-2` at its end, and so on. By default
            its name is that of the log.
    """
    read = read_eval_log(str(log)) if isinstance(log, str | Path) else log
    if read.samples is None:  # the log of a whole set is handed over without them
        read = read_eval_log(read.location)
    facts, arguments = (read.eval.metadata or {}).get(_OURS), read.eval.task_args
    if facts is None:
        raise UsageError(f"{read.location} is no log of natlang_envs/protocol: choose another")
    chosen = _protocol(arguments["name"], arguments["episodes"])
    if chosen.digest != facts["digest"]:
        raise UsageError(f"{read.location} is of another version of {chosen.name}: evaluate again")
    place = urlsplit(read.location)
    if out is None and place.scheme not in ("", "file"):
        raise UsageError(f"{read.location} is elsewhere: natlang_envs.inspect.write_runs(LOG, OUT) writes its run")
    out = out or Path(url2pathname(place.path)).with_suffix("")
    ended = {(str(each.id), each.epoch): each for each in read.samples or [] if "episode" in each.store}
    runs = chosen.runs if facts["sampling"] else 1
    epochs = max((epoch for _, epoch in ended), default=1)
    missing = len(chosen.episodes) * epochs - len(ended)
    if missing or epochs % runs:
        raise UsageError(f"no run is written: {missing} episodes have not ended; inspect eval-retry {read.location}")
    folders = [
        out if first == 0 else out.with_name(f"{out.name}-{first // runs + 1}") for first in range(0, epochs, runs)
    ]
    for number, folder in enumerate(folders):
        _write(folder, chosen, runs, number * runs, ended, read)
    return folders


def _write(folder: Path, chosen: Protocol, runs: int, before: int, ended: dict[Any, EvalSample], log: EvalLog) -> None:
    agent, facts = log.eval.task_args["agent"], (log.eval.metadata or {})[_OURS]
    prepare_folder(folder)
    source = provenance("loop", log.eval.model) if agent is None else provenance(_agent(agent)[1], agent)
    settings = settings_of(_agent(agent)[0]) if agent else {"form": "inspect", "model": log.eval.model, **_set(log)}
    journal = Journal(folder, chosen, agent or log.eval.model, runs, source.checkpoint, settings)
    times: list[tuple[float, float]] = []
    for position, episode, run in journal.todo():
        sample = ended[episode.task_id, before + run + 1]
        played, store = _trajectory(sample.store["episode"]), sample.store
        took = (store["tokens"], store.get("answers", {}), Bill(*store.get("bill", ())))
        journal.append(PlayedEpisode(position, replace(played, run=run), *took))
        times.append((_seconds(sample.started_at), _seconds(sample.completed_at)))
    journal.seconds = _covered(times)
    run = journal.finish(source, facts["sampling"], facts["privileged"])
    found = report_answers(run.answers or {}, journal.trajectories())
    for line in [f"answers {each}" for each in found.lines if run.answers] + [found.warning] * bool(found.warning):
        _log.warning("%s: %s", folder, line)


def _trajectory(episode: Any) -> Trajectory:
    return parse_line(json.dumps(episode).encode())


def _set(log: EvalLog) -> dict[str, str]:
    given = log.plan.config.model_dump(exclude_none=True)
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}


def _seconds(time: str | None) -> float:
    return datetime.fromisoformat(time).timestamp() if time else 0.0


def _covered(times: list[tuple[float, float]]) -> float:
    """Return how many seconds intervals cover together: the wall-clock time of all starts, without the pauses."""
    total, until = 0.0, 0.0
    for begin, end in sorted(times):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
