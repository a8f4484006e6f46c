"""The files that an audited agent can read: copies of its own, and our code without environments."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path

import natlang_envs
from leaderboard.schema import one_line
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import BUILT_IN, ENTRY_POINTS
from natlang_envs.evaluation.published import FILES, is_published, published_files, split_model
from natlang_envs.evaluation.runs import digest_of
from natlang_envs.installed import entry_points
from natlang_envs.registration import ENVIRONMENTS

_PACKAGES = ("natlang_envs", "reference_agent", "natlang_judges")
_OURS = ("natlang-envs", "natlang-judges")  # the distributions of this repository
_DATA = ("protocols", "repositories", "data.tar.gz", "__pycache__")  # tasks and answers
_ENVIRONMENTS = {entry.entry_point.split(".")[1] for entry in ENVIRONMENTS}  # their packages


@dataclass(frozen=True)
class AgentFiles:
    """Copies for one audit, which do not change while it runs."""

    own: Path  # the folder of the agent's own files
    kind: str  # the part of `--agent` before the colon
    argument: str | Path  # the part behind it; a path below `own` if it names a file or a folder
    checkpoint: str  # the SHA-256 of that path, or an empty string
    # Whether code of this project makes the agent from weights alone: the probabilities that it states are then those
    # of the weights that `checkpoint` names.
    own_loader: bool
    foreign: str  # the installed package whose code makes the agent, if it is not one of ours; or an empty string
    model: str = ""  # what stands behind the path: `@MODEL`, a model of the cache, or an empty string

    @property
    def packages(self) -> Path:
        """The folder of our packages, beside its own files; `copy_packages` fills it."""
        return self.own.with_name("packages")

    @property
    def spec(self) -> str:
        """The value of `--agent`, with a path inside the agent's own files."""
        if isinstance(self.argument, Path):
            return f"{self.kind}:{self.argument.relative_to(self._root).as_posix()}{self.model}"
        return f"{self.kind}:{self.argument}"

    @property
    def digest(self) -> str:
        """The SHA-256 of the agent's own files, wherever they were copied from."""
        return digest_of(self._root)

    @property
    def _root(self) -> Path:
        copies = list(self.own.iterdir())  # a published player has its files beside it
        return copies[0] if isinstance(self.argument, Path) and len(copies) == 1 else self.own


def copy_agent_files(spec: str, folder: Path, files: Path | None = None) -> AgentFiles:
    """Copy an agent's own files into an empty folder.

    Args:
        spec: The value of `--agent`.
        folder: The folder for the copies.
        files: A folder with everything that the agent needs. Without it the copies are a module alone, or the file or
            folder behind the colon with all that a published player names.
    """
    if files is not None and not files.exists():
        raise UsageError(one_line(f"--files {files} does not exist: name the folder that holds the agent"))
    kind, _, argument = spec.partition(":")
    built_in = kind in BUILT_IN
    own = folder / "agent"
    own.mkdir()
    makers = [each.dist.name if each.dist else "" for each in entry_points(group=ENTRY_POINTS, name=kind)]
    ours = len(makers) == 1 and makers[0] in _OURS
    named, model = split_model(argument) if ours else (Path(argument), "")
    path = named.absolute()
    given: str | Path = argument
    checkpoint = ""
    whole = False  # whether the checkpoint's SHA-256 covers all copies
    if ours and argument and files is None and is_published(path):
        given, checkpoint, whole = own / path.name, digest_of(path), True
        _copy(path, own / path.name)
        (own / FILES).mkdir()
        for each in published_files(path)[1].values():
            if not (copied := own / FILES / each.name).exists():
                _copy(each, copied)
    elif makers and argument and path.exists():
        source = (files or path).absolute()
        whole = source == path
        if not path.is_relative_to(source):
            raise UsageError(one_line(f"{argument} is not in {files}: name the folder that holds it by --files"))
        _copy(source, own / source.name)
        given = own / source.name / path.relative_to(source)
        checkpoint = digest_of(given)
    elif files is not None:
        _copy(files.absolute(), own, into=True)
    elif not makers and not built_in:
        _copy_module(kind.partition(".")[0], own)
    if not makers and not built_in:
        _check_function(own, kind, argument)
    _readable(own)
    foreign = next((each for each in makers if each not in _OURS), "")
    own_loader = ours and (whole or not checkpoint)
    return AgentFiles(own, kind, given, checkpoint, own_loader, foreign, model)


def copy_packages(files: AgentFiles) -> None:
    """Copy our packages for an audit, without the data, and without environments for an agent of one's own."""
    hidden = shutil.ignore_patterns(*_DATA, *(() if files.kind in BUILT_IN else _ENVIRONMENTS))
    for name in _PACKAGES:
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            shutil.copytree(Path(found.origin).parent, files.packages / name, ignore=hidden)
    _readable(files.packages)


def _readable(folder: Path) -> None:
    """Let the agent's user read the copies, who has no rights."""
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)


def _check_function(own: Path, module: str, function: str) -> None:
    """Refuse a function that the agent's module does not define; its code is read, and not run here."""
    file = own / f"{module.replace('.', '/')}.py"
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # a package, or an installed module: whoever starts it says what is wrong
    found = ([getattr(node, each, None) for each in ("asname", "name", "id")] for node in ast.walk(tree))
    names = {next(filter(None, each), None) for each in found}
    if "*" not in names and function.partition(".")[0] not in names:
        raise UsageError(one_line(f"module {module!r} has no {function!r}: write --agent {module}:FUNCTION"))


def _copy_module(top: str, own: Path) -> None:
    source = next((each for each in (Path(f"{top}.py"), Path(top)) if each.exists()), None)
    if source is not None:
        _copy(source.absolute(), own / source.name)
    elif not top.isidentifier() or importlib.util.find_spec(top) is None:
        raise UsageError(one_line(f"there is no agent and no module {top!r} here: name its folder by --files"))


def _copy(source: Path, target: Path, *, into: bool = False) -> None:
    if source.is_dir() and Path(natlang_envs.__file__).resolve().is_relative_to(source.resolve()):
        raise UsageError(
            one_line(f"{source} holds natlang_envs itself, labels included: name a folder with the agent's files alone")
        )
    for each in (source, *(source.rglob("*") if source.is_dir() else ())):
        if each.is_symlink() and not each.resolve().is_relative_to(source.resolve()):
            raise UsageError(one_line(f"{each} is a link to elsewhere: an agent's files are shown to it as they are"))
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=into, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
