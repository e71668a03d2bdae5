"""The Python reference: a block of names on a page becomes an entry for each name, from its docstring.

    ```{py-names} espalier
    run arun
    ```

Words behind the module are special members to show: ```{py-names} espalier.parts __call__```.
"""

import importlib
import inspect
import re
from pathlib import Path

BLOCK = re.compile(r"^```\{py-names\} ([\w.]+)((?: \w+)*)\n(.*?)^```$", re.M | re.S)
PAGES = Path(__file__).parent / "reference/python"


def names(page: str) -> list[tuple[str, str]]:
    """The names that a page's source lists, each with its module."""
    return [(module, name) for module, _, listed in BLOCK.findall(page) for name in listed.split()]


def entry(module: str, name: str, special: str) -> str:
    found = getattr(importlib.import_module(module), name)
    if inspect.isclass(found):
        kind = "exception" if issubclass(found, BaseException) else "class"
        options = [":members:", ":undoc-members:", *([f":special-members: {special}"] if special else [])]
    else:
        kind, options = "function" if callable(found) else "data", []
    return "\n".join([f".. auto{kind}:: {module}.{name}", *(f"   {option}" for option in options), "\n"])


def expand(app, docname, source) -> None:
    def entries(block: re.Match) -> str:
        module, special, listed = block.groups()
        text = "".join(entry(module, name, ", ".join(special.split())) for name in listed.split())
        return f"```{{eval-rst}}\n{text}```"

    source[0] = BLOCK.sub(entries, source[0])


def setup(app) -> dict[str, bool]:
    app.connect("source-read", expand)
    return {"parallel_read_safe": True}
