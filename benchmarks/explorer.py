"""A report's page with one large tree in headless Chromium: its size, the time until its rows are shown, and the frames
a second while the growth of the whole tree is played, as an outline and as a map.

python benchmarks/explorer.py [--nodes 10000] [--repeat 5]

The tree is a made-up one (tests/browser/report_fixture.py). Needs playwright and Debian's chromium, as
`make test-browser`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from espalier import _core
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
import report_fixture

PLAYED = """() => new Promise((done) => {
  const frames = [], button = document.querySelector(".play");
  const frame = (now) => {
    frames.push(now);
    if (button.textContent === "\\u25A0") requestAnimationFrame(frame);
    else done((1000 * (frames.length - 1)) / (frames.at(-1) - frames[0]));
  };
  button.click();
  requestAnimationFrame(frame);
})"""


def opened(page: Page, address: str) -> float:
    """Seconds until the tree's rows are on the screen."""
    start = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(".row")
    page.evaluate("() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))")
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        run = report_fixture.large(options.nodes)
        report_fixture.write(folder, *run)
        file = folder / "report.html"
        _core.write_report(str(folder), str(file))
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=program)
        address = f"{file.as_uri()}#q={run[0][0]['id']}"
        seconds: list[float] = []
        rates: dict[str, list[float]] = {"outline": [], "map": []}
        for _ in range(options.repeat):
            page = browser.new_context(viewport={"width": 1500, "height": 1000}).new_page()
            seconds.append(opened(page, address))
            for view, measured in rates.items():
                page.click(f"[data-view={view}]")
                measured.append(page.evaluate(PLAYED))
            page.close()
        print(f"{options.nodes:,} nodes, {file.stat().st_size / 1e6:.1f} MB, Chromium {browser.version} without a GPU")
        print(f"opened in {statistics.median(seconds):.2f} s (median of {options.repeat}; {max(seconds):.2f} at most)")
        for view, measured in rates.items():
            print(f"{view}: {statistics.median(measured):.0f} frames/s (median; {min(measured):.0f} at least)")
        browser.close()


if __name__ == "__main__":
    main()
