"""The site: `make docs` writes build/docs/index.html, which fetches nothing when it is viewed."""

import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "include/espalier/version.hpp").read_text(encoding="utf-8")

project = "Espalier"
author = "the maintainers of Espalier"
release = re.search(r'version = "([^"]+)"', VERSION)[1]

sys.path.insert(0, str(ROOT / "docs"))
extensions = ["cpp_reference", "python_reference", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
exclude_patterns = ["conf.py"]

html_theme = "furo"
html_title = f"Espalier {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autoclass_content = "both"


def plain_signature(app, what, name, obj, options, signature, returns):
    """A signature of the extension as its reader would write it."""
    for pattern, plain in [
        (r"self: [\w.]+(, )?", ""),
        (r"(typing\.)?SupportsInt \| (typing\.)?SupportsIndex", "int"),
        (r"(typing\.)?SupportsFloat \| (typing\.)?SupportsIndex", "float"),
        (r"collections\.abc\.|espalier\._core\.", ""),
    ]:
        signature = re.sub(pattern, plain, signature) if signature else signature
    return signature, returns


def write_math(writer, node):
    """A formula as MathML, which browsers draw by themselves."""
    tree = latex2mathml.tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block))
    # Room above and below: high exponents would make the formula's box scroll.
    writer.body.append(tree.replace('display="block"', 'display="block" style="padding: 0.6em 0"', 1))
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("autodoc-process-signature", plain_signature)
