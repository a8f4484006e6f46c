"""A copy-on-write sandbox over a repository: its commands run without a process, programs in isolation.

sandbox     `AutoExploreSandbox`: one command line in, its output and exit code out
commands/   the commands that need no process, each a `Command` of `looking`, `searching` or `writing`
changes/    the changes: in memory, as files for a program, as a patch
isolation/  runs `python` and `pip` with access to those files and nothing else
judging     runs a program that scores the changes
attacks/    hostile programs, which test the isolation
"""

from __future__ import annotations

from natlang_envs.sandbox.changes.patch import ChangedFile, Installed
from natlang_envs.sandbox.isolation.watch import Limits
from natlang_envs.sandbox.sandbox import AutoExploreSandbox, CommandResult, SandboxState

__all__ = ["AutoExploreSandbox", "ChangedFile", "CommandResult", "Installed", "Limits", "SandboxState"]
