"""Text of models, documents and servers in a table: nothing in it may act as markup, formula or control sequence."""

from __future__ import annotations

import re
import unicodedata

LINK = re.compile(r"://|www\.", re.IGNORECASE)  # what a reader of Markdown would make a link of


def plain(text: str) -> str:
    """One line without control, format and surrogate characters: no escape sequence, no reversed text."""
    spaced = " ".join(text.split())
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in spaced)


def markdown(text: str) -> str:
    """A cell of a Markdown table, or an item of a list."""
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    escaped = "".join(entities.get(c, f"\\{c}" if c in "\\`*_[]#|~$" else c) for c in plain(text))
    return LINK.sub(lambda start: f"&#{ord(start[0][0])};{start[0][1:]}", escaped)


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet reads as a formula. The csv module does the quoting."""
    line = plain(text)
    return f"'{line}" if line[:1] in ("=", "+", "-", "@") else line


def latex(text: str) -> str:
    """A cell of a LaTeX table."""
    commands = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
    }
    return "".join(commands.get(c, f"\\{c}" if c in "{}$&#_%" else c) for c in plain(text)).replace("--", "-{}-")
