"""A real browser, for the tests of pages."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


def rendered(page: Path, profile: Path, query: str = "", wait: int = 0, dark: bool = False) -> str:
    """Return the document of a page after its scripts ran in headless Chromium, for `wait` milliseconds of its time."""
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}"]
    flags += [f"--virtual-time-budget={wait}"] if wait else []
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
    ran = subprocess.run(
        [CHROMIUM, *flags, "--dump-dom", page.as_uri() + query], capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout


def scripted(page: Path, script: str) -> Path:
    """Return a copy beside a page, without its policy, that runs a script of ours at its end."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    copy = page.with_name(f"scripted-{page.name}")
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    return copy


_MEASURE = """addEventListener("load", () => setTimeout(() => {
  const wide = [...document.body.querySelectorAll("*")].filter((each) => {
    for (let box = each; box && box !== document.body; box = box.parentElement)
      if (box !== each && /auto|scroll|hidden|clip/.test(getComputedStyle(box).overflowX)) return false;
    return each.getBoundingClientRect().right > innerWidth + 1;
  });
  const names = wide.map((each) => each.outerHTML.slice(0, 80));
  parent.postMessage([document.documentElement.scrollWidth, innerWidth, names], "*");
}, 300));"""


def beyond(page: Path, profile: Path, width: int = 390) -> list[str]:
    """Return what of a page lies beyond the right edge of a window of this width: nothing if it fits.

    A window of Chromium's is at least 500 wide, so the page stands in a frame of another one.
    """
    inner = scripted(page, _MEASURE)
    frame = page.with_name("frame.html")
    frame.write_text(
        f'''<!doctype html><body><iframe src="{inner.name}" width="{width}" height="800" style="border:0"></iframe>
<script>addEventListener("message", (event) => {{
  const said = document.createElement("pre");
  said.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(event.data))));
  document.body.append(said);
}});</script></body>''',
        encoding="utf-8",
    )
    shown = rendered(frame, profile, wait=5_000)
    inner.unlink()
    frame.unlink()
    needed, there, wide = json.loads(base64.b64decode(re.findall(r"<pre>(.*?)</pre>", shown)[0]))
    assert there == width
    return [] if needed <= width else [f"{needed} pixels are needed", *wide]
