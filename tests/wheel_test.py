"""What `make wheel` left in dist/: the sdist holds the sources and no more; the wheel carries what it needs and works
in an environment of its own, outside the checkout. And what cibuildwheel makes of our configuration."""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parent.parent
[SDIST] = (ROOT / "dist").glob("espalier_rag-*.tar.gz")
OURS = f"cp{sys.version_info.major}{sys.version_info.minor}"
[WHEEL] = (ROOT / "dist").glob(f"espalier_rag-*-{OURS}-*.whl")

# What manylinux allows every wheel to find on the machine.
ALLOWED = re.compile(
    r"(lib(c|m|dl|rt|pthread|resolv|util|nsl|stdc\+\+|gcc_s|z|python3[\w.]*)|ld-linux[\w-]*|linux-vdso)\.so"
)

FIRST_TREE = """
import espalier as esp
world = esp.World(passages=300, questions=4, seed=1)
model, retriever = esp.Simulated(world.questions), esp.Bm25(world.passages)
[tree, *_] = esp.run(esp.DecExRag(), world.questions, model=model, retriever=retriever)
assert len(tree) > 3 and esp.best_answer(tree)
print(len(tree), "nodes")
"""

ASK_NOBODY = """
import os, espalier as esp
os.environ["no_proxy"] = "127.0.0.1"
try:
    esp.OpenAi("http://127.0.0.1:9/v1", "m", server="openai", attempts=1)([esp.Prompt("Who?")])
except esp.errors.BackendError as error:
    print(error)
"""

LIGHT = """
import sys
before = set(sys.modules)
import espalier
print(*{name.partition(".")[0] for name in set(sys.modules) - before})
"""


class Environment:
    """A virtual environment with the wheel and what it depends on, used from an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "away"
        self.folder.mkdir()
        self.programs = folder / "venv" / "bin"
        self.variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "LD_"))}
        venv.create(folder / "venv", with_pip=True)
        self.since = time.monotonic()
        self("python", "-m", "pip", "install", "-q", "--disable-pip-version-check", WHEEL)

    def __call__(self, program: str, *arguments: object) -> str:
        command = [str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def inside() -> set[str]:
    with zipfile.ZipFile(WHEEL) as archive:
        return set(archive.namelist())


def test_a_first_tree_soon_after_the_install(installed: Environment):
    print(installed("python", "-c", FIRST_TREE).strip(), end=", ")
    print(f"{time.monotonic() - installed.since:.1f} s after `pip install` began; {WHEEL.stat().st_size / 1e6:.1f} MB")


def test_the_command_grows_trees_on_a_generated_world(installed: Environment):
    header = (ROOT / "include/espalier/version.hpp").read_text(encoding="utf-8")
    version = re.search(r'version = "([0-9.]+)"', header)[1]
    said = installed("espalier", "--version")
    assert f"espalier {version}" in said and f"espalier-rag {version}" in said
    installed("espalier", "world", "--out", "world", "--passages", 300, "--questions", 4, "--seed", 1)
    inputs = ("--questions", "world/questions.jsonl", "--corpus", "world/corpus.jsonl")
    installed("espalier", "expand", "--method", "decex", *inputs, "--model", "simulated", "--out", "run")
    written = {path.name for path in (installed.folder / "run").iterdir()}
    assert {"trees.jsonl", "answers.jsonl", "report.html", "run.json"} <= written


def test_importing_brings_nothing_of_others(installed: Environment):
    brought = set(installed("python", "-c", LIGHT).split())
    assert "espalier" in brought and brought - {"espalier"} <= sys.stdlib_module_names


def test_a_server_is_asked_by_the_libraries_of_the_wheel(installed: Environment):
    assert "connect" in installed("python", "-c", ASK_NOBODY)  # nobody listens there


def test_libraries_need_only_what_the_wheel_carries_or_manylinux_allows(inside: set[str]):
    libraries = {name for name in inside if ".so" in PurePosixPath(name).name}
    carried = {PurePosixPath(name).name for name in libraries if name.startswith("espalier_rag.libs/")}
    assert carried and "manylinux" in WHEEL.name  # a tag that auditwheel gives after a check of its own
    with zipfile.ZipFile(WHEEL) as archive:
        for name in libraries:
            dynamic = ELFFile(io.BytesIO(archive.read(name))).get_section_by_name(".dynamic")
            needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
            assert [library for library in needed - carried if not ALLOWED.match(library)] == [], name
        bills = [json.loads(archive.read(name)) for name in inside if "/sboms/" in name and name.endswith("json")]
    assert len(bills) == 2 and all(bill["bomFormat"] == "CycloneDX" for bill in bills)
    parts = {part["name"]: part["version"] for bill in bills for part in bill["components"] if "version" in part}
    assert parts.keys() >= {"fmt", "eigen3", "pybind11"} and parts["fmt"]
    assert any(part["name"].startswith("libcurl") for bill in bills for part in bill["components"])


def test_the_wheel_holds_licence_marker_and_stubs_and_nothing_to_test_with(inside: set[str]):
    [metadata] = [name for name in inside if name.endswith(".dist-info/METADATA")]
    info = str(PurePosixPath(metadata).parent)
    assert {"espalier/py.typed", "espalier/_core.pyi", f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= inside
    assert {name.partition("/")[0] for name in inside} == {"espalier", "espalier_rag.libs", info}
    with zipfile.ZipFile(WHEEL) as archive:
        text = archive.read(metadata).decode()
    assert re.findall(r"^Requires-Dist: ([\w-]+)[^;]*$", text, re.M) == ["numpy"]
    assert "License-Expression: Apache-2.0" in text


def test_the_sdist_holds_the_sources_and_nothing_big_or_made():
    with tarfile.open(SDIST) as archive:
        members = {PurePosixPath(*PurePosixPath(item.name).parts[1:]).as_posix(): item.size for item in archive}
    for needed in ("pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "Makefile", "tests/wheel_test.py"):
        assert needed in members
    for folder in ("include", "bindings", "cmake", "python"):
        here = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert {name for name in here if not name.endswith((".pyc", ".so"))} <= members.keys()
    assert members.pop("examples/micro/model.gguf") < 8_000_000  # the model of `make demo`
    assert [name for name, size in members.items() if size > 300_000 or name.endswith((".so", ".pyc", ".whl"))] == []
    assert not {"build", "dist", "out", ".venv", ".git"} & {name.partition("/")[0] for name in members}


MACHINES = [("linux", "x86_64", "manylinux_x86_64"), ("linux", "aarch64", "manylinux_aarch64")]
MACHINES += [("macos", "arm64", "macosx_arm64"), ("windows", "AMD64", "win_amd64")]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="cibuildwheel 4 needs Python 3.11")
@pytest.mark.parametrize(("system", "architecture", "tag"), MACHINES)
def test_cibuildwheel_builds_for_each_python_that_is_supported(system: str, architecture: str, tag: str):
    asked = ["cibuildwheel", "--platform", system, "--archs", architecture, "--print-build-identifiers", str(ROOT)]
    done = subprocess.run([sys.executable, "-m", *asked], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [f"cp3{minor}-{tag}" for minor in range(10, 15)]
