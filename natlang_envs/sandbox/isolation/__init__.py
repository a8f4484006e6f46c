"""Runs `python` and `pip` with access to one folder and nothing else.

isolation          finds what isolates on this machine, and runs a program in it
namespaces         starts bubblewrap and ends all that runs in it
ends_with_caller   the process group that a killed caller takes along
child              what a program finds: its Python, its environment, its command line
control_group      has the kernel count the memory of a run, where that can be
layers             an overlay over files that many runs share
processes          the memory of a run's processes, and of the kernel for them
probe              whether all this works here, tried by running a program
system_calls       the seccomp filter
watch              output, time, memory and files while it runs
temporary_folders  a folder of the host for as long as this process lives
hostile_folder     the safe removal of a folder that a program was in
"""

from __future__ import annotations

from natlang_envs.sandbox.isolation.control_group import groups_folder, who_counts_memory
from natlang_envs.sandbox.isolation.isolation import Completed, Isolation, find_isolation
from natlang_envs.sandbox.isolation.watch import Limits

__all__ = ["Completed", "Isolation", "Limits", "find_isolation", "groups_folder", "who_counts_memory"]
