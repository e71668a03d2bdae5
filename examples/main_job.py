"""The main job from Python: the same program as main_job.cpp, the same bytes in the folder it writes, and a report."""

import sys
from pathlib import Path

import espalier as esp


def main(arguments: list[str]) -> int:
    if len(arguments) >= 3:
        questions, corpus, out = map(Path, arguments[:3])
    else:
        world, out = Path("out/main_job/world"), Path("out/main_job/run")
        esp.write_world(world, passages=200, questions=5)
        questions, corpus = world / "questions.jsonl", world / "corpus.jsonl"
    result = esp.expand(questions=questions, corpus=corpus, out=out)
    print("Answers of the simulated model, in trees whose rewards saw the gold ones (oracle):")
    print((out / "answers.jsonl").read_text(encoding="utf-8"), end="")
    print(out / "trees.jsonl")
    return result.open > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
