"""The site that `make docs` built: it fetches nothing, and its C++ reference shows what the headers say."""

import html
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build/docs"
PAGES = sorted(SITE.rglob("*.html"))
DETAIL = re.compile(r"^namespace [\w:]*detail \{\n.*?^\}  // namespace", re.M | re.S)
sys.path.insert(0, str(ROOT / "docs"))

import cpp_reference  # noqa: E402


def plain(page: str) -> str:
    """What a page says, each run of blanks as one."""
    markup = re.sub(r"</(?:dt|dd|p|pre)>", " ", (SITE / "reference" / page).read_text(encoding="utf-8"))
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def test_nothing_is_fetched() -> None:
    loads = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import (\S+)""")
    assert len(PAGES) > 40
    for file in [*PAGES, *SITE.rglob("*.css")]:
        for found in loads.findall(file.read_text(encoding="utf-8")):
            assert not any(re.match(r"['\"]?(https?:)?//", address) for address in found), f"{file.name}: {found}"


def test_a_folder_of_headers_has_a_page() -> None:
    folders = {path.name for path in (ROOT / "include/espalier").iterdir() if path.is_dir()}
    assert folders == {path.stem for path in (SITE / "reference/cpp").glob("*.html")}


@pytest.mark.parametrize("folder", ["core", "policy", "search", "method", "backend"])
def test_every_public_type_is_shown(folder: str) -> None:
    shown = plain(f"cpp/{folder}.html")
    for header in (ROOT / "include/espalier" / folder).glob("*.hpp"):
        outside = DETAIL.sub("", header.read_text(encoding="utf-8"))
        for name in re.findall(r"^(?:class|struct|concept) (\w+)\b(?! *;|<|::)", outside, re.M):
            assert re.search(rf"\b(class|struct|concept) {name}\b", shown), f"{header.name}: {name}"


def test_what_is_shown() -> None:
    policies = plain("cpp/policy.html")
    assert "UCT (Kocsis and Szepesvari 2006): mean + w sqrt(ln N_parent / N)." in policies
    assert "double w = 1.4142135623730951 exploration weight, >= 0" in policies
    assert "template <class Tree> auto at(const Tree& tree, NodeId parent) const" in policies
    assert "options_" not in policies, "private members stay private"
    concepts = plain("cpp/core.html")
    assert "Wherever a result type is named, a Task of it is accepted too." in concepts
    assert "concept LanguageModel = detail::BatchFunction<F, Prompt, Completion>;" in plain("cpp/llm.html")
    assert "outvoted the majority decided otherwise" in concepts
    assert "bool known = true false: no rollout could be read." in concepts


@pytest.mark.parametrize(
    ("doxygen", "ours"),
    [
        ("std::vector< std::pair< NodeId, Reason > >", "std::vector<std::pair<NodeId, Reason>>"),
        ("(const Node< Value > &node, int *p)", "(const Node<Value>& node, int* p)"),
        ("bool operator<(int a)", "bool operator<(int a)"),
    ],
)
def test_code_is_written_as_in_the_headers(doxygen: str, ours: str) -> None:
    assert cpp_reference.tidy(doxygen) == ours
