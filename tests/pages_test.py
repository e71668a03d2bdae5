"""Runs the programs of the README and of the pages in docs/, each page's in their order in one folder: what a reader
copies works.

`cpp` blocks with a main are built against the source tree and run, behind the blocks that began their program by
`#include`. `python` blocks are run one after the other in one namespace, and of `sh` blocks the lines that call
`espalier`. A `text` block right after a `cpp` or `python` block is what it prints. A block right after
`<!-- not run: REASON -->` is only compiled (`sh`: passed over).
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?P<not_run><!-- not run: [^\n]*-->\n\s*)?```(?P<language>cpp|python|sh)\n(?P<text>.*?)^```$"
    r"(\n\n```text\n(?P<shown>.*?)^```$)?",
    re.M | re.S,
)
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(readme LANGUAGES CXX)
add_subdirectory({root} espalier)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE espalier::espalier)
foreach(component IN ITEMS json http sqlite dense faiss fmt)
  if(TARGET espalier::${{component}})
    target_link_libraries(program PRIVATE espalier::${{component}})
  endif()
endforeach()
"""


def blocks() -> list:
    """One parameter (page, language, text, whether to run it) a block, named after the line it starts on."""
    found = []
    for page in PAGES:
        text, begun = page.read_text(encoding="utf-8"), ""
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start("language")) + 1
            language, block, runs = match["language"], match["text"], not match["not_run"]
            if language == "cpp":
                begun += block if begun or block.startswith("#include") else ""
                if "int main" not in block:
                    continue
                block, begun = begun or block, ""
            shown = match["shown"] if language != "sh" else None
            found.append(pytest.param(page, language, block, runs, shown, id=f"{page.stem}-line{line}-{language}"))
    return found


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|<(\w+://[^>\s]+)>")
ADDRESS = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[\w./~#%+-]*)?")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    """Nothing is fetched. A link to another site is whole and https, another names a file; the site checks anchors."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in (inside or bare for inside, bare in LINK.findall(text)):
        if "://" in link:
            assert ADDRESS.fullmatch(link), link
        else:
            assert (page.parent / link.partition("#")[0]).exists(), link


FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.M | re.S)
INDENTED = re.compile(r"(?:^ {4}[^\n]*\n)+", re.M)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_no_command_is_cut_off(page: Path) -> None:
    """The last line of a block, fenced or indented, does not go on behind a backslash."""
    text = page.read_text(encoding="utf-8")
    shown = FENCED.findall(text) + INDENTED.findall(FENCED.sub("", text))
    assert not [block for block in shown if block.rstrip().endswith("\\")]


class Reader:
    """Where the programs of a page run, and what its Python blocks have defined so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__main__"}


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Reader]:
    return {page: Reader(tmp_path_factory.mktemp(page.stem)) for page in PAGES}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs find the command `espalier` of this environment, and servers on this machine."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_readme_shows_programs() -> None:
    shown = {parameter.values[1] for parameter in blocks() if parameter.values[0].stem == "README"}
    assert shown == {"cpp", "python", "sh"}


@pytest.mark.parametrize(("page", "language", "text", "runs", "shown"), blocks())
def test_block(page, language, text, runs, shown, readers, monkeypatch, capsys):
    reader = readers[page]
    if language == "cpp":
        build = reader.folder / "program"
        build.mkdir(exist_ok=True)
        (build / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT), encoding="utf-8")
        (build / "program.cpp").write_text(text, encoding="utf-8")
        flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0"]
        run(["cmake", "-S", str(build), "-B", str(build / "out"), *flags], reader.folder)
        run(["cmake", "--build", str(build / "out")], reader.folder)
        if runs:
            printed = run([str(build / "out" / "program")], reader.folder)
            assert shown is None or printed == shown
    elif language == "python":
        program = compile(text, page.name, "exec")
        monkeypatch.chdir(reader.folder)
        if runs:
            exec(program, reader.names)
            printed = capsys.readouterr().out
            assert "<built-in" not in printed if shown is None else printed == shown
    elif runs:
        for line in text.replace("\\\n", " ").splitlines():
            if line.removeprefix("$ ").startswith("espalier "):
                run(["sh", "-c", line.removeprefix("$ ")], reader.folder)
