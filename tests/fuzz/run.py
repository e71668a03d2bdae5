"""Runs the fuzzers: run.py FOLDER [--seconds S] [--jobs N] [--junit FILE].

Inputs found on the way are kept in FOLDER/found. Exits 1 if one fails; the input that made it fail stays in FOLDER.
"""

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent


def fuzz(program: Path, seconds: int) -> tuple[bool, str]:
    """Whether all went well, and the last lines that the fuzzer printed."""
    name = program.stem.removesuffix("_fuzz")
    found = program.parent / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    command = [program, f"-max_total_time={seconds}", "-max_len=65536", "-timeout=10", "-rss_limit_mb=2048"]
    command += ["-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={program.parent}/{name}-"]
    dictionary = HERE / "dictionaries" / name
    command += [f"-dict={dictionary}"] if dictionary.exists() else []
    command += [found, HERE / "corpus" / name]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace")
    return done.returncode == 0, "\n".join(done.stderr.splitlines()[-40:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--junit", type=Path)
    arguments = parser.parse_args()
    programs = sorted(arguments.folder.resolve().glob("*_fuzz"))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda program: fuzz(program, arguments.seconds), programs))
    suite = ElementTree.Element("testsuite", name="fuzz")
    for program, (good, tail) in zip(programs, results, strict=True):
        executions = re.search(r"number_of_executed_units: (\d+)", tail)
        print(f"{program.stem}: {executions[1] if executions else 'no'} executions, {'good' if good else 'FAILED'}")
        case = ElementTree.SubElement(suite, "testcase", name=program.stem)
        if not good:
            print(tail)
            ElementTree.SubElement(case, "failure").text = tail
    if arguments.junit:
        ElementTree.ElementTree(suite).write(arguments.junit)
    return 0 if programs and all(good for good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
