"""The driver of a run by workers of Ray, with a Ray whose actors work at once in this process."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import espalier as esp
import pytest
from conftest import ModelServer, completion, contents, expanded, inputs, needs_http, needs_journal, sensible
from espalier.cli import main
from espalier.runs import ray_driver, ray_run
from espalier.runs.ray_worker import Outcome, Place

HERE = Path.cwd()


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class Silent(Exception):
    """Work that never ends."""


class FakeRay:
    """A cluster. `meet` is called before each piece of work with its actor's number and the shard, and may raise."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, meet: Callable[[int, str], None] = lambda actor, shard: None) -> None:
        self.meet = meet
        self.actors = 0
        self.killed: list[int] = []
        self.work: list[tuple[int, str]] = []

    def remote(self, made: type) -> FakeRay:
        self._made = made
        return self

    def options(self, **_: object) -> SimpleNamespace:
        def actor() -> SimpleNamespace:
            number, worker = self.actors, self._made()
            self.actors += 1

            def begin(*arguments: Any) -> object:
                return self.done(lambda: worker.begin(*arguments)._replace(node=f"node {number % 2}"))

            def work(task: str, settings: Any, lease: str, attempt: int) -> object:
                self.work.append((number, settings["shard"]))

                def do() -> object:
                    self.meet(number, settings["shard"])
                    return worker.work(task, settings, lease, attempt)

                return self.done(do)

            methods = {"begin": begin, "work": work}
            return SimpleNamespace(number=number, **{n: SimpleNamespace(remote=m) for n, m in methods.items()})

        return SimpleNamespace(remote=actor)

    def done(self, do: Callable[[], object]) -> Any:
        try:
            return Ref(do())
        except (RayError, Silent) as error:
            return Ref(error)
        except Exception as error:
            return Ref(RayTaskError(error))

    def wait(self, refs: Sequence[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        print("(raylet) A worker died")  # as Ray does: the output of a command must stay whole
        ready = [ref for ref in refs if not isinstance(ref.value, Silent)]
        return ready[:num_returns], []

    def get(self, ref: Any) -> Any:
        if isinstance(ref.value, Exception):
            raise ref.value
        return ref.value

    def kill(self, actor: SimpleNamespace) -> None:
        self.killed.append(actor.number)

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0, "GPU": 4.0}

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(get_node_id=lambda: "")


class Ref:
    def __init__(self, value: object) -> None:
        self.value = value


@pytest.fixture
def spread(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Does the run by workers of a fake Ray."""

    def run(ray: FakeRay, **more: Any) -> Any:
        monkeypatch.setitem(sys.modules, "ray", ray)
        data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
        return esp.ray_run("expand", **{"set": {"n": 1}, "limit": 6, "shards": 4, "workers": 2, **data, **more})

    yield run
    os.chdir(HERE)


@pytest.fixture(scope="module")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole")
    expanded(files, out, set={"n": 1}, limit=6)
    return contents(out)


def test_shards_become_the_bytes_of_one_run_and_the_progress_is_of_all(
    spread: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path
):
    ray, told = FakeRay(), []
    done = spread(ray, out=tmp_path / "out", progress=lambda at: told.append((at.questions_done, at.questions)))
    assert contents(tmp_path / "out") == whole and done.open == 0 and not done.recognised
    assert [shard for _, shard in ray.work] == ["1/4", "2/4", "3/4", "4/4"]
    assert told[-1] == (6, 6) and told == sorted(told)
    assert sorted(set(ray.killed)) == [0, 1], "no worker outlives its driver"
    again = FakeRay()
    assert spread(again, out=tmp_path / "out").recognised and not again.actors


@pytest.fixture(params=["folder", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    fsspec = pytest.importorskip("fsspec")
    yield str(tmp_path / "storage") if request.param == "folder" else f"memory://{tmp_path.name}"
    fsspec.filesystem("memory").store.clear()


def test_shards_in_a_storage_become_the_bytes_of_one_run(
    spread: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, storage: str
):
    def meet(actor: int, shard: str) -> None:
        if shard == "3/4":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spread(FakeRay(meet), out=tmp_path / "out", storage=storage)
    assert [path.name for path in (tmp_path / "out/shards/shard-1").iterdir()] == ["run.json"]
    for other in (None, "elsewhere"):
        with pytest.raises(
            esp.errors.InputError, match=rf"holds a run whose shards are in .*{tmp_path.name}.*'storage'"
        ):
            spread(FakeRay(), out=tmp_path / "out", storage=other)
    ray = FakeRay()
    spread(ray, out=tmp_path / "out", storage=storage)
    assert contents(tmp_path / "out") == whole
    assert [shard for _, shard in ray.work] == ["1/4", "3/4", "4/4"], "one finished shard accepts the options"
    again = FakeRay()
    assert spread(again, out=tmp_path / "out", storage=storage).recognised and not again.actors

    shutil.rmtree(tmp_path / "out")
    ray = FakeRay()
    spread(ray, out=tmp_path / "out", storage=storage)
    assert contents(tmp_path / "out") == whole and [shard for _, shard in ray.work] == ["1/4"]
    with pytest.raises(esp.errors.Error, match=r"another seed \(1, now 5\)"):
        spread(FakeRay(), out=tmp_path / "other/out", storage=storage, seed=5)


def test_a_storage_that_nothing_reads_is_said_before_anything_begins(spread: Callable[..., Any], tmp_path: Path):
    pytest.importorskip("fsspec")
    ray = FakeRay()
    with pytest.raises(ValueError, match="option 'storage': Protocol not known: nothing"):
        spread(ray, out=tmp_path / "out", storage="nothing://a")
    assert not ray.actors and list((tmp_path / "out").iterdir()) == []


def test_a_node_without_a_package_for_the_storage_is_said(
    spread: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("fsspec")

    def begin(self: Any, *arguments: Any) -> Place:
        raise esp.errors.MissingPart("option 'storage' needs a package that is missing: Install s3fs")

    monkeypatch.setattr(ray_driver.Worker, "begin", begin)
    with pytest.raises(esp.errors.Error, match=r"4 of 4 shards are not finished.*Install s3fs"):
        spread(FakeRay(), out=tmp_path / "out", storage=tmp_path / "storage")


def test_lost_workers_are_replaced(
    spread: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    def meet(actor: int, shard: str) -> None:
        if actor in (0, 2):
            raise RayError("the node died")

    ray = FakeRay(meet)
    spread(ray, out=tmp_path / "out")
    assert contents(tmp_path / "out") == whole
    assert ray.actors == 4 and caplog.text.count("lost its worker") == 2
    attempts = [ray_driver.read_lease(file).attempt for file in (tmp_path / "out/shards").glob("*.lease")]
    assert sorted(attempts) == [1, 1, 1, 1], "a worker that was lost before it began left no lease"


def test_a_worker_without_a_heartbeat_is_replaced(
    spread: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ray_driver, "TERM", 0.0)

    def meet(actor: int, shard: str) -> None:
        if actor == 1:
            raise Silent

    ray = FakeRay(meet)
    spread(ray, out=tmp_path / "out")
    assert contents(tmp_path / "out") == whole
    assert ray.actors == 3 and 1 in ray.killed


def test_what_fails_at_one_node_goes_to_another_and_then_is_left(
    spread: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    worked = ray_driver.Worker.work

    def full(self: Any, task: str, settings: Any, lease: str, attempt: int) -> Outcome:
        if (settings["shard"], len(ray.work)) in broken or (settings["shard"], 0) in broken:
            return Outcome(error="No space left on device")
        return worked(self, task, settings, lease, attempt)

    monkeypatch.setattr(ray_driver.Worker, "work", full)
    ray, broken = FakeRay(), {("1/4", 1)}
    spread(ray, out=tmp_path / "one")
    assert contents(tmp_path / "one") == whole
    nodes = [actor % 2 for actor, shard in ray.work if shard == "1/4"]
    assert sorted(nodes) == [0, 1]

    ray, broken = FakeRay(), {("3/4", 0)}
    with pytest.raises(esp.errors.Error, match=r"1 of 4 shards are not finished.*shard-3: No space left on device$"):
        spread(ray, out=tmp_path / "two")
    assert [shard for _, shard in ray.work].count("3/4") == 2 and not (tmp_path / "two/run.json").exists()
    ray, broken = FakeRay(), set()
    spread(ray, out=tmp_path / "two")
    assert contents(tmp_path / "two") == whole
    assert [shard for _, shard in ray.work] == ["1/4", "3/4"], "the first finished one accepts the options"


def test_workers_that_cannot_begin_end_the_run_with_the_reason(
    spread: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def other(self: Any, *arguments: Any) -> Place:
        return Place("", "far", "9.9")

    monkeypatch.setattr(ray_driver.Worker, "begin", other)
    with pytest.raises(esp.errors.Error, match=r"4 of 4 shards are not finished.*far has Espalier 9\.9, not "):
        spread(FakeRay(), out=tmp_path / "one")

    def lost(self: Any, *arguments: Any) -> Place:
        raise RayError("no module named espalier")

    monkeypatch.setattr(ray_driver.Worker, "begin", lost)
    ray = FakeRay()
    with pytest.raises(esp.errors.Error, match="no module named espalier"):
        spread(ray, out=tmp_path / "one")
    assert ray.actors <= 5

    def absent(self: Any, *arguments: Any) -> Place:
        raise FileNotFoundError("/elsewhere: no such folder")

    monkeypatch.setattr(ray_driver.Worker, "begin", absent)
    with pytest.raises(esp.errors.Error, match="/elsewhere: no such folder"):
        spread(FakeRay(), out=tmp_path / "one")


def test_other_options_are_refused_before_a_new_shard_is_begun(spread: Callable[..., Any], tmp_path: Path):
    def meet(actor: int, shard: str) -> None:
        if shard != "1/4":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spread(FakeRay(meet), out=tmp_path / "out")
    ray = FakeRay()
    with pytest.raises(esp.errors.Error, match=r"shard-1: .*another seed \(1, now 5\)"):
        spread(ray, out=tmp_path / "out", seed=5)
    assert {shard for _, shard in ray.work} == {"1/4"}


@needs_http
@needs_journal
def test_one_shard_decides_for_all_how_replies_are_constrained(spread: Callable[..., Any], tmp_path: Path):
    probes: list[str] = []
    down = True

    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        if down:
            return 503, b"overloaded"
        text = request["messages"][-1]["content"]
        probe = bool(re.search("Quixote|Vienna|Copernicus|Florence", text))
        if probe:
            probes.append(text)
        return completion("Well, well." if probe and "grammar" not in request else sensible(request))

    with ModelServer(respond, owner="llamacpp") as server:
        settings = {"model": server.url, "model_name": "m", "attempts": 1, "out": tmp_path / "out"}
        with pytest.raises(esp.errors.Error, match="4 of 4 shards are not finished"):
            spread(FakeRay(), **settings)
        down = False
        done = spread(FakeRay(), **settings)
    asked = sum(one["calls"] for one in done.summary["probes"].values())
    assert done.open == 0 and len(probes) == asked > 0
    assert done.summary["by_purpose"]["rollout"]["constrained"] == done.summary["by_purpose"]["rollout"]["calls"] > 0


def test_a_folder_of_another_run_is_refused(spread: Callable[..., Any], files: Path, tmp_path: Path):
    out = tmp_path / "out"
    expanded(files, out, set={"n": 2}, limit=6)
    with pytest.raises(ValueError, match=r"another options.n \(2, now 1\)"):
        spread(FakeRay(), out=out)
    (out / "run.json").write_text('{"identity": "", "method": "decex"}')
    with pytest.raises(esp.errors.InputError, match="holds a run that was begun without Ray"):
        spread(FakeRay(), out=out)


@pytest.fixture(scope="module")
def searched(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of trees without annotations."""
    out = tmp_path_factory.mktemp("searched")
    expanded(files, out, method="prorag", limit=6, set={"simulations": 8, "annotate": "none"})
    return out


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    made = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", made)
    yield made
    os.chdir(HERE)


def annotated(run: Path) -> dict[str, bytes]:
    """What must be equal to the byte."""
    files = [path for path in run.iterdir() if path.suffix in (".jsonl", ".html") and path.stem != "costs"]
    return {path.name: path.read_bytes() for path in files}


def known(run: Path) -> dict[str, Any]:
    """The record of a run, but for when its files were written and for those that have clocks in them."""
    record = json.loads((run / "run.json").read_text())
    free = ("accounts", "costs", "summary")
    hashes = {name: hash for name, hash in record["outputs"].items() if name.endswith("hash")}
    return record | {"outputs": {name: hash for name, hash in hashes.items() if not name.startswith(free)}}


def judging(requests: list[str]) -> Callable[[dict[str, Any]], tuple[int, bytes]]:
    """A judge of steps, whose score follows from the prompt, and what it was asked."""

    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        text = json.dumps(request["messages"])
        requests.append(text)
        return completion(f"<score> 0.{len(text) % 10} </score>")

    return respond


@needs_http
@needs_journal
def test_an_annotation_by_workers_is_that_of_one_machine(ray: FakeRay, searched: Path, tmp_path: Path):
    one, many = (Path(shutil.copytree(searched, tmp_path / name)) for name in ("one", "many"))
    asked: list[str] = []
    with ModelServer(judging(asked)) as server:
        with_ = {"prm": (server.url, "strict")}
        esp.annotate(one, with_)
        alone, bare = len(asked), annotated(many)
        done = esp.ray_run("annotate", run=many, with_=with_, workers=2, shards=3)
        assert annotated(many) == annotated(one) != bare and known(many) == known(one)
        assert done.summary["calls"] == json.loads((one / "summary.json").read_text())["calls"]
        paid = len(asked) - alone
        assert alone <= paid <= 3 * alone and [shard for _, shard in ray.work] == ["1/3", "2/3", "3/3"]

        esp.ray_run("annotate", run=many, with_=with_, workers=1)
        esp.annotate(many, with_)
        assert annotated(many) == annotated(one) and len(asked) == alone + paid, "each answer is paid once"

        esp.ray_run("annotate", run=many, with_={"judge": None}, workers=2)
        esp.annotate(one, {"judge": None})
        assert annotated(many) == annotated(one) and known(many) == known(one)
    assert esp.expand(**recorded_settings(searched), out=many).recognised


def recorded_settings(run: Path) -> dict[str, Any]:
    noted = json.loads((run / "run.json").read_text())["noted"]
    data = {name: noted[name] for name in ("questions", "corpus")}
    return {**data, "method": "prorag", "limit": 6, "set": {"simulations": 8, "annotate": "none"}}


@needs_http
@needs_journal
def test_an_annotation_in_a_storage_pays_each_answer_once(ray: FakeRay, searched: Path, tmp_path: Path, storage: str):
    one, many = (Path(shutil.copytree(searched, tmp_path / name)) for name in ("one", "many"))
    asked: list[str] = []
    with ModelServer(judging(asked)) as server:
        with_ = {"prm": (server.url, "strict")}
        esp.annotate(one, with_)
        alone = len(asked)
        for _ in range(2):
            esp.ray_run("annotate", run=many, with_=with_, workers=2, shards=3, storage=storage)
            assert annotated(many) == annotated(one) and known(many) == known(one)
            paid, asked[alone:] = len(asked) - alone, []
            assert (alone <= paid <= 3 * alone) if len(ray.work) == 3 else paid == 0


def test_an_annotation_by_workers_may_go_elsewhere(ray: FakeRay, searched: Path, tmp_path: Path):
    before = annotated(searched)
    esp.annotate(searched, {"prm": None}, out=tmp_path / "one")
    for _ in range(2):
        line = ["annotate", searched, "--with", "prm", "--out", tmp_path / "many", "--ray", "auto", "--shards", 2]
        assert main([str(word) for word in line]) == 0
        assert annotated(tmp_path / "many") == annotated(tmp_path / "one")
        assert known(tmp_path / "many") == known(tmp_path / "one")
    assert annotated(searched) == before
    with pytest.raises(esp.errors.InputError, match=r"one: holds a run that no workers of Ray annotated"):
        esp.ray_run("annotate", run=searched, with_={"prm": None}, out=tmp_path / "one")


def test_a_shard_is_annotated_without_workers(ray: FakeRay, files: Path, tmp_path: Path):
    expanded(files, tmp_path / "part", method="prorag", limit=2, shard="1/2", set={"simulations": 8})
    with pytest.raises(esp.errors.InputError, match=r"part: is a shard: annotate it without Ray, or the merged run"):
        esp.ray_run("annotate", run=tmp_path / "part", with_={"prm": None})


def test_an_annotation_that_is_not_whole_leaves_the_run_as_it_was(
    ray: FakeRay, searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = Path(shutil.copytree(searched, tmp_path / "run"))
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and "journal" not in path.name}
    monkeypatch.setattr(ray_driver.Worker, "work", lambda *_: Outcome(error="No space left on device"))
    with pytest.raises(esp.errors.Error, match=r"2 of 2 shards are not finished.*annotation/shard-1: No space left"):
        esp.ray_run("annotate", run=run, with_={"prm": None}, workers=1, shards=2)
    assert {name: (run / name).read_bytes() for name in before} == before


def test_an_evaluation_by_workers_has_the_figures_of_one_machine(
    ray: FakeRay, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    line = ["eval", "--methods", "direct,decex", *inputs(files), "--limit", "6", "--set", "decex.n=1", "--json"]
    spread = ["--ray", "auto", "--workers", "2", "--shards", "3"]
    for name, more in (("one", []), ("many", spread), ("many", spread)):
        assert main([*line, "--out", str(tmp_path / name), *more]) == 0
    assert [shard for _, shard in ray.work] == 2 * ["1/3", "2/3", "3/3"], "what is finished is not done again"
    said = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    data = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    own = {"set": {"decex.n": 1}, "limit": 6, "workers": 2, "shards": 3}
    result = esp.ray_run("eval", methods="direct,decex", out=tmp_path / "python", **data, **own)
    said.append(json.loads(json.dumps(result)))
    for result in said:
        for run in result["runs"]:
            del run["seconds"], run["run_seconds"]
    assert said[0] == said[1] == said[2] == said[3]
    for method in ("direct", "decex"):
        for name in ("trees.jsonl", "answers.jsonl", "report.html"):
            one, many = ((tmp_path / out / "runs" / method / name).read_bytes() for out in ("one", "many"))
            assert one == many


def test_as_many_workers_as_the_cluster_has_room_for():
    ray: Any = FakeRay()
    assert (ray_run.capacity(ray, 0), ray_run.capacity(ray, 0.5), ray_run.capacity(ray, 9)) == (2, 8, 1)
