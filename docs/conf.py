"""The site: `make docs` writes build/docs/index.html, which fetches nothing when it is viewed."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "include/espalier/version.hpp").read_text(encoding="utf-8")

project = "Espalier"
author = "the maintainers of Espalier"
release = re.search(r'version = "([^"]+)"', VERSION)[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
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


def setup(app):
    app.connect("autodoc-process-signature", plain_signature)
