#!/usr/bin/env python3
"""Writes include/espalier/output/report_data.inc from the styles and the scripts in tools/report.

Usage: python3 tools/make_report.py [--check]      (--check: only say whether the file is up to date)

The scripts become one, in one scope, in the order below. Beside each text stands its SHA-256 in base64, which the
page's Content-Security-Policy names: a browser runs this script and uses this style, and nothing else.
"""

import base64
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tools" / "report"
TARGET = ROOT / "include" / "espalier" / "output" / "report_data.inc"
STYLES = "base summary questions verdict tree map node screens"
SCRIPTS = (
    "text dom gold records model place questions histograms verdict terms diff siblings node filter "
    "outline wrap layout colours canvas map export growth tree compare keys main"
)


def texts(kind: str, names: str, ending: str) -> list[str]:
    files = {name: FOLDER / kind / f"{name}.{ending}" for name in names.split()}
    assert set(files.values()) == set((FOLDER / kind).iterdir()), f"{FOLDER / kind}: files and the list here differ"
    return [file.read_text(encoding="utf-8") for file in files.values()]


def style() -> list[str]:
    return texts("style", STYLES, "css")


def script() -> list[str]:
    return ['"use strict";\n(() => {\n', *texts("script", SCRIPTS, "js"), "})();\n"]


def constants(name: str, parts: list[str]) -> str:
    """The text in parts, as compilers need not take a literal above 65,536 characters."""
    text = "".join(parts)
    assert text.isascii() and ')~"' not in text and "</" not in text, f"{name}: must be ASCII without end tags"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    literals = ",\n".join(f'R"~({part})~"' for part in parts)
    return (
        f'inline constexpr char report_{name}_sha256[] = "{digest}";\n'
        f"inline constexpr std::string_view report_{name}[] = {{{literals}}};\n"
    )


def main() -> int | str:
    written = (
        "// The style and the script of report.html, written by tools/make_report.py from tools/report. Do not edit.\n"
        + constants("style", style())
        + constants("script", script())
    )
    if sys.argv[1:] == ["--check"]:
        current = TARGET.read_text(encoding="utf-8")
        return 0 if current == written else f"{TARGET} is out of date: run tools/make_report.py"
    TARGET.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
