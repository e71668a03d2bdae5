"""The page's style and script, which lie beside this file, one idea each."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
STYLES = ("base", "summary", "questions", "verdict", "tree", "map", "node", "screens")
SCRIPTS = (
    *("text", "dom", "gold", "records", "model", "place", "questions", "histograms", "verdict", "terms", "diff"),
    *("siblings", "node", "filter", "outline", "wrap", "layout", "colours", "canvas", "map", "export", "growth"),
    *("tree", "compare", "keys", "main"),
)
"""The order in which they are put together."""


@cache
def style() -> bytes:
    return b"".join((FOLDER / "style" / f"{name}.css").read_bytes() for name in STYLES)


@cache
def script() -> bytes:
    """All scripts as one, in one scope."""
    parts = ((FOLDER / "script" / f"{name}.js").read_bytes() for name in SCRIPTS)
    return b'"use strict";\n(() => {\n' + b"".join(parts) + b"})();\n"


def policy() -> str:
    """The page's Content-Security-Policy: a browser runs this script and uses this style, and nothing else."""
    return (
        f"default-src 'none'; script-src {hash_of(script())}; style-src {hash_of(style())}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def hash_of(text: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
