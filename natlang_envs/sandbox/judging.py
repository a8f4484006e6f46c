"""Runs a judge's program from files that no change shadows, with an exit code that a parent process decides."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from natlang_envs.sandbox.isolation.temporary_folders import OwnFolder

MODULES = "/opt/modules"  # the judge's own, first on the path
_HOOKS = {"__pycache__", "conftest", "sitecustomize", "usercustomize"}  # which Python or pytest reads unasked
# Of pytest, which say what it runs.
_SETTINGS = {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"}
_WITH_VALUE = ("-W", "-X")
# The second process writes to a pipe how the judge's program ended. Code that ends it from inside does not write.
_CHILD = """
import importlib.machinery, os, runpy, sys, traceback
said, modules = int(sys.argv[1]), sys.argv[2]
sys.argv[:] = sys.argv[3:]
sys.path.insert(0, modules)
class Standard:  # wherever the judge looks for modules, those of Python are Python's or its own
    path = list(sys.path)
    def find_spec(self, name, path=None, target=None):
        if path is None and name in sys.stdlib_module_names:
            return importlib.machinery.PathFinder.find_spec(name, self.path)
sys.meta_path.insert(0, Standard())
start = os.getcwd()
code = 0
try:
    if sys.argv[0] == "-c":
        text = sys.argv.pop(1)
        exec(compile(text, "<string>", "exec"), vars(sys.modules["__main__"]))
    elif sys.argv[0] == "-m":
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    place = end.__traceback__
    code = end.code
    while place and not code:  # whoever raised it, a library for a change, too
        file = os.path.abspath(place.tb_frame.f_code.co_filename)
        own = (os.path.abspath(sys.argv[0]), os.path.join(modules, os.path.relpath(file, start)))
        named = not place.tb_frame.f_code.co_filename.startswith("<")
        if named and file.startswith(start + "/") and file != own[0] and not os.path.exists(own[1]):
            code = f"The judge's program was ended from inside {file}."
        place = place.tb_next
    if code is None or isinstance(code, int):
        code = code or 0
    else:
        print(code, file=sys.stderr)
        code = 1
except BaseException:
    traceback.print_exc()
    code = 1
os.write(said, bytes([code & 255]))
"""
_PARENT = """
import os, subprocess, sys
reading, writing = os.pipe()
options = sys.argv[3:3 + int(sys.argv[2])]
command = [sys.executable, "-I", "-B", *options, "-c", sys.argv[1], str(writing), *sys.argv[3 + len(options):]]
process = subprocess.Popen(command, pass_fds=[writing])
code = process.wait()
os.set_blocking(reading, False)
os.close(writing)
try:
    said = os.read(reading, 2)
except BlockingIOError:
    said = b""
if len(said) != 1 or code:  # one that was ended has not said it itself
    print("The judge's program was ended before its end.", file=sys.stderr)
    sys.exit(code & 255 or 1)
sys.exit(said[0])
"""


def command(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command line that runs a judge's program, of its options, its script and its arguments."""
    count = 0
    while count < len(words) and words[count].startswith("-") and words[count] not in ("-", "-c", "-m"):
        count += 1 + (words[count] in _WITH_VALUE)
    return ("python", "-I", "-B", "-c", _PARENT, _CHILD, str(count), *words[:count], MODULES, *words[count:])


def shadowing(files: Iterable[str], known: Collection[str]) -> Callable[[str], bool]:
    """Return a test of paths: whether Python or pytest reads a file unasked or imports it for a judge's module.

    `files` are the judge's own, `known` those of the original.
    """
    modules = {path.removesuffix(".py").removesuffix("/__init__") for path in files if path.endswith(".py")}
    folders = {"/".join(path.split("/")[:end]) for path in modules for end in range(1, path.count("/") + 1)}

    def shadows(path: str) -> bool:
        *above, last = path.split("/")
        name = last.partition(".")[0] if last.endswith((".py", ".pyc", ".so")) else last
        if _HOOKS & {*above, name} or last in _SETTINGS or last.endswith(".pth"):
            return True
        steps = {"/".join([*above, name][:end]) for end in range(1, len(above) + 2)}
        imported = "/".join(above) if name == "__init__" else "/".join([*above, name])
        return bool(modules & steps) or (imported in folders and path not in known)

    return shadows


@contextmanager
def shown(modules: Mapping[str, bytes]) -> Generator[dict[str, Path]]:
    """Yield the folder with a judge's modules, by the path where it is shown; nothing where there are none."""
    if not modules:
        yield {}
        return
    with closing(OwnFolder(Path(tempfile.gettempdir()))) as own:
        root = own.path / "modules"
        for path, content in modules.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        for folder, _, names in os.walk(root):  # whatever the umask
            Path(folder).chmod(0o755)
            for name in names:
                Path(folder, name).chmod(0o644)
        yield {MODULES: root}
