"""The faults. Each returns how often the next start resumed, the lines that starts refused with, and failures."""

from __future__ import annotations

import gzip
import os
import random
import resource
import shutil
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
        left: The most files and folders that lay beside the results in the end.
    """

    times: int = 0
    begun: int = 0
    ends: int = 0
    whole: int = 0
    told: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    left: int = 0


@dataclass(frozen=True)
class Trial:
    """A command, what it gives undisturbed and in how many seconds, and how many bytes it then has written."""

    case: Case
    root: Path
    seconds: float
    expected: dict[str, str]
    size: int

    def look(self, place: Path, outcome: Outcome, when: str) -> None:
        """Note every final name under which something else than the undisturbed result lies."""
        try:
            found = self.case.found(place)
        except (OSError, ValueError) as error:
            outcome.failures.append(f"{when}: {error}")
            return
        outcome.failures += [
            f"{when}: {name} is half-written" for name, digest in found.items() if digest != self.expected.get(name)
        ]

    def go_on(self, place: Path, outcome: Outcome, when: str) -> None:
        """Start once more, undisturbed, and note whether the result is the undisturbed one."""
        ended = self.case.start(place)
        outcome.ends += 1
        self.look(place, outcome, when)
        whole = self.case.found(place) == self.expected
        if whole and (ended.code == 0 or ended.line):
            outcome.whole += 1
            left = [each for each in (place / "disk").rglob(".*") if not each.name.endswith(".lock")]
            outcome.left = max(outcome.left, len(left) + len(list((place / "tmp").glob("natlang*"))))
        else:
            outcome.failures.append(f"{when}: the next start: {_last(ended)}")

    def refused(self, ended: Ended, outcome: Outcome, when: str) -> None:
        """Note the line that a start refused with; anything else is a failure."""
        if ended.line:
            outcome.told.append(ended.line)
        else:
            outcome.failures.append(f"{when}: {_last(ended)}")


def _last(ended: Ended) -> str:
    return f"exit code {ended.code}, {(ended.errors.strip().splitlines() or ['no word'])[-1]}"


def kills(trial: Trial, count: int) -> Outcome:
    """Kill the command at instants spread over its duration; what is started again may be killed again."""
    outcome, draw = Outcome(), random.Random(trial.case.name)
    instants = [trial.seconds * (number + draw.random()) / count for number in range(count)]
    draw.shuffle(instants)
    place, killed = trial.case.place(trial.root), False
    for instant in instants:
        while not trial.case.start(place, kill_after=instant).killed:  # it has ended before: again in a new place
            trial.look(place, outcome, "not killed")
            place, killed, instant = trial.case.place(trial.root), False, instant * 0.9
        when = f"kill after {instant:.2f} s"
        outcome.times, killed = outcome.times + 1, True
        outcome.begun += any((place / "disk").iterdir())
        trial.look(place, outcome, when)
        if draw.random() < 0.3:
            trial.go_on(place, outcome, when)
            place, killed = trial.case.place(trial.root), False
    if killed:
        trial.go_on(place, outcome, "last")
    return outcome


@contextmanager
def _disk(place: Path, size: int) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place / "disk")], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place / "disk")], check=True)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _remount(place: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(place / "disk")], check=True)


def full_disk(trial: Trial, count: int) -> Outcome:
    """Let the disk be too small, twice in a row, then large enough; without root, files may not grow."""
    outcome = Outcome()
    for number in range(count):
        size = 4096 * max(1, int(trial.size * (number + 0.5) / count) // 4096)
        when, place = f"disk of {size:,} bytes", trial.case.place(trial.root)
        if os.geteuid():
            ended = trial.case.start(place, limit=partial(_limit, int(trial.size * 0.3 / 2**number)))
            _after_refusal(trial, place, [ended], outcome, when)
            continue
        with _disk(place, size):
            starts = [trial.case.start(place), trial.case.start(place)]
            _remount(place, "size=256m")
            _after_refusal(trial, place, starts, outcome, when)
    return outcome


def read_only(trial: Trial, count: int) -> Outcome:
    """Let the folder be read-only, when it is empty and after a kill; then not."""
    outcome = Outcome()
    for number in range(count):
        when, place = f"read-only, {number}", trial.case.place(trial.root)
        with _disk(place, 2**28):
            if number:
                trial.case.start(place, kill_after=trial.seconds * (0.5 + 0.5 * number / count))
            if trial.case.found(place) != trial.expected:
                _remount(place, "ro")
                starts = [trial.case.start(place)]
                _remount(place, "rw")
                _after_refusal(trial, place, starts, outcome, when)
    return outcome


def _after_refusal(trial: Trial, place: Path, starts: list[Ended], outcome: Outcome, when: str) -> None:
    if all(each.code == 0 for each in starts):
        return  # it fitted
    outcome.times += 1
    outcome.begun += any((place / "disk").iterdir())
    for each in starts:
        trial.refused(each, outcome, when)
    trial.look(place, outcome, when)
    trial.go_on(place, outcome, when)


def clock(trial: Trial, count: int) -> Outcome:
    """Kill, and let the clock go back or forward by a year before the next start: times of files are far off."""
    outcome = Outcome()
    for number in range(count):
        place = trial.case.place(trial.root)
        trial.case.start(place, kill_after=trial.seconds * (0.55 + 0.45 * number / count))
        moved = time.time() + (_YEAR if number % 2 else -_YEAR)
        for each in place.rglob("*"):
            os.utime(each, (moved, moved), follow_symlinks=False)
        outcome.times += 1
        outcome.begun += any((place / "disk").iterdir())
        trial.go_on(place, outcome, f"clock, {number}")
    return outcome


def two(trial: Trial, count: int) -> Outcome:
    """Start the command twice in one folder, the second one a little later each time."""
    outcome = Outcome()
    for number in range(count):
        place, when = trial.case.place(trial.root), f"two, {number}"
        first = trial.case.begin(place)
        time.sleep(trial.seconds * 0.9 * number / count)
        starts = [trial.case.start(place), trial.case.ended(place, first)]
        outcome.times += 1
        outcome.begun += 1
        for each in starts:
            if each.code:
                trial.refused(each, outcome, when)
        if all(each.code for each in starts):
            outcome.failures.append(f"{when}: none has finished")
        trial.look(place, outcome, when)
        trial.go_on(place, outcome, when)
    return outcome


def corrupt(trial: Trial, count: int) -> Outcome:
    """Break a line amid the JSONL file that the next start reads; then do what the line that it says asks for."""
    outcome = Outcome()
    for number in range(count if trial.case.text else 0):
        place, when = trial.case.place(trial.root), f"corrupt line, {number}"
        share = 0.55
        while share < 1 and not _text(trial.case, place):
            place = trial.case.place(trial.root)
            trial.case.start(place, kill_after=trial.seconds * share)
            share += 0.04
        path = _text(trial.case, place)
        if path is None:
            continue
        whole = path.read_bytes()
        lines = _unpacked(path).splitlines(keepends=True)
        middle = len(lines) // 2
        _write(path, [*lines[:middle], _BROKEN[number % 4](lines[middle]), *lines[middle + 1 :]])
        outcome.times += 1
        outcome.begun += 1
        trial.refused(trial.case.start(place), outcome, when)
        if trial.case.remedy == "line":
            _write(path, lines[:middle] + lines[middle + 1 :])
        elif trial.case.remedy == "folder":
            shutil.rmtree(path.parent)
        elif trial.case.remedy == "file":
            path.unlink()
        else:
            path.write_bytes(whole)
        trial.go_on(place, outcome, when)
    return outcome


def _text(case: Case, place: Path) -> Path | None:
    """Return the JSONL file once it holds enough lines to break one amid them."""
    for path in place.glob(case.text):
        if _unpacked(path).count(b"\n") > 3:
            return path
    return None


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _write(path: Path, lines: list[bytes]) -> None:
    content = b"".join(lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


FAULTS: dict[str, Callable[[Trial, int], Outcome]] = {
    "kill -9": kills,
    "full disk": full_disk,
    "read-only": read_only,
    "clock set": clock,
    "two at once": two,
    "corrupt line": corrupt,
}
