"""Reports in headless Chromium. Every page a test opens must stay silent and load nothing."""

import shutil

import pytest
import report_fixture
from espalier.report import write_report
from playwright.sync_api import sync_playwright

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def chromium():
    assert PROGRAM, "Debian's package chromium is not installed"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=PROGRAM)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page whose `complaints` must be empty when the test ends."""
    context = chromium.new_context(viewport={"width": 1500, "height": 1000}, accept_downloads=True)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith(("file:", "blob:")) or page.complaints.append(asked.url))
    yield page
    complaints = page.complaints
    context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def plain():
    return report_fixture.run()


@pytest.fixture(scope="session")
def reports(tmp_path_factory, plain):
    """Addresses of reports by name."""
    folder = tmp_path_factory.mktemp("runs")
    runs = {"plain": plain, "other": report_fixture.run(10, report_fixture.OTHER)}
    runs |= {"hostile": report_fixture.hostile_run(), "long": report_fixture.long_run()}
    runs["large"] = report_fixture.large(10_000)
    trees, *rest = report_fixture.run(2)
    puct = {"method": "prorag", "options": {"c": 2.5, "grow": "search"}}
    runs["puct"] = ([tree | puct for tree in trees], *rest)
    addresses = {}
    for name, run in runs.items():
        report_fixture.write(folder / name, *run)
    for name in runs:
        target = folder / name / "report.html"
        write_report(folder / name, target)
        addresses[name] = target.as_uri()
    for name, other in (("both", "other"), ("hostile_both", "hostile")):
        target = folder / f"{name}.html"
        write_report(folder / ("plain" if name == "both" else "hostile"), target, folder / other)
        addresses[name] = target.as_uri()
    return addresses
