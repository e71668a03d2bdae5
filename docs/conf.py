"""The site: `make docs` writes build/docs/index.html, which fetches nothing when it is viewed."""

import re
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "include/espalier/version.hpp").read_text(encoding="utf-8")

project = "Espalier"
author = "the maintainers of Espalier"
release = re.search(r'version = "([^"]+)"', VERSION)[1]

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
exclude_patterns = ["conf.py"]

html_theme = "furo"
html_title = f"Espalier {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def menu(app, docname, source):
    """The menu of the site has the pages of the table of kinds in index.md."""
    if docname == "index":
        for kind, links in re.findall(r"^\| ([\w+]+(?: \w+)*) \| (\[[^|]*) \|$", source[0], re.MULTILINE):
            pages = "\n".join(re.findall(r"\(([\w/]+)\.md\)", links))
            source[0] += f"\n```{{toctree}}\n:caption: {kind}\n:maxdepth: 1\n:hidden:\n\n{pages}\n```\n"


def write_math(writer, node):
    """A formula as MathML, which browsers draw by themselves."""
    tree = latex2mathml.tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block))
    # Room above and below: high exponents would make the formula's box scroll.
    writer.body.append(tree.replace('display="block"', 'display="block" style="padding: 0.6em 0"', 1))
    raise nodes.SkipNode


def setup(app):
    app.connect("source-read", menu)
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
