"""Whether isolation works on this machine, found out by running a program in it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from natlang_envs.sandbox.isolation.child import PACKAGES
from natlang_envs.sandbox.isolation.layers import OPAQUE, Layer
from natlang_envs.sandbox.isolation.temporary_folders import OwnFolder
from natlang_envs.sandbox.isolation.watch import Completed, Limits

Run = Callable[[tuple[str, ...], "Probe", str, Limits], Completed]


class Probe:
    """One file that is there before, and one that is there afterwards."""

    size = 4096
    packages = PACKAGES
    written = False

    def layer(self, owner: int | None) -> Layer | None:
        """Return nothing: all is filled in."""
        return None

    def is_folder(self, path: str) -> bool:
        """Return whether it is the folder itself."""
        return not path

    def fill(self, root: int, owner: int | None) -> None:
        """Make the first file."""
        opened = os.open("given", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=root)
        os.close(opened)
        if owner is not None:
            os.fchown(root, owner, owner)

    def collect(self, root: int) -> None:
        """See whether the second one is there."""
        self.written = "written" in os.listdir(root)


class LayeredProbe(Probe):
    """The same above a layer with a folder, which the program makes anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def layer(self, owner: int | None) -> Layer | None:
        """Return the folder with another one in it."""
        (self._folder / "folder").mkdir()
        if owner is not None:
            os.chown(self._folder / "folder", owner, owner)
        return Layer(self._folder, 1)

    def collect(self, root: int) -> None:
        """See whether what the kernel notes of the new folder can be read."""
        super().collect(root)
        # Before Linux 6.6 file systems in memory do not keep it.
        with suppress(OSError):
            self.written = self.written and os.getxattr(f"/proc/self/fd/{root}/folder", OPAQUE) == b"y"


def probe(run: Run) -> str:
    """Run a program that writes inside and looks outside; return what was wrong, or nothing."""
    files = Probe()
    with closing(OwnFolder(Path(tempfile.gettempdir()))) as outside:
        code = (
            "import os; open('written', 'w').close(); "
            f"print(os.path.exists({str(outside.path)!r}), os.path.exists('given'), os.environ['HOME'])"
        )
        done = run(("python", "-c", code), files, "", Limits())
    if done.stdout == b"False True /tmp\n" and files.written:
        return ""
    return _why(done)


def probe_layers(run: Run) -> str:
    """Run a program over layers; return why that cannot be, or nothing."""
    with closing(OwnFolder(Path(tempfile.gettempdir()))) as below:
        folder = below.path / "files"
        folder.mkdir()
        files = LayeredProbe(folder)
        code = "import os; os.rmdir('folder'); os.mkdir('folder'); open('written', 'w'); print(os.path.exists('given'))"
        done = run(("python", "-c", code), files, "", Limits())
    return "" if done.stdout == b"True\n" and files.written else _why(done)


def _why(done: Completed) -> str:
    said = done.stopped or done.stderr.decode(errors="replace").strip() or repr(done.stdout)
    return said.splitlines()[-1]
