"""Writes the C++ reference: in docs/reference/cpp/*.md what follows `<!-- headers: FOLDER -->`, out of the headers.
Namespaces `detail` and private members are left out. Comments are `///`, and `///<` behind a member.

It reads the text of the headers, with what .clang-format fixes: what a namespace declares begins in the first column,
a member two columns further than its class.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include/espalier"
PAGES = ROOT / "docs/reference/cpp"
MARK = re.compile(r"^<!-- headers: (\S+) -->\n", re.M)
NO_CODE = re.compile(r'"(?:\\.|[^"\\])*"|' + r"(?<!\w)'(?:\\.|[^'\\])'|//.*")


class Part(NamedTuple):
    """A declaration as it stands in a header, without the indentation."""

    comment: str
    code: str
    note: str
    """What `///<` says behind it."""


def code_of(line: str) -> str:
    """A line without its texts and comments."""
    return NO_CODE.sub("", line).rstrip()


def parts(lines: list[str], indent: int) -> Iterator[Part]:
    """The public declarations of a class's body, or of namespaces, that begin at a column."""
    spaces = " " * indent
    places: list[str] = [] if indent == 0 else ["class"]
    shown, comment, at = True, [], 0
    while at < len(lines):
        line = lines[at].removeprefix(spaces)
        at += 1
        if opened := re.match(r"(?:inline )?namespace ([\w:]+) \{", line):
            places += [opened[1]]
        elif line.startswith("}  // namespace"):
            places.pop()
        elif label := re.match(r" *(public|private|protected):", line):
            shown = label[1] == "public"
        elif line.startswith("///"):
            comment.append(line[3:].removeprefix(" "))
            continue
        elif re.match(r"[\w~\[]", line) and places:
            begin, depth = at - 1, 0
            while True:
                code = code_of(lines[at - 1])
                depth += len(re.findall(r"[({]", code)) - len(re.findall(r"[)}]", code))
                if depth == 0 and (
                    code.endswith(";") or (code.endswith("}") and not code.strip().startswith("requires "))
                ):
                    break
                at += 1
            while at < len(lines) and lines[at].strip().startswith("///<"):
                at += 1
            whole = [one.removeprefix(spaces) for one in lines[begin:at]]
            note = " ".join(found[1].strip() for one in whole if (found := re.search(r"///<(.*)", one)))
            if shown and "detail" not in "::".join(places).split("::"):
                yield Part("\n".join(comment), "\n".join(whole), note)
        comment = []


def split_template(code: str) -> tuple[str, str]:
    """The template's head and what follows it."""
    if not code.startswith("template <"):
        return "", code
    depth = 0
    for at, character in enumerate(code):
        depth += (character == "<") - (character == ">")
        if character == ">" and depth == 0:
            return code[: at + 1], code[at + 1 :].strip()
    raise ValueError(code)


def without_body(code: str) -> str:
    """A declaration up to the brace of its body, or to its end. The braces of what it requires are not that one."""
    depth = 0
    for at, character in enumerate(code):
        depth += (character in "([<{") - (character in ")]}" or (character == ">" and code[at - 1] != "-"))
        if character == "{" and depth == 1 and not re.search(r"\brequires requires *(\([^()]*\))? *$", code[:at]):
            return code[:at]
    return code.rstrip(";")


def signature(code: str) -> str:
    """A function without body, initialisers, and words that callers need not know."""
    head, rest = split_template(code)
    needs = re.match(r"requires [^\n]*\n\s*", rest)
    rest = rest.removeprefix(needs[0] if needs else "")
    rest = re.sub(r"\[\[[^\]]*\]\]\s*|\binline ", "", without_body(rest))
    depth, end = 0, len(rest)
    for at, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth == 0 and re.match(r"\s:\s", rest[at:]):
            end = at
            break
    rest = re.sub(r" (override|= default|noexcept)\b", "", " ".join(rest[:end].split()))
    written = "" if head == "template <class = void>" else " ".join(head.split())  # it is for the compiler's time alone
    return "\n".join(filter(None, [written, needs and needs[0].strip(), rest + ";"]))


def kind_of(code: str) -> str:
    _, rest = split_template(code)
    rest = re.sub(r"^requires [^\n]*\n\s*", "", rest)
    word = re.match(r"(class|struct|enum|concept|using|friend|static_assert)\b", rest)
    if word:
        return "type" if word[1] in ("class", "struct") else word[1]
    plain = rest
    while (less := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = less
    return "function" if re.match(r"[^={;]*\(", plain) or "operator" in plain else "field"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def prose(text: str) -> str:
    """A comment as markdown: what stands between backticks is code, and nothing else has a meaning."""
    words = text.split("`")
    return "`".join(
        word if i % 2 else re.sub(r"<(?=[\w/!])|\*(?=\w)", r"\\\g<0>", word) for i, word in enumerate(words)
    )


def table(head: str, rows: list[list[str]]) -> str:
    lines = [
        f"| {head} |",
        "|" + "---|" * (head.count("|") + 1),
        *(f"| {' | '.join(map(cell, row))} |" for row in rows),
    ]
    return "\n".join(re.sub(r" +\|$", " |", line) for line in lines)


def split_names(code: str) -> list[str]:
    """The parts of a declaration of several names: the type with the first one, then each other one."""
    depth, begin, found = 0, 0, []
    for at, character in enumerate(code):
        depth += (character in "([<{") - (character in ")]>}")
        if character == "," and depth == 0:
            found.append(code[begin:at])
            begin = at + 2
    return [*found, code[begin:]]


def field_rows(part: Part, meanings: dict[str, str]) -> Iterator[list[str]]:
    """Name, type, default and meaning of each data member that a declaration names. `meanings`: of options."""
    first, *others = split_names(" ".join(re.sub(r"///<.*", "", part.code).split()).rstrip(";"))
    form = r"(\w+)((?:\[\w*\])*)(?: : \d+)?(?: = (.*)|\{(.*)\})?$"
    typed = re.match(rf"(.+?) (?={form})", first)
    assert typed, part.code
    for one in (first.removeprefix(typed[0]), *others):
        found = re.match(form, one)
        assert found, part.code
        default = found[3] if found[3] is not None else found[4] or ""
        meaning, note = meanings.get(found[1], ""), said(part)
        yield [
            f"`{found[1]}`",
            f"`{typed[1]}{found[2]}`",
            f"`{default}`" if default not in ("", "{}") else "",
            prose(f"{meaning} ({note})" if meaning and note else meaning or note),
        ]


OPTION = re.compile(
    r'\.add\("\w+", (?P<field>\w+),\s*(?P<text>(?:"[^"]*"\s*)+)'
    r"(?:,\s*(?:\{[^}]*\}|(?P<range>[\w:]+(?:\([\w ,.]*\)(?:\.\w+\([\w.]*\))*)?)))?\)"
)


def range_text(code: str) -> str:
    """What Range::text() says (method/option_check.hpp)."""
    steps = dict(re.findall(r"(\w+)\(([^)]*)\)", code))
    if "any" in steps:
        return "a number"
    if between := steps.get("between"):
        text = between.replace(", ", " to ")
    elif low := steps.get("at_least"):
        text = f"{low} to {steps['up_to']}" if "up_to" in steps else f"{low} or more"
    else:
        text = f"above {steps['above']}" + (f", up to {steps['up_to']}" if "up_to" in steps else "")
    return "0, or " + text if "or_zero" in steps else text


def option_meanings(body: str) -> dict[str, str]:
    """Field -> text and range, of options that `describe` puts into a table: .add(name, field, text, range)."""
    ranges = dict(re.findall(r"(\w+) = (Range::[^;]*?)(?:;|, (?=\w+ =))", body))
    found = {}
    for option in OPTION.finditer(body):
        text = "".join(re.findall(r'"([^"]*)"', option["text"]))
        allowed = ranges.get(option["range"], option["range"]) or ""
        found[option["field"]] = f"{text}, {range_text(allowed)}" if allowed.startswith("Range::") else text
    return found


def said(part: Part) -> str:
    return " ".join(filter(None, [" ".join(part.comment.split()), part.note]))


def enum_table(name: str, code: str) -> str:
    body = code[code.index("{") + 1 : code.rindex("}")]
    rows = re.findall(
        r"(\w+)(?: = \w+)?,?[ ]*(?:///< ?([^\n]*(?:\n\s*///< ?[^\n]*)*))?(?:\n|$|(?=\s*\w))", body.strip()
    )
    values = [[f"`{value}`", prose(" ".join(re.sub(r"///<", "", note).split()))] for value, note in rows]
    if not any(note for _, note in values):
        return f"`{name}`: {', '.join(value for value, _ in values)}."
    return table(f"`{name}` | meaning", values)


def synopsis(found: list[Part], title: str = "") -> str:
    """Functions, aliases and concepts as code, each under its comment."""
    lines = [title] if title else []
    for part in found:
        lines += [f"/// {line}".rstrip() for line in part.comment.split("\n") if part.comment]
        kind = kind_of(part.code)
        code = signature(part.code) if kind == "function" else re.sub(r"\s*///<.*", "", part.code)
        code = re.sub(r"(?<!\w)inline ", "", code)
        lines.append(code + (f"  // {part.note}" if part.note else ""))
    return "```c++\n" + "\n".join(lines) + "\n```"


def name_of(code: str) -> str:
    _, rest = split_template(code)
    rest = re.sub(r"^requires [^\n]*\n\s*|\[\[\w+\]\] ", "", rest)
    return re.match(r"(?:class|struct|enum class|enum|concept) ([\w:]+)", rest)[1]


def described(part: Part, outer: str = "") -> list[str]:
    """The blocks that describe a type."""
    own = name_of(part.code)
    name = f"{outer}::{own}" if outer else own
    head, rest = split_template(part.code)
    title = " ".join((head + " " + re.sub(r"\[\[\w+\]\] ", "", without_body(rest))).split())
    blocks = [f"### {name}" if not outer else f"**`{name}`**"]
    if part.comment:
        blocks.append(prose(part.comment))
    title = f"{title};" if head or " : " in title else ""
    body = part.code[part.code.index("{") + 1 : part.code.rindex("}")].split("\n")
    is_struct = not re.match(r"class", re.sub(r"^requires [^\n]*\n\s*", "", rest))
    inside = list(parts(body if is_struct else [" private:", *body], 2))
    meanings = option_meanings(part.code)
    fields, functions = [], []
    for member in inside:
        kind = kind_of(member.code)
        if kind == "field" and not member.code.startswith(("static", "template")):
            fields += field_rows(member, meanings)
        elif kind == "enum":
            named = f"{name}::{name_of(member.code)}"
            blocks += ([prose(member.comment)] if member.comment else []) + [enum_table(named, member.code)]
        elif kind == "type":
            blocks += described(member, name) if "{" in member.code else []
        elif not re.search(r"= delete|^~|\boperator=\(|^friend|^static_assert", member.code):
            functions.append(member)
    if fields:
        blocks.append(table("field | type | default | meaning", fields))
    if functions or title:
        blocks.append(synopsis(functions, title))
    return blocks


def header(file: Path) -> list[str]:
    """The blocks that describe a header."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', file.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    about = re.search(r"((?:^///.*\n)+)namespace", text, re.M)
    blocks: list[str] = []
    free: list[Part] = []
    for part in parts(text.split("\n"), 0):
        kind = kind_of(part.code)
        if kind in ("type", "enum") and "{" not in part.code:
            continue
        if kind in ("type", "enum") and free:
            blocks, free = [*blocks, synopsis(free)], []
        if kind == "enum":
            name = name_of(part.code)
            blocks += [f"### {name}", *([prose(part.comment)] if part.comment else []), enum_table(name, part.code)]
        elif kind == "type":
            blocks += described(part)
        elif kind in ("function", "concept", "using", "field"):
            free.append(part)
    blocks += [synopsis(free)] if free else []
    if about:
        blocks.insert(0, prose(re.sub(r"^/// ?", "", about[1], flags=re.M).rstrip()))
    name = file.relative_to(INCLUDE).as_posix()
    return [f"## {name}", *blocks] if len(blocks) > bool(about) else []


def page(text: str) -> str:
    """A page whose end is written anew."""
    mark = MARK.search(text)
    assert mark
    found = [header(file) for file in sorted((INCLUDE / mark[1]).rglob("*.hpp")) if "detail" not in file.parts]
    return text[: mark.end()] + "\n" + "\n\n".join(block for blocks in found for block in blocks) + "\n"


if __name__ == "__main__":
    for file in sorted(PAGES.glob("*.md")):
        if MARK.search(text := file.read_text(encoding="utf-8")):
            file.write_text(page(text), encoding="utf-8")
