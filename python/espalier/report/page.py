"""Writes the page of a run, or of two runs side by side.

It holds the run's records unchanged as JSON, each in a script element that does not run. The page's own script, the
only one that its security policy allows, reads them and builds every element from text. Trees are parsed when their
question is opened. Style and script lie beside this file, one idea each.
"""

import base64
import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path

from .. import _core
from ..errors import UNSEEN
from ..io.files import read_object, read_text, replacing, working
from ..io.text import json_escape
from .rows import QuestionRows, rows_of
from .summary import BADGES, escaped, flags_of, head, title_of

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


HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} \u00b7 Espalier</title>
<style>{style}</style>
</head>
<body>
{summary}<noscript><p class="foot">The trees below the summary need JavaScript. Nothing is loaded from elsewhere.</p></noscript>
<div id="explorer"></div>
"""  # noqa: E501
FOOT = (
    '<footer class="foot"><p>Written by Espalier. Self-contained: this page loads nothing and sends nothing.</p><p>It '
    "follows from the run's trees alone, except the names of model and retriever, the notes, and why questions are "
    "open. A comparison of two runs also shows their seconds.</p>"
)
ESCAPED = re.compile(rf"[<>&]|(?![\n\r\t]){UNSEEN.pattern}")


def json_in_html(text: bytes) -> bytes:
    r"""JSON for a script element. The characters < > & and those that nobody would see, which JSON has only inside
    strings, become `\u` escapes. The JSON keeps its meaning, and nothing in it can end the element."""
    return ESCAPED.sub(json_escape, text.decode(errors="replace")).encode()


def block(name: str, text: bytes) -> bytes:
    """An element that holds JSON for the page's script. It is empty if there is none."""
    return b'<script type="application/json" data-block="%s">%s</script>\n' % (name.encode(), json_in_html(text))


def question(rows: QuestionRows, prefix: str = "") -> bytes:
    """One question. With `prefix` = "other_" it is the same question of the compared run, empty if it is not there."""
    named = {"answer": rows.answer, "tree": rows.tree, "pairs": rows.pairs}
    return b"".join(block(prefix + name, text) for name, text in named.items())


def beginning(*runs: bytes) -> bytes:
    """The head of the first run and a title with the labels of all. Each run is the JSON of its summary."""
    summaries = [json.loads(run) for run in runs]
    labels = ", ".join(BADGES[flag][0] for flag in flags_of(*summaries))
    title = escaped(title_of(summaries[0])) + (labels and f": {labels}")
    page = HEAD.format(policy=policy(), title=title, style=style().decode(), summary=head(summaries[0]))
    return page.encode(errors="replace")


def end(size: int) -> bytes:
    """What comes after the questions. `size`: bytes of the page so far."""
    megabytes = (size + 500_000) // 1_000_000
    heavy = f"<p>It holds {megabytes} MB and may open slowly; a run over fewer questions makes a lighter page.</p>"
    foot = FOOT + (heavy if megabytes > 20 else "")
    return b"%s</footer>\n<script>%s</script>\n</body>\n</html>\n" % (foot.encode(), script())


def both(folder: Path, summary: bytes, other: Path, second: bytes, questions: int) -> bytes:
    """What the page of two runs says of them."""
    a, b = (json.dumps(run.name, ensure_ascii=False).encode() for run in (folder, other))
    return b'[{"name":%s,"summary":%s},{"name":%s,"questions":%d,"summary":%s}]' % (a, summary, b, questions, second)


def summary_of(folder: Path) -> bytes:
    """The text of a run's summary. Raises InputError."""
    read_object(folder / "summary.json")
    return read_text(folder / "summary.json").encode()


def write_report(
    folder: str | os.PathLike[str], target: str | os.PathLike[str], other: str | os.PathLike[str] | None = None
) -> None:
    """Writes the page of the run in `folder`. The run in `other`, if given, is shown beside it, question by question.

    The file appears whole or not at all. Raises InputError that names a file that cannot be read.
    """
    run = Path(folder)
    summaries = [summary_of(Path(one)) for one in (folder, other) if one is not None]
    with replacing(target, private=True) as page:
        page.write(beginning(*summaries))
        others: dict[str, QuestionRows] = {}  # the page holds all of them, so memory can
        if other is not None:
            for rows in rows_of(Path(other)):
                others.setdefault(rows.id, rows)
            page.write(block("runs", both(run, summaries[0], Path(other), summaries[1], len(others))))
        for rows in rows_of(run):
            page.write(question(rows))
            if other is not None:
                page.write(question(others.get(rows.id, QuestionRows()), "other_"))
        page.write(end(page.tell()))


def add_report(folder: str) -> None:
    """Writes the page of the run in a folder into it."""
    write_report(folder, Path(folder) / "report.html")


def renew_report(run: str | os.PathLike[str]) -> None:
    """Makes the page of a run anew, which is one of its outputs. Raises InputError."""
    summary_of(Path(run))
    with working(run, "espalier report") as new:
        write_report(run, new / "report.html")
        if (Path(run) / "run.json").exists():
            _core.note_outputs(os.fspath(run), os.fspath(new))
