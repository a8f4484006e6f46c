"""Writes the reward of a repair: 1 where the sources as they were left do what the right ones do, else 0.

A script of its own, which `test.sh` runs as root beside the right repository. Only sources are taken from the player.
They run as a user who can read neither this folder nor what is expected, are given calls, and answer.

    python judge.py [record]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from natlang_envs.change.free_edits.inside.verdict import RecordedCalls, Run, failing, record
else:  # in the image, without the suite
    from verdict import RecordedCalls, Run, failing, record

TESTS, LEFT, LOGS = Path("/tests"), Path("/app/repository"), Path("/logs/verifier")
SECONDS, WALL_SECONDS = 60, 300
JUDGED = 65534  # the user whose sources are judged
_MOST = 64 << 20  # bytes of an answer


def asking(folder: Path, scripts: Path, user: int | None = None) -> Run:
    """Return what asks the referee, one of the `scripts`, over a copy of a folder, as another user if one is given."""

    def run(asked: Mapping[str, Any]) -> Any:
        with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as answer:
            own, file = Path(scratch, "scripts"), Path(scratch, "asked.json")
            work = shutil.copytree(folder, Path(scratch, "work"))
            shutil.copytree(scripts, own, ignore=lambda _, names: {*names} - {"calls.py", "referee.py"})
            file.write_text(json.dumps({"seconds": SECONDS, **asked}), encoding="utf-8")
            for place, _, names in os.walk(scratch if user is not None else own):
                for each in (place, *(os.path.join(place, name) for name in names)):  # noqa: PTH118
                    os.chmod(each, 0o755)  # noqa: PTH101 - whatever the umask
            who: dict[str, Any] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", str(own / "referee.py"), str(file)], cwd=work, stdin=subprocess.DEVNULL,
                stdout=answer, stderr=subprocess.DEVNULL, start_new_session=True, **who,
            )  # fmt: skip
            try:
                process.wait(WALL_SECONDS)
            except subprocess.TimeoutExpired:
                return None
            finally:
                process.kill()
                process.wait()
                _end(user)
            answer.seek(0)
            try:
                return json.loads(answer.read(_MOST))
            except (ValueError, RecursionError):
                return None

    return run


def _end(user: int | None) -> None:
    """End what a judged user has left running, all at once: what forks meanwhile would escape a list."""
    if user is not None:
        end = [sys.executable, "-I", "-S", "-c", "import os; os.kill(-1, 9)"]
        subprocess.run(end, user=user, group=user, extra_groups=[], stderr=subprocess.DEVNULL, check=False)


def _laid_out(asked: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Lay out the sources as they were left, and as they were broken, without tests."""
    changed, before = folder / "changed", folder / "before"
    for place in (changed, before):
        shutil.copytree(TESTS / "repository", place)
        for path in (*asked["sources"], *files_of(asked)):
            (place / path).unlink()
    for path in asked["sources"]:
        right = (TESTS / "repository" / path).read_text(encoding="utf-8")
        (before / path).write_text(asked["broken"].get(path, right), encoding="utf-8")
        left = LEFT / path
        if left.is_file() and left.resolve() == LEFT.resolve() / path:  # a link may lead to what is right
            shutil.copyfile(left, changed / path)
    return changed, before


def files_of(asked: Mapping[str, Any]) -> list[str]:
    return sorted({test.partition("::")[0] for test in asked["tests"]})


def main() -> None:
    if os.geteuid():
        sys.exit("The judge runs as root, as in its image, so that what is judged runs as somebody else.")
    TESTS.chmod(0o700)
    asked = json.loads((TESTS / "judged.json").read_text(encoding="utf-8"))
    calls_file, right = TESTS / "calls.json", asking(TESTS / "repository", TESTS)
    with tempfile.TemporaryDirectory() as folder:
        changed, before = (asking(each, TESTS, JUDGED) for each in _laid_out(asked, Path(folder)))
        if calls_file.exists():
            recorded = RecordedCalls(*json.loads(calls_file.read_bytes()))
        else:
            recorded = record(right, asked["sources"], [*asked["arguments"], *files_of(asked)])
            if not recorded.tells(before):
                sys.exit("No call of the tests tells the broken sources from the right ones: this task has no judge.")
        if sys.argv[1:] == ["record"]:
            calls_file.write_text(json.dumps(recorded), encoding="utf-8")
            return
        reward = failing(recorded, changed, before, right, asked["tests"], asked["arguments"]) == []
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "reward.txt").write_text(f"{int(reward)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
