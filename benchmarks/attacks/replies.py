"""Replies that a server ought not to send, and keys that ought not to be chosen."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from .package import data, espalier, explained, good, python, rows, world
from .server import Reply, Server, prompt_of, refused, said, sensible
from .verdict import attack, attacked, held

# A run by the API that tells the most memory it had, in MiB.
MEASURED = """
import sys, espalier as esp
questions, corpus, out, url, in_flight = sys.argv[1:]
try:
    esp.expand(questions=questions, corpus=corpus, out=out, model=url, model_name="m", in_flight=int(in_flight),
               attempts=1, journal=False)
finally:
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    print("peak", int(status["VmHWM"].split()[0]) // 1024)
"""
MOST = 600  # MiB: 256 for what is in flight, and what a reader needs of the largest


def peak(folder: Path, server: Server, in_flight: int) -> int:
    """MiB of a process whose server answers like that."""
    _, questions, _, corpus = world(folder, questions=in_flight)
    done = python(MEASURED, questions, corpus, folder / "run", server.url, in_flight, limit=100)
    held("peak" in done.out, f"the process died: {done.last}")
    return int(done.out.split()[-1])


def answered_with_key(folder: Path, key: str) -> None:
    """Every answer is the model's text, whatever the key is."""
    text = "none of the test words takes a key"
    inputs = world(folder)
    with Server(lambda _: said(text)) as server:
        run = ["answer", "--method", "direct", *inputs, *server.model, "--out", folder / "run"]
        good(espalier(*run, env={"OPENAI_API_KEY": key}, limit=30))
        attacked(server.keys == {key}, f"the key did not reach the server: {server.keys}")
    answers = {row["answer"] for row in rows(folder / "run" / "answers.jsonl")}
    held(answers == {text}, f"replies were rewritten: {answers}")


@attack
def key_that_is_a_word(folder: Path) -> None:
    """A key that is a common word changes no reply."""
    answered_with_key(folder, "test")


@attack
def key_of_one_letter(folder: Path) -> None:
    """A key that its own replacement holds neither changes a reply nor ends in a loop."""
    answered_with_key(folder / "one", "k")
    answered_with_key(folder / "three", "key")


@attack
def key_that_is_echoed(folder: Path) -> None:
    """A server's error that shows the key shows it to nobody else."""
    key = 'sk-quite"Secret/0123456789'
    inputs = world(folder)
    with Server(lambda _: refused(401, f"Incorrect API key provided: {key}")) as server:
        done = espalier("expand", *inputs, *server.model, "--out", folder / "run", env={"OPENAI_API_KEY": key})
        attacked(server.keys == {key}, f"the key did not reach the server: {server.keys}")
    explained(done)
    shown = [path.name for path in (folder / "run").iterdir() if b"Secret/0123456789" in path.read_bytes()]
    held(not shown, f"the key stands in {', '.join(shown)}")
    held("0123456789" not in done.said, "the key stands on the console")


@attack
def reply_cut_at_its_length(folder: Path) -> None:
    """A reply that max_tokens cut is called cut, counted apart from what cannot be read, and its limit is named."""
    inputs = world(folder)
    with Server(lambda _: said("I think that the first", finish="length")) as server:
        done = espalier("expand", *inputs, *server.model, "--out", folder / "run")
        attacked(server.asked, "nobody asked")
    explained(done, "cut", "max_tokens")
    purposes = json.loads((folder / "run" / "summary.json").read_text())["by_purpose"].values()
    held(any(purpose.get("cut") for purpose in purposes), "summary.json does not count what was cut")


@attack
def thought_without_words(folder: Path) -> None:
    """A thinking model that spends all its tokens on thoughts is said to have been cut, by a run and by doctor."""
    inputs = world(folder)
    with Server(lambda _: said(None, finish="length", reasoning_content="Let me see. First")) as server:
        done = espalier("expand", *inputs, *server.model, "--out", folder / "run")
        explained(done, "cut", "max_tokens")
        asked = len(server.asked)
        examined = espalier("doctor", *inputs, *server.model)
        attacked(len(server.asked) > asked, "doctor did not ask")
    explained(examined, "cut")


@attack
def think_mark_without_end(folder: Path) -> None:
    """An action behind a think mark that never closes is read."""
    inputs = world(folder)
    with Server(lambda _: said("<think> I know it. <answer> Paris </answer>")) as server:
        good(espalier("answer", "--method", "search-r1", *inputs, *server.model, "--out", folder / "run"))
        attacked(server.asked, "nobody asked")
    answers = {row["answer"] for row in rows(folder / "run" / "answers.jsonl")}
    held(answers == {"Paris"}, f"the answers are {answers}")


@attack
def endless_bodies(folder: Path) -> None:
    """Sixteen bodies without an end at once take no more than their common limit."""

    def endless() -> Iterator[bytes]:
        yield b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "'
        while True:
            yield b"a" * (1 << 20)

    with Server(lambda _: Reply(endless())) as server:
        most = peak(folder, server, 16)
        attacked(server.sent > 256 << 20, f"only {server.sent} bytes were taken")
    held(most < MOST, f"the process grew to {most} MiB")


@attack
def gzip_bomb(folder: Path) -> None:
    """A small body that unpacks to a gigabyte is not unpacked."""
    pack = zlib.compressobj(6, zlib.DEFLATED, 31)
    first, again = (pack.compress(b" " * (1 << 24)) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    bomb = first + 63 * again
    with Server(lambda _: Reply(bomb, headers={"Content-Encoding": "gzip"})) as server:
        most = peak(folder, server, 4)
        attacked(server.sent >= len(bomb), "nobody took the bomb")
    held(most < MOST, f"the process grew to {most} MiB")


@attack
def usage_beyond_belief(folder: Path) -> None:
    """A usage that no request allows is not believed, the reply stays, and the run says so."""
    most = 2**63 - 1
    usage = {"prompt_tokens": most, "completion_tokens": most, "total_tokens": most}
    inputs = world(folder)
    with Server(lambda _: said("Paris", usage=usage)) as server:
        run = ["answer", "--method", "direct", *inputs, *server.model, "--out", folder / "run"]
        done = good(espalier(*run))
        attacked(server.asked, "nobody asked")
        longest = max(len(prompt_of(request)) for request in server.asked)
    answers = rows(folder / "run" / "answers.jsonl")
    held({row["answer"] for row in answers} == {"Paris"}, "the replies were lost")
    counted = max(row["prompt_tokens"] or 0 for row in answers)
    held(counted <= longest, f"{counted} prompt tokens were believed of {longest} bytes")
    held("usage" in done.said, "nothing was said of the usage")


@attack
def keys_in_no_file(folder: Path) -> None:
    """A good run leaves its key in no file and on no console."""
    key = "sk-entirely-secret-0123456789"
    inputs = world(folder)
    with Server(sensible) as server:
        done = good(espalier("expand", *inputs, *server.model, "--out", folder / "run", env={"OPENAI_API_KEY": key}))
        attacked(server.keys == {key}, "the key did not reach the server")
    held(key not in done.said, "the key stands on the console")
    held(data(folder / "run"), "nothing was written")
    shown = [path.name for path in (folder / "run").iterdir() if key.encode() in path.read_bytes()]
    held(not shown, f"the key stands in {', '.join(shown)}")
