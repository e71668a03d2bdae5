"""The C++ reference, out of the headers' `///` comments: doxygen reads them, the directive `cpp-folder` writes a page.

    ```{cpp-folder} search
    ```

shows what the headers of include/espalier/search declare: concepts, classes with their public members, functions,
types, constants. Namespaces `detail` are left out. A class without a comment is a warning, unless it holds options
or is a specialisation.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

INCLUDE = Path(__file__).resolve().parent.parent / "include"
SETTINGS = """
INPUT = {include}/espalier
FILE_PATTERNS = *.hpp
RECURSIVE = YES
STRIP_FROM_PATH = {include}
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
EXCLUDE_SYMBOLS = detail *::detail
INCLUDE_PATH = {include}
PREDEFINED = ESPALIER_HAS_CURL ESPALIER_HAS_FAISS ESPALIER_HAS_SQLITE ESPALIER_HAS_ZLIB
AUTOLINK_SUPPORT = NO
HAVE_DOT = NO
INCLUDE_GRAPH = NO
INCLUDED_BY_GRAPH = NO
CLASS_GRAPH = NO
COLLABORATION_GRAPH = NO
QUIET = YES
"""
TYPES = ("class", "struct", "concept")
PUBLIC = re.compile(r"public-|func$|enum$|typedef$|var$|user-defined$")


def doxygen(app) -> None:
    out = Path(app.outdir).parent / "doxygen"
    out.mkdir(parents=True, exist_ok=True)
    settings = SETTINGS.format(include=INCLUDE, out=out)
    try:
        done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ExtensionError("the C++ reference needs doxygen: tools/setup.sh doxygen") from None
    # What doxygen 1.9 says of a specialisation in a namespace of others is about doxygen.
    warnings = [line for line in done.stderr.splitlines() if not re.search("scope for class (std|fmt)::", line)]
    if done.returncode or warnings:
        raise ExtensionError("doxygen:\n" + "\n".join(warnings))
    app.espalier_headers = headers(out / "xml")


def headers(xml: Path) -> dict[str, list[ElementTree.Element]]:
    """What stands in each header at the level of a namespace, in the order of the header."""
    found: dict[str, list[ElementTree.Element]] = defaultdict(list)
    compounds = {}
    for entry in ElementTree.parse(xml / "index.xml").getroot():
        if entry.get("kind") in (*TYPES, "namespace"):
            [compounds[entry.get("refid")]] = ElementTree.parse(xml / f"{entry.get('refid')}.xml").getroot()
    types = [one for one in compounds.values() if one.get("kind") in TYPES]
    inner = {ref.get("refid") for one in types for ref in one.iter("innerclass")}
    for ident, compound in compounds.items():
        nested = [compounds[ref.get("refid")] for ref in compound.findall("innerclass") if ref.get("prot") == "public"]
        if compound.get("kind") == "namespace":
            for member in members(compound):
                found[place(member)[0]].append(member)
        else:
            compound.extend(nested)
            if ident not in inner:
                found[place(compound)[0]].append(compound)
    return {header: sorted(parts, key=place) for header, parts in found.items()}


def members(compound: ElementTree.Element) -> list[ElementTree.Element]:
    sections = [section for section in compound.findall("sectiondef") if PUBLIC.match(section.get("kind"))]
    return [member for section in sections for member in section.findall("memberdef")]


def place(part: ElementTree.Element) -> tuple[str, int]:
    location = part.find("location")
    return location.get("file"), int(location.get("line"))


def text(part: ElementTree.Element | None) -> str:
    return "" if part is None else " ".join("".join(part.itertext()).split())


def tidy(code: str) -> str:
    """C++ as the headers write it."""
    code = re.sub(r"< (?=\S)", "<", code)
    code = re.sub(r"(?<=[\w>&*)\]]) >", ">", code)
    code = re.sub(r"(?<=[\w>]) (?=[&*])", "", code)
    return re.sub(r"([&*])(?=\w)", r"\1 ", code)


def template(part: ElementTree.Element) -> str:
    of = part.find("templateparamlist")
    if of is None:
        return ""
    parameters = []
    for one in of:
        said = [text(one.find(name)) for name in ("type", "declname", "defval")]
        parameters.append(" ".join(filter(None, said[:2])) + (f" = {said[2]}" if said[2] else ""))
    requires = text(part.find("requiresclause"))
    return f"template <{', '.join(parameters)}>" + (f" requires {requires}" if requires else "") + "\n"


def signature(part: ElementTree.Element) -> str:
    kind = part.get("kind")
    if kind == "concept":
        return concept(part)
    if kind in TYPES:
        bases = [text(base).removeprefix("espalier::") for base in part.findall("basecompoundref[@prot='public']")]
        return tidy(f"{template(part)}{kind} {name_of(part)}" + (" : " + ", ".join(bases) if bases else ""))
    name = text(part.find("name"))
    if kind == "enum":
        return "enum" if name.startswith("@") else f"enum class {name}"
    if kind == "typedef":
        return tidy(f"{template(part)}using {name} = {text(part.find('type'))}")
    arguments = re.sub(r"\s*=\s*(default|delete|0)$", "", text(part.find("argsstring")))
    before = [word for word in ("static", "explicit", "constexpr") if part.get(word) == "yes"]
    type_ = re.sub(r"^(static|inline|constexpr)\s+", "", text(part.find("type")))
    value = text(part.find("initializer")) if kind == "variable" else ""
    value = f" {value}" if value.startswith("=") else value
    value = value if len(value) < 60 else " = ..."
    return tidy(template(part) + " ".join(filter(None, [*before, type_, name + arguments])) + value)


def concept(part: ElementTree.Element) -> str:
    """As it stands in its header: doxygen gives requirements on one line, without what they default to."""
    header = (INCLUDE / place(part)[0]).read_text(encoding="utf-8")
    return re.search(rf"^template <[^\n]*>\nconcept {name_of(part)} =.*?;$(?=\n(?! |}};))", header, re.M | re.S)[0]


def name_of(compound: ElementTree.Element) -> str:
    """The last part of a type's name; commas in template arguments do not divide."""
    return re.sub(r"^(\w+::)*", "", text(compound.find("compoundname")))


def comment(part: ElementTree.Element) -> list[nodes.Node]:
    brief, detailed = part.find("briefdescription"), part.find("detaileddescription")
    return [node for one in (brief, detailed) if one is not None for node in blocks(one)]


def blocks(part: ElementTree.Element) -> list[nodes.Node]:
    """The paragraphs and lists of a comment."""
    found: list[nodes.Node] = []
    current = nodes.paragraph()

    def words(said: str | None) -> None:
        if said and (said.strip() or current.children):
            current.append(nodes.Text(re.sub(r"\s+", " ", said)))

    def close() -> None:
        nonlocal current
        if current.astext().strip():
            found.append(current)
        current = nodes.paragraph()

    words(part.text)
    for child in part:
        if child.tag == "para":
            close()
            found.extend(blocks(child))
        elif child.tag == "blockquote":  # a bound, such as "> 0"
            words("> " + text(child))
        elif child.tag in ("itemizedlist", "orderedlist"):
            close()
            items = [nodes.list_item("", *blocks(item)) for item in child]
            found.append((nodes.bullet_list if child.tag == "itemizedlist" else nodes.enumerated_list)("", *items))
        elif child.tag == "computeroutput":
            current.append(nodes.literal("", "".join(child.itertext())))
        elif child.tag == "emphasis":
            current.append(nodes.emphasis("", "".join(child.itertext())))
        else:
            words("".join(child.itertext()))
        words(child.tail)
    close()
    return found


def paragraph(said: str) -> nodes.paragraph:
    """Words, with what stands between backticks as code."""
    parts = [nodes.literal("", part) if i % 2 else nodes.Text(part) for i, part in enumerate(said.split("`"))]
    return nodes.paragraph("", "", *parts)


def code(written: str) -> nodes.literal_block:
    return nodes.literal_block(written, written, language="cpp")


class CppFolder(SphinxDirective):
    """The reference of a folder of include/espalier and of the folders below it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        shown = []
        self.env.note_dependency(__file__)
        for header, parts in sorted(self.env.app.espalier_headers.items()):
            if not header.startswith(f"espalier/{self.arguments[0]}/"):
                continue
            self.env.note_dependency(str(INCLUDE / header))
            section = nodes.section(ids=[nodes.make_id(header)], names=[header])
            section.append(nodes.title("", header.removeprefix("espalier/")))
            section.extend(self.about(INCLUDE / header))
            for part in parts:
                section.extend(self.described(part))
            shown.append(section)
        return shown

    @staticmethod
    def about(header: Path) -> list[nodes.Node]:
        """What a comment right before the namespace says about the whole header."""
        said = re.search(r"((?:^///.*\n)+)namespace", header.read_text(encoding="utf-8"), re.M)
        texts = re.sub(r"^/// ?", "", said[1], flags=re.M).split("\n\n") if said else []
        return [paragraph(" ".join(one.split())) for one in texts]

    def described(self, part: ElementTree.Element) -> list[nodes.Node]:
        if part.get("kind") not in TYPES:
            return [self.listed([part])]
        name = text(part.find("compoundname"))
        ident = nodes.make_id(f"cpp-{name}")
        said = comment(part)
        if not said and part.get("kind") != "concept" and not name.endswith(("Options", ">")):
            logging.getLogger(__name__).warning("%s:%d: %s has no comment", *place(part), name)
        entry = f"{name_of(part)} (C++ {part.get('kind')})"
        block = nodes.container("", code(signature(part)), *said, ids=[ident], classes=["cpp-type"])
        block.append(self.listed([*part.findall("compounddef"), *members(part)]))
        return [addnodes.index(entries=[("single", entry, ident, "", None)]), block]

    def listed(self, parts: list[ElementTree.Element]) -> nodes.definition_list:
        """Members, or what stands alone in a namespace: the signature and what is said about it."""
        rows = nodes.definition_list(classes=["cpp-members"])
        for part in sorted(parts, key=place):
            if part.get("kind") == "friend":
                continue
            lines = signature(part).split("\n")
            look = {"classes": ["code", "highlight"], "language": "cpp"}
            terms = [nodes.term("", "", nodes.literal(line, line, **look)) for line in lines]
            below = comment(part)
            if part.get("kind") in TYPES:
                below.append(self.listed([*part.findall("compounddef"), *members(part)]))
            for value in part.findall("enumvalue"):
                name = text(value.find("name"))
                first, *rest = comment(value) or [nodes.paragraph()]
                first.insert(0, nodes.literal("", name))
                first.insert(1, nodes.Text("  "))
                below += [first, *rest]
            rows.append(nodes.definition_list_item("", *terms, nodes.definition("", *below)))
        return rows


def setup(app) -> dict[str, bool]:
    app.connect("builder-inited", doxygen)
    app.add_directive("cpp-folder", CppFolder)
    return {"parallel_read_safe": True}
