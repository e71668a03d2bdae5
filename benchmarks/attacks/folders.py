"""Run folders that processes share, leave half-done, damage or cannot write to."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .package import (
    COMMAND,
    data,
    ended,
    equal,
    espalier,
    explained,
    good,
    killed,
    python,
    run,
    started,
    until_asked,
    world,
)
from .server import Json, Reply, Server, prompt_of, refused, said, sensible
from .verdict import attack, attacked, held

GROWN = ["--method", "prorag", "--set", "simulations=12", "--set", "samples=3", "--set", "annotate=none"]


def grown(folder: Path) -> Path:
    """A finished run of ProRAG, which a judge and a process reward can be added to."""
    good(espalier("expand", *GROWN, *world(folder), "--out", folder / "run"))
    return folder / "run"


def annotate(run: Path, server: Server) -> list[object]:
    return ["annotate", run, "--with", f"judge={server.url},m", "--with", f"prm={server.url},m"]


def judging(request: Json) -> Reply:
    """A judge and a process reward in one."""
    marks = prompt_of(request)
    return said(f"<score> 0.{len(marks) % 9} </score>" if "<score>" in marks else "<preference> 2 over 1 </preference>")


def slow(seconds: float, respond: Callable[[Json], Reply]) -> Callable[[Json], Reply]:
    def later(request: Json) -> Reply:
        time.sleep(seconds)
        return respond(request)

    return later


@attack
def annotation_that_fails(folder: Path) -> None:
    """An annotation whose server fails half-way leaves the run as it was, and can be made again."""
    recorded = grown(folder)
    whole = folder / "whole"
    shutil.copytree(recorded, whole)
    before = data(recorded)
    with Server(judging) as server:
        good(espalier(*annotate(whole, server)))
        half = len(server.asked) // 2
        server.asked.clear()
        server.respond = lambda request: judging(request) if len(server.asked) < half else refused(401, "wrong key")
        failed = espalier(*annotate(recorded, server))
        attacked(len(server.asked) > half > 10, f"the server was asked {len(server.asked)} times")
        held(data(recorded) == before, "the run's files were changed")
        explained(failed, "wrong key")
        server.respond = judging
        good(espalier(*annotate(recorded, server)))
    equal(recorded, whole)


@attack
def annotation_made_three_times(folder: Path) -> None:
    """The same annotation again gives the same bytes, and counts and asks nothing twice."""
    recorded = grown(folder)
    with Server(judging) as server:
        good(espalier(*annotate(recorded, server)))
        once, asked = data(recorded), len(server.asked)
        attacked(asked > 10, f"the server was asked {asked} times")
        for _ in range(2):
            good(espalier(*annotate(recorded, server)))
            changed = [name for name, content in data(recorded).items() if content != once[name]]
            held(not changed, f"other bytes in {', '.join(changed)}")
        held(len(server.asked) == asked, f"the server was asked {len(server.asked) - asked} times more")


def files_beside(run: Path) -> object:
    """Changes as soon as the new files are whole."""
    return {path.name for path in run.iterdir() if not path.name.startswith(("journal", "run.lock", "run.part"))}


def files_in_place(run: Path) -> object:
    """Changes as soon as the first output is replaced."""
    with contextlib.suppress(FileNotFoundError):
        return [path.stat().st_ino for path in sorted(run.glob("*.jsonl"))]


@attack
def annotation_that_is_killed(folder: Path) -> None:
    """An annotation that is killed while it asks, or while it puts files in place, ends as one that was not."""
    recorded = grown(folder)
    whole = folder / "whole"
    shutil.copytree(recorded, whole)
    with Server(judging) as server:
        good(espalier(*annotate(whole, server)))
        half, hit = len(server.asked) // 2, 0
        for number, seen in enumerate((None, files_beside, files_in_place, files_in_place)):
            again = folder / f"killed{number}"
            shutil.copytree(recorded, again)
            server.asked.clear()
            before = seen(again) if seen else None
            with started([*COMMAND, *annotate(again, server)]) as process:
                if seen is None:
                    until_asked(server, half, process)
                    killed(process)
                else:
                    while process.poll() is None and seen(again) == before:
                        time.sleep(0.0002)
                    process.kill()
                    hit += process.wait() != 0
            good(espalier(*annotate(again, server)))
            equal(again, whole)
    attacked(hit, "no kill hit a process that puts files in place")


@attack
def two_processes_in_one_folder(folder: Path) -> None:
    """The second process in a run's folder ends at once and names the first, which ends well."""
    inputs = world(folder)
    with Server(sensible) as server:
        line = ["expand", *inputs, *server.model, "--out"]
        good(espalier(*line, folder / "alone"))
        server.asked.clear()
        over = threading.Event()
        server.respond = lambda request: (over.wait(), sensible(request))[1]
        with started([*COMMAND, *line, folder / "shared"]) as first:
            try:
                until_asked(server, 1, first)
                second = espalier(*line, folder / "shared", limit=20)
                attacked(first.poll() is None, "the first process had ended before the second")
            finally:
                over.set()
            good(ended(first))
    explained(second, str(first.pid))
    equal(folder / "shared", folder / "alone")


@attack
def lock_of_a_dead_process(folder: Path) -> None:
    """A folder whose process was killed is free at once."""
    inputs = world(folder)
    with Server(slow(0.02, sensible)) as server:
        line = ["expand", *inputs, *server.model, "--out"]
        with started([*COMMAND, *line, folder / "run"]) as process:
            until_asked(server, 10, process)
            killed(process)
        good(espalier(*line, folder / "run"))
        good(espalier(*line, folder / "whole"))
    equal(folder / "run", folder / "whole")


DAMAGE: Sequence[tuple[str, Callable[[bytes], bytes]]] = [
    ("cut", lambda content: content[: len(content) // 2]),
    ("changed", lambda content: content.replace(b"e", b"a", 50)),
]


@attack
def outputs_that_were_damaged(folder: Path) -> None:
    """A finished run whose outputs were cut, changed or deleted is made whole from its journal."""
    line = ["expand", *world(folder), "--out", folder / "run"]
    good(espalier(*line))
    whole = data(folder / "run")
    outputs = [*whole, "summary.json", "report.html"]
    for how, damage in DAMAGE:
        for name in outputs:
            path = folder / "run" / name
            before = path.read_bytes()
            path.write_bytes(damage(before))
            attacked(path.read_bytes() != before, f"{name} was not damaged")
        done = good(espalier(*line))
        held("finished before" not in done.out, f"a run with files that were {how} is called finished")
        held(data(folder / "run") == whole, f"files that were {how} are not mended")
    for name in outputs:
        (folder / "run" / name).unlink()
    good(espalier(*line))
    held(data(folder / "run") == whole, "files that were deleted are not mended")


@attack
def damage_without_a_journal(folder: Path) -> None:
    """Where no journal can mend an output, the run names it."""
    line = ["expand", *world(folder), "--out", folder / "run", "--no-journal"]
    good(espalier(*line))
    path = folder / "run" / "sft.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    done = espalier(*line)
    held("sft.jsonl" in done.said, f"the damaged file is not named; the last line: {(done.out or done.err)[-100:]}")
    held("Traceback" not in done.err, f"a traceback: {done.last}")


@attack
def summary_that_is_no_summary(folder: Path) -> None:
    """A summary of another shape ends no command with a KeyError."""
    line = ["expand", *world(folder), "--out", folder / "run"]
    good(espalier(*line))
    for content in ("{}", '{"method": 3}', "[]", "", "\0"):
        (folder / "run" / "summary.json").write_text(content)
        for command in (line, ["export", folder / "run", "--format", "sft", "--out", folder / "exported"]):
            done = espalier(*command)
            held("Traceback" not in done.err, f"summary {content!r}: {done.last}")


@attack
def kills_at_any_moment(folder: Path) -> None:
    """A run that is killed again and again ends in the bytes of one that was not, and asks nothing twice in vain."""
    inputs = world(folder)
    with Server(sensible) as server:
        line = ["expand", *inputs, *server.model, "--in-flight", 8, "--out"]
        good(espalier(*line, folder / "whole"))
        unbroken, moments, kills, asked = len(server.asked), random.Random(1), 0, 0
        server.respond = slow(0.02, sensible)
        for _ in range(8):
            server.asked.clear()
            with started([*COMMAND, *line, folder / "killed"]) as process:
                until_asked(server, moments.randint(1, unbroken // 12), process)
                killed(process)
                kills += 1
            time.sleep(0.1)  # what it sent is read
            asked += len(server.asked)
        server.asked.clear()
        good(espalier(*line, folder / "killed"))
        asked += len(server.asked)
    equal(folder / "killed", folder / "whole")
    held(asked <= unbroken + 8 * kills, f"{asked} requests, {unbroken} without kills")


@attack
def disk_that_is_full(folder: Path) -> None:
    """A run whose disk is full says so, and goes on where there is room again."""
    line = ["expand", *world(folder), "--out"]
    good(espalier(*line, folder / "whole"))
    sizes = [path.stat().st_size for path in (folder / "whole").iterdir()]
    for share in (0.05, 0.5):
        out = folder / f"full{share}"
        limit = f"--fsize={int(share * max(sizes))}"
        done = run(["prlimit", limit, *COMMAND, *line, out])
        explained(done)
        good(espalier(*line, out))
        equal(out, folder / "whole")


# One run after the other over journals with one flipped bit each; says how each ended.
FLIPPED = """
import pathlib, random, shutil, sys, espalier as esp
questions, corpus, whole = sys.argv[1:]
whole, places = pathlib.Path(whole), random.Random(1)
content = (whole / "journal.sqlite").read_bytes()
for number in range(25):
    out = whole.parent / f"flipped{number}"
    out.mkdir()
    shutil.copy(whole / "run.json", out)
    damaged = bytearray(content)
    damaged[places.randrange(len(damaged))] ^= 1 << places.randrange(8)
    (out / "journal.sqlite").write_bytes(damaged)
    try:
        result = esp.expand(questions=questions, corpus=corpus, out=out, replay=True)
        names = [path.name for path in whole.glob("*.jsonl") if path.name != "costs.jsonl"]
        same = all((out / name).read_bytes() == (whole / name).read_bytes() for name in names)
        print("open" if result.open else "same" if same else "other", flush=True)
    except esp.errors.Error as error:
        print("named", flush=True)
"""


@attack
def bits_of_the_journal(folder: Path) -> None:
    """A journal with a flipped bit is named as damaged, or the run has the same bytes; never others, never a crash."""
    inputs = world(folder)
    good(espalier("expand", *inputs, "--out", folder / "whole"))
    done = good(python(FLIPPED, inputs[1], inputs[3], folder / "whole", limit=110))
    ends = done.out.split()
    attacked(len(ends) == 25 and set(ends) & {"named", "open"}, f"{len(ends)} flips ended in {set(ends)}")
    held("other" not in ends, f"{ends.count('other')} of 25 flips gave other bytes")


def without_rights(command: Sequence[object]) -> list[object]:
    """The command as a user whom the folder's rights bind, which root's are not."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]


@attack
def folder_that_is_read_only(folder: Path) -> None:
    """Every command explains a folder that it may not write to, and those that only read do their work."""
    line = ["expand", *world(folder), "--out"]
    out = folder / "run"
    good(espalier(*line, out))
    (folder / "new").mkdir()
    places = [out, folder / "new"]
    try:
        for place in places:
            for path in place.iterdir():
                path.chmod(0o444)
            place.chmod(0o555)
        tried = run(without_rights(["touch", out / "x"]))
        attacked(tried.code != 0, "the folder can be written to")
        for what in ("stats", "verify"):
            good(run(without_rights([*COMMAND, "journal", what, out])))
        good(run(without_rights([*COMMAND, "report", out, "--out", folder / "report.html"])))
        explained(run(without_rights([*COMMAND, *line, folder / "new"])), "new")
        explained(run(without_rights([*COMMAND, *line, out, "--overwrite", "--seed", "2"])), "run")
        explained(run(without_rights([*COMMAND, "annotate", out, "--with", "judge"])))
    finally:
        for place in places:
            place.chmod(0o755)


@attack
def interrupted_by_the_user(folder: Path) -> None:
    """Ctrl-C ends a run within seconds, without a traceback, and the same line goes on."""
    inputs = world(folder)
    with Server(slow(0.05, sensible)) as server:
        line = ["expand", *inputs, *server.model, "--out", folder / "run"]
        with started([*COMMAND, *line]) as process:
            until_asked(server, 10, process)
            process.send_signal(signal.SIGINT)
            done = ended(process, 15)
        explained(done)
        good(espalier(*line))
