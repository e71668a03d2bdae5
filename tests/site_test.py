"""The site that `make docs` built: it fetches nothing, and each folder of headers has a page."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build/docs"
PAGES = sorted(SITE.rglob("*.html"))


def test_nothing_is_fetched() -> None:
    loads = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import (\S+)""")
    assert len(PAGES) > 40
    for file in [*PAGES, *SITE.rglob("*.css")]:
        for found in loads.findall(file.read_text(encoding="utf-8")):
            assert not any(re.match(r"['\"]?(https?:)?//", address) for address in found), f"{file.name}: {found}"


def test_a_folder_of_headers_has_a_page() -> None:
    folders = {path.name for path in (ROOT / "include/espalier").iterdir() if path.is_dir()}
    assert folders | {"index"} == {path.stem for path in (SITE / "reference/cpp").glob("*.html")}
