"""The floors of the house: who may include whom, and what a header may weigh. Needs nothing but Python.

Checks, over include/espalier: the folder floors, third-party and POSIX includes, the length of headers, and that every
header is reached by the umbrella or by an optional component and reaches the check of the compiler. Over all tracked
files: no path of somebody's machine.
Over the pages and the Python files: each header that they name by its folder is there.
"""

import re
import statistics
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Folder -> the other folders it may include. The umbrella may include everything.
ROOT_HEADERS = ("espalier.hpp", "fmt.hpp", "search.hpp", "version.hpp")
FOLDERS = tuple(
    """
    core policy search llm rag backend backend/chat backend/http backend/index backend/journal
    backend/lexical sim output toy method method/airrag method/baselines method/decex method/decouple method/prorag
    method/reasonrag run fmt
    """.split()  # noqa: SIM905
)
# What a method's folder may include: the parts it composes, what all methods share, and the baselines, but no other
# method. So a folder can be deleted with its line in method/all.hpp and its lines in the umbrella.
METHOD = {"core", "policy", "search", "llm", "rag", "backend", "sim", "output", "method", "method/baselines"}
FLOORS = {
    "core": set(),
    "policy": {"core"},
    "search": {"core", "policy"},
    "llm": {"core"},
    "rag": {"core", "llm"},
    "backend": {"core", "llm"} | {folder for folder in FOLDERS if folder.startswith("backend/")},
    "backend/http": {"core", "llm"},
    "backend/chat": {"core", "llm", "backend/http"},
    "backend/journal": {"core", "llm"},
    "backend/index": {"core", "llm"},
    "backend/lexical": {"core", "llm", "backend/index"},
    "toy": {"core", "policy"},
    "sim": {"core", "llm", "rag"},
    "output": {"core", "llm", "rag"},
    "fmt": {"core", "llm", "rag", "output"},
    **{folder: METHOD for folder in FOLDERS if folder.startswith("method/")},
    "method": METHOD | {folder for folder in FOLDERS if folder.startswith("method/")},
    "run": set(FOLDERS),
    "": set(FOLDERS),
}

# Library (the start of its include) -> the headers that may name it.
LIBRARIES = {
    "fmt/": r"(fmt|run)/", "curl/": r"(backend|output)/", "sqlite3.h": r"(backend|output)/",
    "simdjson": r"(backend|output)/", "zlib.h": r"output/", "Eigen/": r"backend/(dense|value_head)",
    "faiss/": r"backend/faiss",
}  # fmt: skip
POSIX = re.compile(r"(sys/|arpa/|net/|netinet/)\w+\.h$|(unistd|fcntl|poll|netdb|signal|dirent|pthread)\.h$")
POSIX_FOLDERS = {"core", "backend/http", "backend/index", "backend/journal", "backend/lexical", "output", "run"}

STANDARD = re.compile(r"\w+$")
"""A library's headers have a folder or an ending."""

# Functions that return a task. g++ 12 generates every coroutine that it reads, but not a template that nothing calls.
TASK = re.compile(
    r"^( *)(template .*\n(?: *requires.*\n)*)?\1(?:\[\[nodiscard\]\] )?(?:static |inline )*"
    r"Task<[^;{}]*?(\w+|operator\(\))\([^;{}]*\)(?: const)?( override| final)* \{",
    re.MULTILINE,
)
LAZY_FOLDERS = ("rag/", "method/")

LONGEST = 250
MEDIAN = 120

# Absolute paths of one machine and what lies beside the repository there.
MACHINE_PATH = re.compile(r"""(?<![\w\])}$.~-])/(?:work|root|tmp)(?![\w-])|(?<![\w.])/home/\w+|\.\./shared\b""")

# A header that a text names with a folder in front.
NAMED_HEADER = re.compile(r"[\w./-]*/\w+\.hpp")


def includes(text: str) -> list[tuple[int, str]]:
    """(line, what stands between the brackets or quotes, quotes kept) of every #include."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(?:<([^>]+)>|("[^"]*"))', line)
        if match:
            found.append((number, match[1] or match[2]))
    return found


def folder_of(path: str) -> str:
    """The folder of the house that a path under include/espalier is in. Its folder `detail` belongs to it, and a folder
    in that one to its namesake beside."""
    return path.rpartition("/")[0].replace("/detail", "")


def private_to(included: str) -> str:
    """The folder whose headers alone may include this one, "" = any: the parent of its folder `detail`."""
    parent, detail, _ = included.removeprefix("espalier/").partition("/detail/")
    return parent if detail else ""


def reached_detail(header: str, included: str) -> str | None:
    """What is wrong with an include of a private header, or None. `header`: under include/espalier, or in bindings/."""
    owner = private_to(included)
    return f"<{included}>: private to {owner}" if owner and not header.startswith(owner + "/") else None


def check_include(header: str, included: str) -> str | None:
    """What is wrong with `included` in `header` (a path under include/espalier), or None."""
    folder = folder_of(header)
    if included.startswith('"'):
        return f"{included}: write <espalier/...>"
    if included.startswith("espalier/"):
        target = folder_of(included.removeprefix("espalier/"))
        if included in {"espalier/espalier.hpp", "espalier/search.hpp"}:
            return None if folder == "" else f"<{included}>: a header includes what it uses, not the umbrella"
        if (private := reached_detail(header, included)) is not None:
            return private
        if target not in {folder, "", *FLOORS[folder]}:
            return f"<{included}>: {folder} may include {', '.join(sorted(FLOORS[folder] | {folder}))}"
        return None
    if STANDARD.match(included):
        return None
    if POSIX.match(included):
        return None if folder in POSIX_FOLDERS else f"<{included}>: POSIX is for {', '.join(sorted(POSIX_FOLDERS))}"
    for library, allowed in LIBRARIES.items():
        if included.startswith(library):
            return None if re.match(allowed, header) else f"<{included}>: only headers matching {allowed} may"
    return f"<{included}>: neither standard, ours nor a library we know"


def lengths(sources: dict[str, str]) -> list[int]:
    """Lines of every header."""
    return [text.count("\n") for header, text in sources.items() if header.endswith(".hpp")]


def check_headers(sources: dict[str, str]) -> list[str]:
    """Problems of a set of headers, path under include/espalier -> text."""
    problems = []
    for header, text in sources.items():
        folder = folder_of(header)
        if folder not in FLOORS or (folder == "" and header not in ROOT_HEADERS):
            problems.append(f"{header}: not in a folder of the house")
            continue
        if not header.endswith(".hpp"):
            if not header.endswith("_data.inc") or "Do not edit" not in text.split("\n", 1)[0] or includes(text):
                problems.append(f"{header}: only headers and generated tables (x_data.inc) live here")
            continue
        for number, included in includes(text):
            problem = check_include(header, included)
            if problem:
                problems.append(f"{header}:{number}: {problem}")
        if "#pragma once" not in text:
            problems.append(f"{header}: no #pragma once")
        if text.count("\n") > LONGEST:
            problems.append(f"{header}: {text.count(chr(10))} lines, at most {LONGEST}")
    median = statistics.median(lengths(sources))
    if median > MEDIAN:
        problems.append(f"the median header has {median:.0f} lines, at most {MEDIAN}")
    return problems + unreached(sources)


def unreached(sources: dict[str, str]) -> list[str]:
    """Libraries that the umbrella reaches, and headers that neither it nor a header on an optional library reaches.
    sim/, toy/ and run/world.hpp are for whoever asks."""
    if "espalier.hpp" not in sources:
        return ["espalier.hpp: the umbrella is missing"]
    reach = {header: [name.removeprefix("espalier/") for _, name in includes(text)] for header, text in sources.items()}

    def reached_from(header: str, seen: set[str]) -> set[str]:
        """Adds what `header` includes, directly or not, libraries too."""
        if header not in seen:
            seen.add(header)
            for name in reach.get(header, []):
                reached_from(name, seen)
        return seen

    seen = reached_from("espalier.hpp", set())
    eager = [(header, name) for header in sorted(seen & {*sources}) for name in eager_tasks(header, sources[header])]
    libraries = sorted(name for name in seen if name.startswith(tuple(LIBRARIES)))
    for header in sources:
        reached = reached_from(header, set())
        if any(name.startswith(tuple(LIBRARIES)) for name in reached):
            seen |= reached
    lost = [header for header in sources if header not in seen and not header.startswith(("run/world", "sim/", "toy/"))]
    unguarded = [
        header
        for header in sources
        if "version.hpp" in sources
        and header.endswith(".hpp")
        and "detail/" not in header
        and "version.hpp" not in reached_from(header, set())
    ]
    return (
        [f"espalier.hpp: the umbrella reaches <{name}>, which is no standard header" for name in libraries]
        + [f"{header}: write `template <class = void>` before {name}" for header, name in eager]
        + [f"{header}: reached neither by the umbrella nor by a component" for header in lost]
        + [f"{header}: does not reach version.hpp, which refuses old compilers" for header in unguarded]
    )


def eager_tasks(header: str, text: str) -> list[str]:
    """Functions that make a task, and that everyone compiles who includes the header. The umbrella may have none."""
    if not header.startswith(LAZY_FOLDERS):
        return []
    generic = re.search(r"^template .*\n(?:  requires.*\n)?class", text, re.MULTILINE)
    return [
        match[3]
        for match in TASK.finditer(text)
        if not match[2] and not match[4] and not (generic and generic.start() < match.start() and match[1])
    ]


def machine_paths(name: str, text: str) -> list[str]:
    return [
        f"{name}:{number}: a path of one machine: {match[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        if (match := MACHINE_PATH.search(line))
    ]


def lost_headers(name: str, text: str, headers: Collection[str]) -> list[str]:
    """Headers that a page or a Python file names by folder, and that are neither in the house nor beside it."""
    if not name.startswith(("docs/", "python/")) and name != "README.md":
        return []
    return [
        f"{name}:{number}: there is no {match[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in NAMED_HEADER.finditer(line)
        if match[0].rpartition("espalier/")[2] not in headers and not (ROOT / match[0]).is_file()
    ]


def tracked_files() -> list[Path]:
    """Files git knows; without git every file outside the ignored folders."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    skipped = ("build", "out", "dist", ".")
    return [p for p in ROOT.rglob("*") if p.is_file() and not p.relative_to(ROOT).parts[0].startswith(skipped)]


def self_test() -> None:
    """The checks find what they are for."""
    once = "#pragma once\n"
    umbrella = once + "#include <espalier/core/a.hpp>\n"
    table = {"core/a_data.inc": "// Do not edit.\n" + "1,\n" * 1000}
    good = {"espalier.hpp": umbrella, "core/a.hpp": once + "#include <espalier/core/a_data.inc>\n", **table}
    assert check_headers(good) == []
    bad = {
        "core/a.hpp": '#include <espalier/rag/eager.hpp>\n#include "b.hpp"\n#include <fmt/core.h>\n',
        "search/a.hpp": once + "#include <espalier/rag/text.hpp>\n",
        "rag/a.hpp": once + "#include <espalier/backend/bm25.hpp>\n#include <unistd.h>\n",
        "backend/index/a.hpp": once + "#include <espalier/backend/http/detail/b.hpp>\n",
        "backend/http/detail/b.hpp": once + "#include <espalier/backend/detail/http/c.hpp>\n",
        "backend/detail/http/c.hpp": once,
        "backend/bm25.hpp": once
        + "#include <espalier/backend/http/detail/b.hpp>\n#include <Eigen/Core>\n#include <asio.hpp>\n"
        + "#include <espalier/espalier.hpp>\n",
        "sim/a.hpp": once + "#include <simdjson.h>\n",
        "core/long.hpp": once * 251,
        "core/part.inc": "void f();\n",
        "core/a_data.inc": "// Do not edit.\n#include <vector>\n",
        "utils/a.hpp": once,
        "rag/eager.hpp": once
        + "struct A {\n  template <class T>\n  Task<T> a(T t) {\n  }\n  Task<int> b(int i,\n  int j) {\n  }\n};\n",
    }
    found = check_headers({"espalier.hpp": umbrella, **bad})
    for sign in (
        "core/a.hpp:1:", "core/a.hpp:2:", "core/a.hpp:3:", "core/a.hpp: no #pragma", "search/a.hpp:2:", "rag/a.hpp:2:",
        "rag/a.hpp:3:", "backend/bm25.hpp:2:", "backend/bm25.hpp:3:", "backend/bm25.hpp:4:", "backend/bm25.hpp:5:",
        "backend/index/a.hpp:2:", "sim/a.hpp:2:",
        "core/long.hpp: 251", "core/part.inc: only", "core/a_data.inc: only", "utils/a.hpp: not in",
        "espalier.hpp: the umbrella reaches <fmt/core.h>",
        "search/a.hpp: reached neither", "rag/eager.hpp: write `template <class = void>` before b",
    ):  # fmt: skip
        assert any(problem.startswith(sign) for problem in found), f"missed: {sign}"
    assert len([problem for problem in found if "template" in problem]) == 1
    private = ["backend/index/a.hpp:2", "backend/bm25.hpp:2"]
    assert [p[: p.index(": ")] for p in found if p.endswith(": private to backend/http")] == private
    assert reached_detail("method/decex/a.hpp", "espalier/rag/detail/b.hpp")
    assert reached_detail("bindings/a.cpp", "espalier/core/detail/b.hpp")
    assert not reached_detail("backend/detail/http/a.hpp", "espalier/backend/detail/http/b.hpp")
    parts = {
        "espalier.hpp": "",
        "core/lost.hpp": "",
        "rag/used.hpp": "",
        "backend/b.hpp": "#include <espalier/backend/c.hpp>\n#include <espalier/rag/used.hpp>",
        "backend/c.hpp": "#include <curl/curl.h>",
    }
    assert [problem.split(":")[0] for problem in unreached(parts)] == ["core/lost.hpp"]
    assert unreached({"core/a.hpp": ""}) == ["espalier.hpp: the umbrella is missing"]
    assert "the median header has 121 lines" in check_headers({"espalier.hpp": umbrella + "//\n" * 119})[0]
    for name in ("tmp", "work", "root"):
        assert machine_paths("f", f'read("/{name}/x")') and machine_paths("f", f"see /{name}.")
        assert not machine_paths("f", f"tree/{name}/x, {{path}}/{name}, /{name}s")
    assert machine_paths("f", "../" + "shared/x")
    assert not lost_headers("docs/a.md", "[a](../include/espalier/core/a.hpp), `core/a.hpp`, `b.hpp`", ["core/a.hpp"])
    assert lost_headers("python/a.py", "# core/b.hpp", ["core/a.hpp"]) == ["python/a.py:1: there is no core/b.hpp"]


def main() -> int:
    self_test()
    house = ROOT / "include" / "espalier"
    paths = sorted(path for path in house.rglob("*") if path.is_file())
    sources = {path.relative_to(house).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    problems = check_headers(sources)
    for path in tracked_files():
        try:
            name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            problems += machine_paths(name, text) + lost_headers(name, text, sources)
            if name.startswith("bindings/"):
                reached = [(number, reached_detail(name, included)) for number, included in includes(text)]
                problems += [f"{name}:{number}: {problem}" for number, problem in reached if problem]
        except (UnicodeDecodeError, FileNotFoundError):  # binary, or deleted but not yet committed so
            continue
    for problem in problems:
        print(problem)
    lines = lengths(sources)
    median = statistics.median(lines)
    print(f"{len(lines)} headers, median {median:.0f} lines, longest {max(lines)}; {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
