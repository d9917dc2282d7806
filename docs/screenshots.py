"""Make the screenshots of README and docs from real runs on the incident that ships, in both themes.

    python docs/screenshots.py [FOLDER]

Needs the page and dev extras and a Chromium. Writes docs/images/{report,ladder,live}-{light,dark}.png.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.report.page.browser import chromium  # noqa: E402

INCIDENT: Final = "examples/incident"
THEMES: Final = ("light", "dark")


def report(browser: Any, out: Path) -> None:
    """The top of the report, and the ladder where rank and time are drawn."""
    with tempfile.TemporaryDirectory(prefix="ridgeline-shots-") as folder:
        path = Path(folder) / "incident.html"
        command = [sys.executable, "-m", "ridgeline", "report", INCIDENT, "-o", str(path), "--keep-text", "--quiet"]
        subprocess.run(command, check=True, cwd=ROOT)
        for theme in THEMES:
            page = browser.new_context(color_scheme=theme, viewport={"width": 1080, "height": 1300}).new_page()
            page.goto(path.as_uri())
            page.screenshot(path=out / f"report-{theme}.png")
            page.evaluate("document.getElementById('rung-A1').scrollIntoView({behavior: 'instant'})")
            page.screenshot(path=out / f"ladder-{theme}.png")


def live(browser: Any, out: Path) -> None:
    """The live page with a stretch of time chosen."""
    command = [sys.executable, "-m", "ridgeline", "open", INCIDENT, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        assert child.stdout is not None
        address = child.stdout.readline().strip()
        for theme in THEMES:
            page = browser.new_context(color_scheme=theme, viewport={"width": 1240, "height": 1100}).new_page()
            page.goto(address)
            page.wait_for_selector("body[data-story='ready']", timeout=120_000)
            page.locator("#slot-heat").scroll_into_view_if_needed()  # what the finding says may push it down
            box = page.locator("#slot-heat svg").bounding_box()
            y = box["y"] + box["height"] / 2
            page.mouse.move(box["x"] + box["width"] * 0.42, y)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] * 0.62, y, steps=4)
            page.mouse.up()
            page.wait_for_selector("body[data-turn='2']", timeout=60_000)
            page.wait_for_selector("#slot-slices:not(.busy)", timeout=60_000)
            page.evaluate("document.getElementById('bench').scrollIntoView({behavior: 'instant'})")
            page.screenshot(path=out / f"live-{theme}.png")
        child.terminate()


def main() -> None:
    """Write all pictures and say their sizes."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        report(browser, out)
        live(browser, out)
    for path in sorted(out.glob("*.png")):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
