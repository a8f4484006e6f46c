"""Known repositories: splits by question, for an agent that may know a repository's files and its training questions.

They divide the labels of train, test_seen and known otherwise than the splits by repository and by file do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.tasks import hash_fraction

VALIDATION = 150  # questions; as on the boards, half are about files that no question of known_train is about


def known_validation(train: Sequence[Label]) -> tuple[Label, ...]:
    """Return the questions of train that are held out for choosing settings, in the order of a hash of their ids.

    Half are about files that further training questions are about, and half about files that none else is about; no
    two are about one file.
    """
    asked = Counter((label.repository, path) for label in train for path in label.targets)
    taken: set[tuple[str, str]] = set()
    chosen: dict[bool, list[Label]] = {True: [], False: []}
    for label in sorted(train, key=lambda each: hash_fraction(f"known_validation/{each.id}")):
        files = {(label.repository, path) for path in label.targets}
        group = chosen[any(asked[file] > 1 for file in files)]
        if len(group) < VALIDATION // 2 and not files & taken:
            group.append(label)
            taken |= files
    return tuple(label for label in train if any(label in group for group in chosen.values()))
