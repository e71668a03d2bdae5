#!/usr/bin/env python3
"""Writes include/espalier/output/report_data.inc from the style and the script in tools/report.

Usage: python3 tools/make_report.py [--check]      (--check: only say whether the file is up to date)

Beside each text stands its SHA-256 in base64, which the page's Content-Security-Policy names: a browser runs this
script and uses this style, and nothing else.
"""

import base64
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "include" / "espalier" / "output" / "report_data.inc"


def constants(name, file):
    text = file.read_text(encoding="utf-8").strip() + "\n"
    assert text.isascii() and ')~"' not in text and "</" not in text, f"{file}: must be ASCII without end tags"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return (
        f'inline constexpr char report_{name}_sha256[] = "{digest}";\n'
        f'inline constexpr char report_{name}[] = R"~({text})~";\n'
    )


def main():
    folder = ROOT / "tools" / "report"
    written = (
        "// The style and the script of report.html, written by tools/make_report.py from tools/report. Do not edit.\n"
        + constants("style", folder / "report.css")
        + constants("script", folder / "report.js")
    )
    if sys.argv[1:] == ["--check"]:
        return (
            0 if TARGET.read_text(encoding="utf-8") == written else f"{TARGET} is out of date: run tools/make_report.py"
        )
    TARGET.write_text(written, encoding="utf-8")
    return 0


sys.exit(main())
