"""Failures that nobody might see, and mistakes of users."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

from .package import COMMAND, ended, espalier, explained, good, python, started, world
from .server import Server, refused, said
from .verdict import attack, attacked, held

BABBLE = "As a large model I would rather talk about the weather in blue words."


@attack
def replies_without_tags(folder: Path) -> None:
    """A model that writes no tag fails a run visibly: what could be read of each purpose, a text, an exit code."""
    inputs = world(folder)
    for command in (["expand"], ["answer", "--method", "search-r1"]):
        out = folder / command[0]
        with Server(lambda _: said(BABBLE)) as server:
            done = espalier(*command, *inputs, *server.model, "--out", out)
            attacked(server.asked, "nobody asked")
        explained(done, "weather in blue words")
        held(done.code == 4, f"exit {done.code} of {command[0]}, where contracts say 4")
        for name in ("summary.json", "report.html"):
            held("weather in blue words" in (out / name).read_text(), f"{name} does not show the unreadable text")
        held(
            re.search(r"\b0 of \d+|\b0(\.0+)? ?%", done.said), "the share of readable completions is not on the console"
        )


@attack
def doctor_of_a_model_without_tags(folder: Path) -> None:
    """Doctor asks each prompt of the method and finds out that nothing can be read."""
    inputs = world(folder)
    with Server(lambda _: said(BABBLE)) as server:
        done = espalier("doctor", "--method", "search-r1", *inputs, *server.model)
        attacked(server.asked, "nobody asked")
    explained(done, "weather in blue words")


def nobody() -> str:
    """The address of a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


RUN = """
import sys, espalier as esp
questions, corpus, out, url = sys.argv[1:]
esp.expand(questions=questions, corpus=corpus, out=out, model=url, model_name="m", contact=3)
"""


@attack
def server_that_is_dead(folder: Path) -> None:
    """A server that nobody runs is named soon, while the run still tries, in both languages."""
    inputs = world(folder)
    url = nobody()
    command = [*COMMAND, "expand", *inputs, "--model", url, "--model-name", "m", "--contact", 3]
    command += ["--out", folder / "command"]
    program = [COMMAND[0], "-c", RUN, inputs[1], inputs[3], folder / "python", url]
    with started(command) as one, started(program) as other:
        time.sleep(15)
        alive = one.poll() is None and other.poll() is None
        for name, process in (("the command", one), ("Python", other)):
            process.terminate()
            done = ended(process, 20)
            held("onnect" in done.said, f"{name} was silent for 15 s")
    attacked(alive, "the run gave up by itself")


def refusing(folder: Path, status: int, message: str) -> None:
    """The server's reason must be on the console of the command and of a program."""
    inputs = world(folder)
    with Server(lambda _: refused(status, message)) as server:
        done = espalier("expand", *inputs, *server.model, "--out", folder / "command")
        program = python(RUN, inputs[1], inputs[3], folder / "python", server.url)
        attacked(len(server.asked) >= 2, f"the server was asked {len(server.asked)} times")
    explained(done, message)
    last = done.err.strip().splitlines()[-3:]
    held(any(message in line for line in last), f"the reason is not in the last lines of the console: {last}")
    held(message in program.said, "Python does not say the reason")


@attack
def key_that_is_wrong(folder: Path) -> None:
    """A refused key is said at once, in both languages."""
    refusing(folder, 401, "Incorrect API key provided")


@attack
def model_that_is_unknown(folder: Path) -> None:
    """A model that the server does not have is said at once, in both languages."""
    refusing(folder, 404, "The model m does not exist")


MISTAKES = {
    "esp.search.F1()(['an answer'])": "State",
    "esp.Bm25(['a passage', 'another'])": "Passage",
    "esp.Simulated(['a question'])": "Question",
    "esp.run(esp.Method('decex'), ['a question'], model=model, retriever=bm25)": "Question",
    "esp.search.Mcts(esp.search.Rollout(esp.search.F1()), simulatons=3)": "simulations",
    "esp.search.Puct(cc=1.0)": "cc",
    "esp.search.Rollout(esp.search.F1(), m=4)": "m",
}
PRELUDE = """
import espalier as esp
world = esp.World(passages=60, questions=2, seed=1)
bm25, model = esp.Bm25(world.passages), esp.Simulated(world.questions)
"""


@attack
def wrong_types_in_python(folder: Path) -> None:
    """A str where a Question or a Passage is due, or an unknown option, ends in one line that says what is wanted."""
    good(python(PRELUDE))
    for mistake, wanted in MISTAKES.items():
        done = python(f"{PRELUDE}\n{mistake}\n")
        attacked(done.code == 1 and "Error" in done.err, f"{mistake} is no mistake: {done.last}")
        held("incompatible" not in done.err and "Invoked with" not in done.err, f"{mistake}: a dump of signatures")
        held(wanted in done.last, f"{mistake}: {done.last}")


@attack
def hints_that_are_far(folder: Path) -> None:
    """A mistyped option is answered by a name that is near, or by none."""
    inputs = world(folder)
    for method, wrong, near in (("decex", "simulatons", ""), ("prorag", "simulatons", "simulations")):
        done = espalier("expand", "--method", method, *inputs, "--set", f"{wrong}=3", "--out", folder / "run")
        explained(done, wrong, near)
        hinted = re.search(r"did you mean '?([\w.]+)", done.said)
        held(near or hinted is None, f"{wrong} of {method} is answered by {hinted and hinted[1]}")


@attack
def run_without_a_corpus(folder: Path) -> None:
    """A run that needs passages and has none complains before it asks anybody."""
    inputs = world(folder)
    with Server() as server:
        done = espalier("expand", *inputs[:2], *server.model, "--out", folder / "run")
        held(not server.asked, f"{len(server.asked)} requests were paid for first")
    explained(done, "corpus")


@attack
def files_that_are_damaged(folder: Path) -> None:
    """Damaged questions and passages are named by file and line before anybody is asked."""
    inputs = world(folder)
    for which, name in ((1, "questions"), (3, "corpus")):
        lines = Path(inputs[which]).read_bytes().splitlines(keepends=True)
        for number, damage in enumerate(
            (b'{"id": 3\n', b"\xff\xfe\x00\n", b"[1]\n", b'{"id": null}\n', b"{" * 9999 + b"\n")
        ):
            bad = folder / f"{name}{number}.jsonl"
            bad.write_bytes(b"".join([*lines[:2], damage, *lines[3:]]))
            given = list(map(str, inputs))
            given[which] = str(bad)
            with Server() as server:
                done = espalier("expand", *given, *server.model, "--out", folder / f"run{name}{number}")
                held(not server.asked, f"{len(server.asked)} requests were paid for in spite of {damage[:20]!r}")
            explained(done, bad.name, "3")
