"""An environment that records: a loop of one's own plays it as any other, and leaves a run that can be packed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium

from natlang_envs.errors import UsageError, check_flag, require_type
from natlang_envs.evaluation.playing import bounded
from natlang_envs.evaluation.protocols import Protocol, load_protocol
from natlang_envs.evaluation.runs import Journal, PlayedEpisode, prepare_folder, provenance
from natlang_envs.trajectory import Recorder, as_recorded


def record(
    protocol: Protocol | str,
    out: str | Path,
    *,
    name: str = "agent",
    sampling: bool = False,
    resume: bool = False,
) -> RecordedProtocol:
    """Return an environment that plays and records the episodes of a protocol.

    Args:
        protocol: A protocol, or its name.
        out: The folder for the run. Each episode is kept there when it ends; the run is finished with the last one.
        name: What to call the agent.
        sampling: Whether the agent samples its actions; it then plays all runs of the protocol.
        resume: Go on with the unfinished run in `out`, if there is one.

    Raises:
        UsageError: There is no such protocol, a flag is none, or the folder already holds a run or cannot be made. In a
            step: another loop has gone on in the folder.
    """
    chosen = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
    require_type(name, str, "no name: give what the agent is to be called, a str")
    check_flag("sampling", sampling)
    check_flag("resume", resume)
    return RecordedProtocol(chosen, Path(out), name, sampling, resume)


class RecordedProtocol(gymnasium.Wrapper[str, str, str, str]):
    """The environment that `record` returns; see there.

    `reset` takes no task of the caller's choice, for the protocol says which episode is next: options are refused, and
    a loop's `seed` is ignored. An episode that is given up before its end is played again. `episodes_left` tells how
    many are still to be played; a reset when none is left raises a `UsageError`.
    """

    def __init__(self, protocol: Protocol, out: Path, name: str, sampling: bool, resume: bool) -> None:
        prepare_folder(out, resume=resume)
        super().__init__(protocol.make_env())
        self._protocol, self._name, self._sampling = protocol, name, sampling
        self._journal = Journal(out, protocol, name, protocol.runs if sampling else 1)
        self._todo = self._journal.todo()
        self._recorder: Recorder | None = None
        self._listed: tuple[str, ...] = ()
        if not self._todo:
            self._finish()

    @property
    def episodes_left(self) -> int:
        """The number of episodes that have not ended."""
        return len(self._todo)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin the next episode of the protocol."""
        if options:
            raise UsageError(f"the protocol says which task is next: leave the options {options!r} out")
        if not self._todo:
            raise UsageError(f"all episodes of {self._protocol.name} are played: loop while env.episodes_left")
        _, episode, run = self._todo[0]
        observation, info = self.env.reset(seed=episode.seed, options={"task_id": episode.task_id})
        self._recorder = Recorder(episode.task_id, episode.seed, run, observation)
        self._listed = info["admissible_commands"]
        return observation, info

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """Play an action; `info` may not be needed, the recording is kept here."""
        played = bounded(action, None, self._listed)[0] if isinstance(action, str) else action  # pyright: ignore[reportUnnecessaryIsInstance]
        observation, reward, terminated, truncated, info = self.env.step(played)
        self._listed = info["admissible_commands"]
        if self._recorder is not None:
            self._recorder.add(played, None, observation, float(reward), terminated, truncated, info["success"])
            if terminated or truncated:
                position = self._todo.pop(0)[0]
                self._journal.append(PlayedEpisode(position, as_recorded(self.env, self._recorder.trajectory()), 0))
                self._recorder = None
                if not self._todo:
                    self._finish()
        return observation, reward, terminated, truncated, info

    def _finish(self) -> None:
        # The caller holds the environment; whether it looked inside, nobody can tell from here.
        self._journal.finish(provenance("loop", self._name), self._sampling, privileged=False)
