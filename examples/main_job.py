"""The main job from Python: the same program as main_job.cpp, the same bytes in the folder it writes."""

import sys
import tempfile
from pathlib import Path

import espalier as esp


def main(arguments: list[str]) -> None:
    if len(arguments) >= 3:
        questions, corpus, out = map(Path, arguments[:3])
    else:
        folder = Path(tempfile.mkdtemp(prefix="espalier-main-job-"))
        esp.write_world(folder / "world", passages=200, questions=5)
        questions, corpus, out = folder / "world/questions.jsonl", folder / "world/corpus.jsonl", folder / "run"
    result = esp.expand(questions=questions, corpus=corpus, out=out)
    print(result.summary)
    print(out / "report.html")


if __name__ == "__main__":
    main(sys.argv[1:])
