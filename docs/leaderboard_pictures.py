"""Take pictures of a built site in Chromium, docs/leaderboard-*.png: `python docs/leaderboard_pictures.py SITE`."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PAGES = {
    "board": "boards/autoexplore/v1/index.html#compare=listing-search&with=bm25",
    "viewer": "entries/dangerous-taxi-pickup/v1/oracle/index.html#episode=3",
}


def main(site: Path) -> None:
    for name, page in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            shot = Path(folder, "shot.png")
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800", "--hide-scrollbars"]
            flags += [f"--user-data-dir={folder}/profile", f"--screenshot={shot}", "--virtual-time-budget=3000"]
            subprocess.run(["chromium", *flags, f"{site.resolve().as_uri()}/{page}"], check=True, capture_output=True)
            small = Image.open(io.BytesIO(shot.read_bytes())).convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
            small.save(Path(__file__).parent / f"leaderboard-{name}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
