"""Shards of a run that are merged: questions per second, and the peak memory of the process.

Usage: shards.py [QUESTIONS] [SHARDS] [FOLDER] [METHOD]. The shards are synthetic: rows of one run of METHOD (decouple)
over a generated world with the simulated model, repeated under new ids. FOLDER (that for temporary files) needs three
times their size.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import espalier as esp

SAMPLE = 50
"""Questions of that run."""


def sample(folder, method):
    """The folder of that run."""
    esp.write_world(folder / "world", passages=400, questions=SAMPLE)
    data = {name: folder / "world" / f"{name}.jsonl" for name in ("questions", "corpus")}
    esp.expand(**data, method=method, out=folder / "sample", shard="1/1", journal=False)
    return folder / "sample"


def question_of(row):
    return row["provenance"]["tree"] if "provenance" in row else row["id"]


def write_shards(run, questions, shards, folder):
    """Finished shards with the rows of the run under new ids."""
    names = sorted(path.name for path in run.glob("*.jsonl"))
    rows = {name: {} for name in names}
    for name in names:
        for line in (run / name).read_text().splitlines(keepends=True):
            rows[name].setdefault(question_of(json.loads(line)), []).append(line)
    ids = list(rows["costs.jsonl"])
    draw = random.Random(1)
    places = [[] for _ in range(shards)]
    for place in range(questions):
        places[draw.randrange(shards)].append(place)
    record = json.loads((run / "run.json").read_text())
    for part, held in enumerate(places, 1):
        out = folder / f"shard-{part}"
        out.mkdir()
        for name in names:
            with (out / name).open("w") as file:
                for place in held:
                    old = ids[place % len(ids)]
                    for line in rows[name].get(old, ()):
                        new = line.replace(f'"{old}', f'"q{place}')
                        if name == "costs.jsonl":
                            new = json.dumps({**json.loads(new), "place": place}, separators=(",", ":")) + "\n"
                        file.write(new)
        for name in ("summary.json", "accounts.json"):
            (out / name).write_bytes((run / name).read_bytes())
        outputs = {}
        for path in sorted(out.iterdir()):
            state = path.stat()
            outputs |= {
                f"{path.name}.bytes": state.st_size,
                f"{path.name}.hash": "",
                f"{path.name}.modified": state.st_mtime_ns,
            }
        (out / "run.json").write_text(json.dumps({**record, "shard": f"{part}/{shards}", "outputs": outputs}))
    return [folder / f"shard-{part}" for part in range(1, shards + 1)]


def main(questions, shards, folder, method):
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        work = Path(scratch)
        folders = write_shards(sample(work, method), questions, shards, work)
        size = sum(path.stat().st_size for part in folders for path in part.iterdir())
        start = time.perf_counter()
        command = [sys.executable, "-m", "espalier.cli", "merge", *map(str, folders), "--out", str(work / "merged")]
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (work / "merged" / "answers.jsonl").open() as answers:
            assert [json.loads(row)["id"] for row in answers] == [f"q{place}" for place in range(questions)]
        cpu = used.ru_utime + used.ru_stime
        print(
            f"{questions:,} questions in {shards:,} shards of {size / 1e6:,.0f} MB in all: {seconds:.1f} s, "
            f"{cpu:.1f} s of CPU time, {questions / cpu:,.0f} questions a second of it, "
            f"at most {used.ru_maxrss / 1e3:.0f} MB of memory"
        )


main(
    int(sys.argv[1]) if len(sys.argv) > 1 else 20_000,
    int(sys.argv[2]) if len(sys.argv) > 2 else 64,
    sys.argv[3] if len(sys.argv) > 3 else None,
    sys.argv[4] if len(sys.argv) > 4 else "decouple",
)
