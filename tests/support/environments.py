"""Python environments that tests make, without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")  # and what it needs


def make_environment(folder: Path, *options: str, python: str = sys.executable, tested: bool = True) -> Path:
    """Make an environment, with the pytest of this one if it is `tested`; return the folder of its packages."""
    subprocess.run([python, "-m", "venv", "--without-pip", *options, folder], check=True)
    (packages,) = folder.glob("lib/python3.*/site-packages")
    for name in PYTEST if tested else ():
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}:
            source = Path(str(distribution.locate_file(top)))
            if source.is_dir():
                shutil.copytree(source, packages / top, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, packages / top)
    return packages
