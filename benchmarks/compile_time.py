"""What it costs to compile with the headers, beside the goals for g++ 12: user seconds (best of three), most memory.

compile_time.py [COMPILER]...      (default: c++)
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UCT = """
#include <espalier/search/mcts.hpp>
#include <espalier/toy/uniform_tree.hpp>
int main() {
  using namespace espalier;
  using toy::UniformTree;
  UniformTree env({.branching = 3, .depth = 8});
  const auto value = [](const UniformTree&, const UniformTree::State& s) { return UniformTree::value(s); };
  Mcts engine({.simulations = 1000, .width = 3}, value, Uct());
  return engine.search(env, env.root(), Seed(1)).size() > 1 ? 0 : 1;
}
"""


def including(*headers: str) -> str:
    return "".join(f"#include <espalier/{header}>\n" for header in headers) + "int main() {}\n"


def readme() -> str:
    """The C++ program of README.md."""
    return (ROOT / "README.md").read_text(encoding="utf-8").partition("```cpp\n")[2].partition("```")[0]


def measured(compiler: str, level: str, text: str) -> tuple[float, float]:
    """User seconds, and megabytes."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "unit.cpp")
        path.write_text(text, encoding="utf-8")
        words = [compiler, "-std=c++20", level, f"-I{ROOT / 'include'}", "-c", str(path), "-o", f"{path}.o"]
        for _ in range(3):
            _, status, used = os.wait4(subprocess.Popen(words).pid, 0)
            assert status == 0, f"{compiler} could not compile it"
            runs.append((used.ru_utime, used.ru_maxrss / 1000))
    return min(runs)


def main(compilers: list[str]) -> None:
    cases = [
        ("core", "-O2", including("core/concepts.hpp", "core/scheduler.hpp"), 1.2),
        ("a program with UCT", "-O2", UCT, 2.0),
        ("the umbrella", "-O2", including("espalier.hpp"), 5.0),
        ("README's program", "-O0", readme(), 10.0),
        ("README's program", "-O2", readme(), 16.0),
    ]
    for compiler in compilers or ["c++"]:
        for name, level, text, goal in cases:
            seconds, megabytes = measured(compiler, level, text)
            print(f"{compiler:8} {name:20} {level} {seconds:6.2f} s {megabytes:6.0f} MB   goal {goal}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
