"""A copy-on-write sandbox over a repository: native commands without a process, programs in isolation.

sandbox     `AutoExploreSandbox`: one command line in, its output and exit code out
commands/   the commands that need no process
changes/    what was changed, as files for a program and as a patch
isolation/  runs `python` and `pip` with access to those files and nothing else
judging     how a judge's program is run
attacks/    hostile programs, and whether the isolation holds
"""

from __future__ import annotations

from natlang_envs.sandbox.changes.patch import ChangedFile, Installed
from natlang_envs.sandbox.isolation import Limits
from natlang_envs.sandbox.sandbox import AutoExploreSandbox, CommandResult, SandboxState

__all__ = ["AutoExploreSandbox", "ChangedFile", "CommandResult", "Installed", "Limits", "SandboxState"]
