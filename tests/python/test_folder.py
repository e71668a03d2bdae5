"""A run's folder: one process at a time works there, its files change together, and what was damaged is noticed."""

import json
import os
import resource
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, completion, contents, espalier, good, inputs, needs_journal, refused, start
from espalier.cli import main

pytestmark = needs_journal

SMALL = ["--limit", 3]


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@contextmanager
def working(server: ModelServer, *command: object) -> Iterator[int]:
    """A command that waits for its server within the block; gives its process id."""
    with start(*command, "--model", server.url) as process:
        while not server.requests and process.poll() is None:
            time.sleep(0.01)
        yield process.pid
        process.kill()
        process.communicate()


def test_a_second_process_ends_at_once_and_says_who_works_there(files: Path, tmp_path: Path):
    out = tmp_path / "out"
    command = [*inputs(files), *SMALL, "--model-name", "m", "--out", out]
    with ModelServer() as server:

        def hangs(request: dict[str, object]) -> tuple[int, bytes]:
            silent.released.wait(300)
            return completion("")

        with ModelServer(hangs) as silent, working(silent, "expand", *command) as first:
            others = [["rescore", finished_copy(files, tmp_path)], ["eval", "--methods", "direct", *inputs(files)]]
            for second in (["expand", *command, "--model", server.url], *([*one, "--out", out] for one in others)):
                said = refused(3, *second)
                owner = f"process {first} on {socket.gethostname()}"
                assert f"{out}: this folder is in use: {owner}" in said and "espalier expand" in said
            assert server.requests == []
        assert (out / "run.lock").exists()  # it was killed
        good("expand", *command, "--model", server.url)
    assert not (out / "run.lock").exists()


def finished_copy(files: Path, folder: Path) -> Path:
    good("expand", *inputs(files), *SMALL, "--out", folder / "source")
    return folder / "source"


def test_commands_that_read_a_folder_finish_what_a_killed_process_began(run: Path, tmp_path: Path):
    new = tmp_path / "new"
    shutil.copytree(run, new)
    good("rescore", run, "--set", "reward=em", "--out", tmp_path / "em")
    after = {name: data for name, data in everything(tmp_path / "em").items() if "journal" not in name}
    readers: list[Callable[[Path], object]] = [
        lambda folder: espalier("export", folder, "--format", "sft.messages", "--out", tmp_path / "data").returncode,
        lambda folder: espalier("report", folder).returncode,
        lambda folder: espalier("report", folder, run).returncode,
        lambda folder: espalier("journal", folder).returncode,
        lambda folder: esp.read_run(folder).summary and 0,
    ]
    for number, read in enumerate(readers):
        folder = tmp_path / str(number)
        shutil.copytree(run, folder)
        whole = folder / "run.whole"
        whole.mkdir()
        for place, (name, data) in enumerate(sorted(after.items())):
            ((folder if place < 4 else whole) / name).write_bytes(data)
        assert read(folder) == 0
        found = everything(folder)
        assert not whole.exists()
        assert {name: found[name] for name in after if name not in ("report.html", "run.json")} == {
            name: data for name, data in after.items() if name not in ("report.html", "run.json")
        }


def test_an_annotation_that_is_killed_leaves_the_old_files_or_the_new(tmp_path: Path, files: Path):
    method = ["--method", "prorag", "--set", "simulations=8", "--set", "samples=3", "--set", "annotate=none", *SMALL]
    good("expand", *inputs(files), *method, "--out", tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "whole")
    names = [path.name for path in (tmp_path / "run").glob("*.jsonl") if path.name != "costs.jsonl"]

    def files_of(folder: Path) -> dict[str, bytes]:
        return {name: (folder / name).read_bytes() for name in names}

    old = files_of(tmp_path / "run")
    with ModelServer(lambda request: completion("<score> 0.5 </score>")) as server:
        with_ = ["--with", f"prm={server.url},strict", "--in-flight", 2]
        good("annotate", tmp_path / "whole", *with_)
        new, asked = files_of(tmp_path / "whole"), len(server.requests)
        assert new != old and asked > 6
        for kill in range(3):
            server.requests.clear()
            with start("annotate", tmp_path / "run", *with_) as process:
                while len(server.requests) < 2 * (kill + 1) and process.poll() is None:
                    time.sleep(0.001)
                process.send_signal(signal.SIGKILL)
                process.communicate()
            assert files_of(tmp_path / "run") in (old, new)
        good("annotate", tmp_path / "run", *with_)
    assert files_of(tmp_path / "run") == new


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("trees.jsonl", lambda data: data[: len(data) // 2]),
        ("dpo.jsonl", lambda data: data.replace(b"a", b"b", 1)),
        ("sft.jsonl", None),
        ("costs.jsonl", lambda data: b""),
        ("report.html", lambda data: data[:-9]),
        ("summary.json", lambda data: b"{}\n"),
        ("summary.json", None),
    ],
)
def test_an_output_that_was_damaged_is_made_again(run, files, name, damage):
    before = contents(run)
    kept = (run / name).read_bytes()
    if damage is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(damage(kept))
        assert (run / name).read_bytes() != kept
    command = ["expand", *inputs(files), *SMALL, "--out", run]
    named = refused(3, *command, "--no-journal")
    assert f"{run / name}: is not as the run left it, and there is no journal" in named
    mended = good(*command)
    assert f"made again from its journal: {name}" in mended.stderr
    assert contents(run) == before
    if name not in ("costs.jsonl", "summary.json", "report.html"):  # which have times in them
        assert (run / name).read_bytes() == kept
    again = espalier(*command)
    assert again.stderr == "" and "finished before" in again.stdout


def test_a_finished_run_whose_files_were_copied_or_whose_page_was_made_again_is_recognised(run: Path, files: Path):
    for file in run.glob("*.jsonl"):
        os.utime(file)
    good("report", run)
    done = good("expand", *inputs(files), *SMALL, "--out", run)
    assert "finished before" in done.stdout and done.stderr == ""


def test_run_json_names_every_output(run: Path):
    outputs = json.loads((run / "run.json").read_text())["outputs"]
    noted = {name.removesuffix(".bytes"): size for name, size in outputs.items() if name.endswith(".bytes")}
    apart = {"run.json", "config.json", "servers.json", "stops"}
    left = {path.name for path in run.iterdir() if "journal" not in path.name} - apart
    assert noted == {name: (run / name).stat().st_size for name in left}


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nobody can write there: root is somebody else meanwhile."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """What writes more bytes of a file than these is refused, as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, old[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_full_disk_is_named_and_where_there_is_room_the_run_goes_on(run, files, tmp_path, capsys, share):
    command = list(map(str, ["expand", *inputs(files), *SMALL, "--out", tmp_path / "out"]))
    most = max(path.stat().st_size for path in run.iterdir())
    with small_files(int(share * most)):
        assert main(command) != 0
    said = capsys.readouterr().err
    assert said.startswith(f"espalier: {tmp_path / 'out'}") and said.count("\n") == 1
    assert main(command) == 0
    assert contents(tmp_path / "out") == contents(run)


def test_a_full_disk_is_named_with_the_file_by_every_command_that_writes(run: Path, files: Path, tmp_path: Path):
    out, shards = tmp_path / "out", [tmp_path / str(part) for part in (1, 2)]
    for part, shard in enumerate(shards, 1):
        good("expand", *inputs(files), *SMALL, "--constrain", "off", "--shard", f"{part}/2", "--out", shard)
    corpus = ["--corpus", files / "corpus.jsonl"]
    commands: list[list[object]] = [
        ["merge", *shards],
        ["merge", *shards, "--no-journal"],
        ["export", run, "--format", "sft.messages"],
        ["export", run, "--format", "rl.verl"],
        ["index", "build", *corpus],
        ["world", "--passages", "300", "--questions", "3"],
        ["batch", "prepare", *inputs(files), "--model-name", "m"],
        ["rescore", run],
        ["eval", "--methods", "direct", *inputs(files), "--limit", "4"],
        ["questions", files / "questions.jsonl"],
    ]
    for number, command in enumerate(commands):
        for most in (0, 500, 4096):
            with small_files(most):
                done = espalier(*command, "--out", out / str(number))
            last = done.stderr.splitlines()[-1] if done.stderr else ""
            named = done.returncode == 3 and f"espalier: {tmp_path}" in last
            assert named or (most and done.returncode == 0), (command, most, done.stderr)


@pytest.fixture
def public(finished: Path) -> Iterator[Path]:
    """A finished run in a folder that everybody can read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copytree(finished, Path(folder) / "run"))


def test_a_folder_that_cannot_be_written_is_named(public, files, capsys, tmp_path):
    world = public.parent / "world"
    world.mkdir()
    for name in ("questions.jsonl", "corpus.jsonl"):
        shutil.copyfile(files / name, world / name)
    command = list(map(str, ["expand", *inputs(world), *SMALL, "--out"]))
    assert main([*command, str(tmp_path / "first")]) == 0  # everything is imported
    capsys.readouterr()
    with read_only(public):
        assert main([*command, str(public)]) == 3
        said = capsys.readouterr().err
    assert said == f"espalier: {public}: cannot be written: Permission denied\n"


def test_a_journal_in_a_folder_that_cannot_be_written_is_read(public: Path, capsys: pytest.CaptureFixture[str]):
    def told() -> dict[str, object]:
        assert main(["journal", str(public), "--json"]) == 0
        return dict(json.loads(capsys.readouterr().out))

    before = told()
    assert before["groups"]
    with read_only(public):
        assert told() == before
