"""Text of models, documents and servers in a table: nothing in it may act as markup, formula or control sequence."""

import re

from ..errors import one_line

LINK = re.compile(r"://|www\.", re.IGNORECASE)  # what a reader of Markdown would make a link of


def json_escape(found: re.Match[str]) -> str:
    r"""A character as JSON writes it where it must not stand: `\u` and four digits, twice beyond U+FFFF."""
    digits = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{digits[i : i + 4]}" for i in range(0, len(digits), 4))


def markdown(text: str) -> str:
    """A cell of a Markdown table, or an item of a list."""
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    escaped = "".join(entities.get(c, f"\\{c}" if c in "\\`*_[]#|~$" else c) for c in one_line(text))
    return LINK.sub(lambda start: f"&#{ord(start[0][0])};{start[0][1:]}", escaped)


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet reads as a formula. The csv module does the quoting."""
    line = one_line(text)
    return f"'{line}" if line[:1] in {*"=+-@\uff1d\uff0b\uff0d\uff20"} else line


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
    return "".join(commands.get(c, f"\\{c}" if c in "{}$&#_%" else c) for c in one_line(text)).replace("--", "-{}-")
