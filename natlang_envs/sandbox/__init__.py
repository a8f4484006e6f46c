"""A copy-on-write sandbox over a repository: native commands without a process, programs in isolation.

sandbox            `AutoExploreSandbox`: one command line in, its output and exit code out
parser             splits a command line
commands           cd, ls, cat, head, tail and echo, without a process
search_commands     grep, find, wc and sed -n, without a process
grep               the options and the output of grep
regular_expression  patterns of grep, in linear time
file_parts         parts of a file's text
line_diff          the hunks of a diff, in time and memory bounded
command_context    what those share: options, output with a limit, paths that cannot lead out
entries            one changed thing
overlay            the changes, in memory, over the shared index
work_folder        the files where a program finds them, and what it did to them
layered_folder     the same for large repositories: the changes above files that all runs share
changes            the changed files and links as a diff and as a patch
installed          what was installed, which is in no patch
judge              the files for a program that scores the changes
isolation/         runs `python` and `pip` with access to that folder and nothing else
attacks/           hostile programs, and whether the isolation holds
"""

from __future__ import annotations

from natlang_envs.sandbox.changes import ChangedFile
from natlang_envs.sandbox.installed import Installed
from natlang_envs.sandbox.isolation import Limits
from natlang_envs.sandbox.sandbox import AutoExploreSandbox, CommandResult, SandboxState

__all__ = ["AutoExploreSandbox", "ChangedFile", "CommandResult", "Installed", "Limits", "SandboxState"]
