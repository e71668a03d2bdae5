"""Compile time of a file that includes core + search, and of the umbrella header: CPU seconds, best of three.

    compile_time.py [COMPILER]...      (default: c++)

The budget of core alone is 1.2 s: the standard library and nothing else.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
CORE = ["core/concepts.hpp", "core/scheduler.hpp"]
SEARCH = ["search/beam.hpp", "search/layered.hpp", "search/mcts_task.hpp"]
USE = """
#include <espalier/toy/uniform_tree.hpp>
#include <cstdio>
int main() {
  espalier::toy::UniformTree env({.branching = 3, .depth = 4});
  espalier::Mcts search({.simulations = 32},
                        [](const auto&, const auto& s) { return espalier::toy::UniformTree::value(s); });
  espalier::PortScheduler scheduler;
  const auto tree = scheduler.run(search(env, env.root(), espalier::Seed(1)));
  std::printf("%zu\\n", tree.size());
}
"""


def source(headers: list[str], rest: str = "int main() {}\n") -> str:
    return "".join(f"#include <espalier/{h}>\n" for h in headers) + rest


def seconds(compiler: str, text: str) -> float:
    """CPU seconds of one compilation at -O2, best of three."""
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "unit.cpp")
        path.write_text(text, encoding="utf-8")
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [compiler, "-std=c++20", "-O2", f"-I{INCLUDE}", "-c", str(path), "-o", str(path) + ".o"], check=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return best


def main(compilers: list[str]) -> None:
    files = {
        "nothing": source([]),
        "core": source(CORE),
        "core + search": source(CORE + SEARCH),
        "core + search, a search in it": source(CORE + SEARCH, USE),
    }
    if (INCLUDE / "espalier/espalier.hpp").exists():
        files["umbrella"] = source(["espalier.hpp"])
    for compiler in compilers or ["c++"]:
        for name, text in files.items():
            print(f"{compiler:12} {name:30} {seconds(compiler, text):.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
