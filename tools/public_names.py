"""Writes docs/reference/public_names.md: every name that a C++ user can say, by folder, so that a review sees each.

A name is public if it is declared in a namespace of include/espalier that is not called `detail`. Members of classes do
not count. It reads the text, with what .clang-format fixes: what a namespace declares begins in the first column.

    python3 tools/public_names.py          writes the page
    python3 tools/public_names.py --check  says what differs from it, and exits 1
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/public_names.md"
INTRODUCTION = """# Public names

These are all names that a C++ user can say, by folder of `include/espalier/`. `tools/public_names.py` writes this page,
and a test compares it with the headers. Names in a namespace `detail` are private and may change at any time.

"""

NO_DECLARATION = ("requires", "namespace", "template", "friend", "typedef", "extern", "static_assert", "operator")
DECLARATIONS = [
    re.compile(r"(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*)?(\w+)\s*(?:final\s*)?(?:[:{]|$)"),
    re.compile(r"enum\s+(?:class\s+)?(\w+)"),
    re.compile(r"concept\s+(\w+)"),
    re.compile(r"using\s+(\w+)\s*="),
    re.compile(r"(?:inline\s+|constexpr\s+|const\s+|static\s+)+[\w:<>,\s*&]*?\b(\w+)(?:\[\w*\])?\s*[={]"),
    re.compile(r"[\w:<>,\s*&\[\]]*?(?<![\w:])(operator\W+|[A-Za-z_]\w*)\s*\("),
]


def declared(line: str) -> str | None:
    """The name that a line in the first column declares."""
    for pattern in DECLARATIONS:
        if match := pattern.match(line):
            return match[1]
    return None


def names_of(text: str) -> set[str]:
    """The public names of a header. Templates, attributes and requires clauses stand before what they belong to."""
    found: set[str] = set()
    inside: list[str] = []
    for line in re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.DOTALL).splitlines():
        if match := re.match(r"(?:inline )?namespace ([\w:]*) ?\{", line):
            inside.append(match[1])
        elif re.match(r"\}\s*//\s*namespace", line):
            inside.pop()
        elif inside and "detail" not in "::".join(inside).split("::") and re.match(r"[A-Za-z\[]", line):
            line = re.sub(r"^template <.*?>(?=\s|$)(?![^<]*>)", "", line)
            line = re.sub(r"\[\[[^\]]*\]\]\s*", "", line).strip()
            name = None if line.startswith(NO_DECLARATION) else declared(line)
            if name and not name.startswith("operator"):
                found.add(name)
    return found


def public_names() -> dict[str, set[str]]:
    """The names of each folder that has some."""
    folders: dict[str, set[str]] = defaultdict(set)
    base = ROOT / "include/espalier"
    for header in sorted(base.rglob("*.hpp")):
        folder = header.parent.relative_to(base).as_posix()
        folders["espalier" if folder == "." else folder] |= names_of(header.read_text(encoding="utf-8"))
    return {folder: names for folder, names in folders.items() if names}


def page() -> str:
    filled = public_names()
    lines = [
        f"| {folder} | {len(names)} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for folder, names in filled.items()
    ]
    total = sum(map(len, filled.values()))
    return INTRODUCTION + f"There are {total}.\n\n| folder | names | |\n|---|---|---|\n" + "\n".join(lines) + "\n"


def main() -> int:
    made = page()
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    words = [set(re.findall(r"`(\w+)`", text)) for text in (PAGE.read_text(encoding="utf-8"), made)]
    for name in sorted(words[1] - words[0]):
        print(f"{name}: a new public name. Put it into a namespace detail, or run tools/public_names.py")
    for name in sorted(words[0] - words[1]):
        print(f"{name}: gone. Run tools/public_names.py")
    return int(PAGE.read_text(encoding="utf-8") != made)


if __name__ == "__main__":
    sys.exit(main())
