"""The faults: each is done to a command several times, and what the next start makes of it is counted."""

from __future__ import annotations

import gzip
import os
import random
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tools.faults.cases import Case, Ended

_YEAR = 366 * 24 * 3600
_BROKEN: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line[: len(line) // 2] + b"\n",
    lambda line: b"\0" * (len(line) - 1) + b"\n",
    lambda line: line.replace(b":", b";", 3),
    lambda line: b"\xff\xfe" + line[2:],
)


@dataclass
class Outcome:
    """What one fault did to one command.

    Attributes:
        times: How often the fault was done.
        begun: How often something had been written before it.
        ends: How often what was started next was left to end.
        whole: How often it ended with the undisturbed result.
        told: The lines that starts refused with.
        failures: Everything else, in words.
        left: The most unfinished or temporary things that lay about in the end.
    """

    times: int = 0
    begun: int = 0
    ends: int = 0
    whole: int = 0
    told: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    left: int = 0


class Trial:
    """A command with one fault.

    Args:
        case: The command, which is run undisturbed first.
        root: The folder of its places.
        runs: How many undisturbed runs are timed.
    """

    def __init__(self, case: Case, root: Path, runs: int) -> None:
        self.case, self.root, self.outcome, times = case, root, Outcome(), list[float]()
        places = [self.place() for _ in range(runs)]
        for place in places:
            begun = time.monotonic()
            ended = case.start(place)
            times.append(time.monotonic() - begun)
            if ended.code:
                raise RuntimeError(f"{case.name} fails undisturbed: {ended.errors}")
        self.seconds, self.expected = sorted(times)[runs // 2], case.found(places[-1])
        files = [each for each in (places[-1] / "disk").rglob("*") if each.is_file()]
        self.size = sum(-(-each.stat().st_size // 4096) * 4096 for each in files)

    def do(self, fault: str, count: int) -> Outcome:
        """Do a fault so often, and return what came of it."""
        self.outcome = Outcome()
        FAULTS[fault](self, count)
        return self.outcome

    def place(self) -> Path:
        """Return a new place."""
        return self.case.place(self.root)

    def hit(self, place: Path) -> None:
        """Count a fault."""
        self.outcome.times += 1
        self.outcome.begun += any((place / "disk").iterdir())

    def look(self, place: Path) -> bool:
        """Return whether the undisturbed result is there; what differs from it under a final name is a failure."""
        try:
            found = self.case.found(place)
        except (OSError, ValueError) as error:
            self.outcome.failures.append(str(error))
            return False
        wrong = [name for name, digest in found.items() if digest != self.expected.get(name)]
        self.outcome.failures += [f"{name} is half-written" for name in wrong]
        return found == self.expected

    def refused(self, ended: Ended) -> None:
        """Note the line that a start refused with; anything else is a failure."""
        said = (ended.errors.strip().splitlines() or ["no word"])[-1]
        if ended.line:
            self.outcome.told.append(ended.line)
        else:
            self.outcome.failures.append(f"exit code {ended.code}, {said}")

    def go_on(self, place: Path) -> None:
        """Start once more, undisturbed: the result must be the undisturbed one."""
        ended = self.case.start(place)
        self.outcome.ends += 1
        if ended.code:
            self.refused(ended)
        if self.look(place):
            self.outcome.whole += 1
        else:
            self.outcome.failures.append("the next start did not end with the undisturbed result")
        left = [*(place / "disk").rglob(".*.unfinished"), *(place / "tmp").glob("natlang*")]
        self.outcome.left = max(self.outcome.left, len(left))


def _kill(trial: Trial, count: int) -> None:
    """Kill at instants spread over the duration; what is started again may be killed again."""
    draw = random.Random(trial.case.name)
    instants = [trial.seconds * (number + draw.random()) / count for number in range(count)]
    draw.shuffle(instants)
    place, killed = trial.place(), False
    for instant in instants:
        while not trial.case.start(place, kill_after=instant).killed:  # it has ended before: again in a new place
            trial.look(place)
            place, killed, instant = trial.place(), False, instant * 0.9
        killed = True
        trial.hit(place)
        trial.look(place)
        if draw.random() < 0.3:
            trial.go_on(place)
            place, killed = trial.place(), False
    if killed:
        trial.go_on(place)


@contextmanager
def _disk(place: Path, size: int) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place / "disk")], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place / "disk")], check=True)


def _remount(place: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(place / "disk")], check=True)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _full(trial: Trial, count: int) -> None:
    """Let the disk be too small, twice in a row, then large enough; without root, files may not grow."""
    for number in range(count):
        place, part = trial.place(), int(trial.size * (number + 0.5) / count)
        if os.geteuid():
            starts = [trial.case.start(place, limit=partial(_limit, part // 8))]
            _refusals(trial, place, starts)
            continue
        with _disk(place, max(4096, part // 4096 * 4096)):
            starts = [trial.case.start(place), trial.case.start(place)]
            _remount(place, "size=256m")
            _refusals(trial, place, starts)


def _read_only(trial: Trial, count: int) -> None:
    """Let the folder be read-only, when it is empty and after a kill; then not. Only root can do that to itself."""
    for number in range(0 if os.geteuid() else count):
        place = trial.place()
        with _disk(place, 2**28):
            if number:
                trial.case.start(place, kill_after=trial.seconds * (0.5 + 0.5 * number / count))
            if not trial.look(place):
                _remount(place, "ro")
                starts = [trial.case.start(place)]
                _remount(place, "rw")
                _refusals(trial, place, starts)


def _refusals(trial: Trial, place: Path, starts: list[Ended]) -> None:
    if any(each.code for each in starts):  # else it fitted
        trial.hit(place)
        for each in starts:
            trial.refused(each)
        trial.look(place)
        trial.go_on(place)


def _clock(trial: Trial, count: int) -> None:
    """Kill, and set the clock by a year before the next start: the times of all files are far off."""
    for number in range(count):
        place = trial.place()
        trial.case.start(place, kill_after=trial.seconds * (0.55 + 0.45 * number / count))
        moved = time.time() + (_YEAR if number % 2 else -_YEAR)
        for each in place.rglob("*"):
            os.utime(each, (moved, moved), follow_symlinks=False)
        trial.hit(place)
        trial.go_on(place)


def _two(trial: Trial, count: int) -> None:
    """Start the command twice in one folder, the second one a little later each time."""
    for number in range(count):
        place = trial.place()
        first = trial.case.begin(place)
        time.sleep(trial.seconds * 0.9 * number / count)
        starts = [trial.case.start(place), trial.case.ended(place, first)]
        trial.hit(place)
        for each in starts:
            if each.code:
                trial.refused(each)
        if all(each.code for each in starts):
            trial.outcome.failures.append("neither has finished")
        trial.go_on(place)


def _corrupt(trial: Trial, count: int) -> None:
    """Break a line amid what the next start reads; then do what the line that it says asks for."""
    for number in range(count if trial.case.text else 0):
        place = trial.place()
        running = trial.case.begin(place)
        while (path := _text(trial.case, place)) is None and running.poll() is None:
            time.sleep(0.002)
        running.kill()
        running.wait()
        if path is None:
            trial.outcome.failures.append("there was nothing to break")
            continue
        whole = path.read_bytes()
        lines = _unpacked(path).splitlines(keepends=True)
        before, middle, after = lines[: len(lines) // 2], lines[len(lines) // 2], lines[len(lines) // 2 + 1 :]
        content = b"".join([*before, _BROKEN[number % 4](middle), *after])
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        trial.hit(place)
        trial.refused(trial.case.start(place))
        if trial.case.remedy == "file":
            path.unlink()
        else:
            path.write_bytes(b"".join([*before, *after]) if trial.case.remedy == "line" else whole)
        trial.go_on(place)


def _text(case: Case, place: Path) -> Path | None:
    """Return the file that the next start reads, once it holds enough lines to break one amid them."""
    return next((each for each in place.glob(case.text) if _unpacked(each).count(b"\n") > 3), None)


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


FAULTS: dict[str, Callable[[Trial, int], None]] = {
    "kill -9": _kill,
    "full disk": _full,
    "read-only": _read_only,
    "clock set": _clock,
    "two at once": _two,
    "corrupt line": _corrupt,
}
