"""A command run in this process, which is quicker than in an interpreter of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from natlang_envs.installed import entry_points


def run_here(
    program: str, *arguments: str, stdin: str = "", environment: Mapping[str, str | None] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Run an installed command that gets no signal; a variable that is None is unset.

    Modules that it imports from a reader's folder are forgotten: the next command reads them again.
    """
    (script,) = entry_points(group="console_scripts", name=program)
    out, errors, before = io.StringIO(), io.StringIO(), {*sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
        patch.setattr(sys, "argv", [program, *arguments])
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as left:
            script.load()()
    if not Path(sys.prefix).is_relative_to(Path.cwd()):
        for name in {*sys.modules} - before:
            if (file := getattr(sys.modules[name], "__file__", None)) and Path(file).is_relative_to(Path.cwd()):
                del sys.modules[name]
    return subprocess.CompletedProcess(arguments, int(left.value.code or 0), out.getvalue(), errors.getvalue())
