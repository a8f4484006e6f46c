"""Task sentences that people wrote, read from the `traj_data.json` beside a game."""

from __future__ import annotations

import json
import re
from pathlib import Path

from natlang_envs.alfworld.engine.grammar import TASK_PREFIX
from natlang_envs.errors import UsageError
from natlang_envs.tasks import hash_fraction

_LONGEST = 1_000  # characters
_UNSAID = re.compile(r'[#{}\[\]|"\\]')  # what TextWorld's grammar would take for a rule


def human_sentence(path: Path, task_id: str) -> str:
    """Return one of the sentences that people wrote for a game; which one depends on the task id alone."""
    try:
        notes = json.loads(path.read_text("utf-8"))["turk_annotations"]["anns"]
        written = [" ".join(note["task_desc"].split()) for note in notes]
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): leave human_goals out") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path} holds no human goals: download it again, or leave human_goals out") from None
    said = [each for each in written if 0 < len(each) <= _LONGEST and each.isprintable() and not _UNSAID.search(each)]
    if not said:
        raise UsageError(f"{path} holds no human goal in plain words: leave human_goals out")
    return TASK_PREFIX + said[int(hash_fraction(f"alfworld/human/{task_id}") * len(said))]
