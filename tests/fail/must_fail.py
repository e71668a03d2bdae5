"""Checks that a program does not compile, and that the compiler says why.

    must_fail.py FILE -- COMPILER FLAG...

The first line of FILE is `// expect: TEXT`. TEXT must stand in the compiler's first error, and its message has at most
25 lines. A file that mentions `#ifdef FAIL` must compile without -DFAIL (so it fails for its one reason) and fail
with it.
"""

import re
import subprocess
import sys
from pathlib import Path

LINES = 25


def compile(command: list[str], source: Path, *flags: str) -> tuple[bool, str]:
    done = subprocess.run([*command, *flags, str(source)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def main(source: Path, command: list[str]) -> str | None:
    """What is wrong, or None."""
    text = source.read_text(encoding="utf-8")
    expect = re.match(r"// expect: (\S.*)\n", text)
    if not expect:
        return "the first line is not `// expect: TEXT`"
    flags = []
    if re.search(r"^#\s*ifdef FAIL\b", text, re.MULTILINE):
        compiled, message = compile(command, source)
        if not compiled:
            return f"does not compile without -DFAIL:\n{message}"
        flags = ["-DFAIL"]
    compiled, message = compile(command, source, *flags)
    if compiled:
        return "compiles, but must not"
    lines = message.splitlines()
    error = next((line for line in lines if "error:" in line), "")
    if expect[1].strip() not in error:
        return f"the compiler's first error lacks {expect[1].strip()!r}:\n{message}"
    if len(lines) > LINES:
        return f"the compiler's message has {len(lines)} lines, more than {LINES}:\n{message}"
    return None


if __name__ == "__main__":
    split = sys.argv.index("--")
    problem = main(Path(sys.argv[1]), sys.argv[split + 1 :])
    if problem:
        sys.exit(f"{sys.argv[1]}: {problem}")
