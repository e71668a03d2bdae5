"""Adds up what ran: summary.py JUNIT_XML... prints `N passed, N failed`, and exits 1 if anything failed or nothing ran.
What failed is shown once more before that, with the last lines of its output.

What was skipped is not counted. A doctest program counts its test cases, not itself; a file that is not there counts as
one failure.
"""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

DOCTEST = re.compile(r"test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed")


def count(case: ElementTree.Element) -> tuple[int, int]:
    """(passed, failed) of one testcase element."""
    if case.find("skipped") is not None and case.get("status") != "notrun":
        return 0, 0
    broken = case.get("status") in ("fail", "notrun")
    broken = broken or case.find("failure") is not None or case.find("error") is not None
    cases = DOCTEST.search(case.findtext("system-out") or "")
    if cases:
        return int(cases[1]), max(int(cases[2]), int(broken))
    return (0, 1) if broken else (1, 0)


def last_words(case: ElementTree.Element, lines: int = 40) -> str:
    """The name of one testcase element that failed, and the end of what it printed."""
    text = case.findtext("failure") or case.findtext("error") or case.findtext("system-out") or ""
    return "\n".join([f"--- {case.get('name')}", *text.strip().splitlines()[-lines:]])


def main(files: list[str]) -> int:
    passed = failed = 0
    for file in files:
        if not Path(file).exists():
            print(f"{Path(file).parent.name}: did not get as far as its tests")
            failed += 1
            continue
        cases = list(ElementTree.parse(file).iter("testcase"))
        here = [count(case) for case in cases]
        for case, (_, bad) in zip(cases, here, strict=True):
            if bad:
                print(last_words(case))
        good, bad = sum(p for p, _ in here), sum(f for _, f in here)
        print(f"{Path(file).parent.name}: {good} passed, {bad} failed")
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
