"""Writes the digest of the Coffee Company into `repositories.toml`, after its files changed.

python -m tools.dataset.pin
"""

from __future__ import annotations

import re

from natlang_envs.autoexplore.dataset.catalogue import COFFEE, data_folder, repository_folder
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.trajectory import write_whole


def main() -> None:
    """Write the digest and the number of files."""
    repository = open_repository(repository_folder(COFFEE))
    path = data_folder() / "repositories.toml"
    before, name, after = path.read_text(encoding="utf-8").partition(f'name = "{COFFEE}"')
    own, gap, others = after.partition("\n\n")
    own = re.sub(r'(?m)^digest = ".*"$', f'digest = "{repository.digest}"', own)
    own = re.sub(r"(?m)^files = \d+$", f"files = {len(repository.files)}", own)
    write_whole(path, "".join((before, name, own, gap, others)).encode())


if __name__ == "__main__":
    main()
