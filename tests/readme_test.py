"""Runs the README's programs, in their order, in one folder: what a reader copies works.

`cpp` blocks with a main are built against the source tree and run, `python` blocks are run, and of `sh` blocks the
lines that call `espalier`. A block right after `<!-- not run: REASON -->` is only compiled (`sh`: passed over).
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(
    r"^(?P<not_run><!-- not run: [^\n]*-->\n\s*)?```(?P<language>cpp|python|sh)\n(?P<text>.*?)^```$", re.M | re.S
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
    """One parameter (language, text, whether to run it) a block, named after the line of the README it starts on."""
    text = README.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        if match["language"] == "cpp" and "int main" not in match["text"]:
            continue
        language, block, runs = match["language"], match["text"], not match["not_run"]
        found.append(pytest.param(language, block, runs, id=f"line{line}-{language}"))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"


def test_the_readme_shows_programs() -> None:
    languages = {parameter.values[0] for parameter in blocks()}
    assert {"cpp", "python", "sh"} <= languages


@pytest.mark.parametrize(("language", "text", "runs"), blocks())
def test_block(language: str, text: str, runs: bool, folder: Path) -> None:
    if language == "cpp":
        build = folder / "program"
        build.mkdir(exist_ok=True)
        (build / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT), encoding="utf-8")
        (build / "program.cpp").write_text(text, encoding="utf-8")
        run(["cmake", "-S", str(build), "-B", str(build / "out"), "-DCMAKE_BUILD_TYPE=Release"], folder)
        run(["cmake", "--build", str(build / "out")], folder)
        if runs:
            run([str(build / "out" / "program")], folder)
    elif language == "python":
        program = folder / "program.py"
        program.write_text(text, encoding="utf-8")
        run([sys.executable, *([] if runs else ["-m", "py_compile"]), str(program)], folder)
    elif runs:
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words and words[0] == "espalier":
                run(words, folder)
