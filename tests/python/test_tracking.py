"""A run's figures reach trackers, each through what its library offers; small modules stand in for the libraries."""

import json
import sys
import time
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import espalier as esp
import pytest
from conftest import JOURNAL, contents, inputs, rows
from espalier import tracking
from espalier.cli import main


def at(done, calls=5):
    return SimpleNamespace(questions_done=done, questions=4, calls=calls, tokens=7, best_reward=0.5, seconds=1.5)


FIGURES = {
    "espalier/questions_done": 2.0, "espalier/questions": 4.0, "espalier/calls": 5.0, "espalier/tokens": 7.0,
    "espalier/best_reward": 0.5, "espalier/seconds": 1.5,
}  # fmt: skip


@pytest.fixture
def library(monkeypatch):
    """Puts a module with these members in a library's place."""

    def stand_in(name, **members):
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)

    return stand_in


def test_a_sink_hears_of_each_number_of_questions_once_in_each_run():
    heard = []
    tracker = tracking.Tracker(lambda figures, question: heard.append((dict(figures), question)))
    for progress in (at(0), at(2), at(2, calls=6), at(4)):
        tracker(progress)
    for progress in (at(0), at(2)):  # another run
        tracker(progress)
    assert [question for _, question in heard] == [0, 2, 4, 0, 2] and heard[1][0] == FIGURES


def test_weights_and_biases(library):
    heard = []
    run = SimpleNamespace(log=lambda figures, step: heard.append((figures, step)))
    library("wandb", run=run)
    for sink in (tracking.wandb(), tracking.wandb(run)):
        tracking.Tracker(sink)(at(2))
    assert heard == [(FIGURES, 2)] * 2
    library("wandb", run=None)
    with pytest.raises(ValueError, match=r"call wandb\.init\(\) first"):
        tracking.wandb()


@pytest.mark.parametrize(("name", "function"), [("mlflow", "log_metrics"), ("trackio", "log")])
def test_modules_that_log(library, name, function):
    heard = []
    library(name, **{function: lambda figures, step: heard.append((figures, step))})
    tracking.Tracker(getattr(tracking, name)())(at(2))
    assert heard == [(FIGURES, 2)]


def test_tensorboard(library, tmp_path):
    heard = []

    class SummaryWriter:
        def __init__(self, folder):
            assert folder == str(tmp_path)

        def add_scalar(self, name, number, step):
            heard.append((name, number, step))

        def flush(self):
            heard.append("flushed")

    library("torch.utils.tensorboard", SummaryWriter=SummaryWriter)
    library("torch.utils")
    library("torch")
    tracking.Tracker(tracking.tensorboard(tmp_path))(at(2))
    assert heard == [(name, number, 2) for name, number in FIGURES.items()] + ["flushed"]


def test_a_run_says_when_its_questions_were_started_after_trackers_have_begun(files, tmp_path):
    begun = []

    def begin(progress):
        if not begun:
            time.sleep(0.1)
            begun.append(time.time())

    data = {"questions": files / "questions.jsonl", "corpus": files / "corpus.jsonl", "limit": 2, "journal": JOURNAL}
    esp.answer(out=tmp_path, method="direct", model="simulated", progress=begin, **data)
    for row in rows(tmp_path / "costs.jsonl"):  # by two clocks
        assert begun[0] - 0.05 < row["started"] < row["started"] + row["seconds"] < time.time() + 0.05


SMALL = ["--limit", "3", "--set", "k=2", "--set", "n=1", "--set", "T_max=2", "--json"]


def test_a_line_may_have_trackers(files, tmp_path, capsys):
    line = ["expand", *inputs(files), *SMALL]
    log, config = tmp_path / "log.jsonl", tmp_path / "config.json"
    config.write_text(json.dumps({"track": [f"jsonl={log}"]}))
    tracked = [*line, "--out", str(tmp_path / "a"), "--config", str(config)]
    assert main([*tracked, "--dry-run"]) == 0 and not log.exists()
    assert main(tracked) == 0
    told = [row["espalier/questions_done"] for row in rows(log)]
    assert told[0] == 0 and told[-1] == 3 and told == sorted(set(told))
    assert main(tracked) == 0 and len(rows(log)) == len(told)  # it was finished before
    assert main([*line, "--out", str(tmp_path / "b")]) == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    (a,), (b,) = (rows(tmp_path / name / "run.json") for name in "ab")
    assert a.pop("outputs").keys() == b.pop("outputs").keys() and a == b  # sizes and times of files with clocks in them
    assert "track" not in json.loads((tmp_path / "a" / "config.json").read_text())


class Library:
    """Stands in for a tracker that begins runs; it talks, as they do."""

    def __init__(self):
        self.heard = []

    @contextmanager
    def begun(self, **settings):
        print("hello")
        self.heard.append(settings)
        try:
            yield self
        except BaseException as error:
            self.heard.append(type(error))
            raise
        self.heard.append("ended")

    def log(self, figures, step):
        self.heard.append(step)


@pytest.fixture
def begun(library):
    """What each of the three heard that begin a run."""
    wandb, mlflow, trackio = Library(), Library(), Library()
    library("wandb", init=wandb.begun)
    library("mlflow", set_experiment=mlflow.heard.append, start_run=mlflow.begun, log_metrics=mlflow.log)
    ends = {"init": lambda **settings: trackio.heard.append(settings), "finish": lambda: trackio.heard.append("ended")}
    library("trackio", log=trackio.log, **ends)
    return wandb.heard, mlflow.heard, trackio.heard


@pytest.mark.parametrize("task", ["expand", "answer"])
def test_trackers_are_begun_and_ended(begun, files, tmp_path, capsys, task):
    line = [task, *inputs(files), "--limit", "1", "--method", "decex", "--out", str(tmp_path / "mine"), "--json"]
    assert main([*line, "--track", "wandb=w", "--track", "mlflow=m", "--track", "trackio=t"]) == 0
    wandb, mlflow, trackio = begun
    assert wandb == [{"project": "w", "name": "mine", "settings": {"console": "off"}}, 0, 1, "ended"]
    assert mlflow == ["m", {"run_name": "mine"}, 0, 1, "ended"]
    assert trackio == [{"project": "t", "name": "mine"}, 0, 1, "ended"]
    said = capsys.readouterr()
    assert json.loads(said.out) and said.err == "hello\nhello\n"  # standard output is the command's


def test_each_run_of_an_evaluation_has_a_run_of_its_own_that_ends_with_its_scores(begun, files, tmp_path, capsys):
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    line = ["eval", "--methods", "direct,flare", *inputs(files), "--limit", "2", "--out", str(out), "--json"]
    tracked = [*line, "--track", "wandb=w", "--track", f"jsonl={log}"]
    assert main([*tracked, "--dry-run"]) == 0 and not begun[0]
    assert main(tracked) == 0
    names = [told["name"] for told in begun[0] if isinstance(told, dict)]
    assert names == ["direct", "flare"] and begun[0].count("ended") == 2 and begun[0][-2] == 2
    ends = {row["run"]: row for row in rows(log) if "espalier/f1" in row}
    runs = json.loads((out / "eval.json").read_text())["runs"]
    for run in runs:
        scores = {f"espalier/{metric}": run[metric] for metric in ("em", "f1", "acc")}
        assert ends[run["name"]] == {"run": run["name"], **scores}
    assert "track" not in json.loads((out / "config.json").read_text())
    told = len(rows(log))
    assert main(tracked) == 0 and len(rows(log)) == told  # they were finished before


def test_an_annotation_may_have_trackers(begun, files, tmp_path, capsys):
    line = ["expand", *inputs(files), "--limit", "1", "--method", "prorag", "--set", "simulations=4", "--json"]
    assert main([*line, "--out", str(tmp_path / "run")]) == 0
    annotate = ["annotate", str(tmp_path / "run"), "--with", "judge", "--out", str(tmp_path / "judged"), "--json"]
    assert main([*annotate, "--track", "mlflow=m"]) == 0
    assert begun[1][:2] == ["m", {"run_name": "judged"}] and begun[1][-2:] == [1, "ended"]


def test_a_tracker_that_fails_ends_the_run_and_the_trackers(begun, library, files, tmp_path, capsys):
    def refuse(**settings):
        raise RuntimeError("no key")

    library("trackio", init=refuse)
    line = ["expand", *inputs(files), *SMALL, "--out", str(tmp_path)]
    assert main([*line, "--track", "wandb=w", "--track", "trackio=t"]) == 1
    assert "espalier: --track wandb=w trackio=t: no key\n" in capsys.readouterr().err
    assert len(begun[0]) == 2 and issubclass(begun[0][-1], Exception)
    assert not (tmp_path / "summary.json").exists()
    assert main(line) == 0  # and so it goes on


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wanb=x", "--track: unknown tracker 'wanb', did you mean 'wandb'?"),
        ("x", "--track: unknown tracker 'x', allowed: jsonl, tensorboard, wandb, mlflow, trackio"),
        ("jsonl", "--track takes jsonl=FILE, not 'jsonl'"),
        ("wandb=", "--track takes wandb=PROJECT, not 'wandb='"),
        ("mlflow=m", "pip install mlflow"),
        ("tensorboard=t", "pip install tensorboardX"),
    ],
)
def test_a_bad_tracker_is_refused_before_anything_is_run(monkeypatch, capsys, text, message):
    for absent in ("mlflow", "torch.utils.tensorboard", "tensorboardX"):
        monkeypatch.setitem(sys.modules, absent, None)
    assert main(["expand", "--questions", "q", "--out", "o", "--track", text]) == 2
    err = capsys.readouterr().err
    assert message in err and len(err.splitlines()) == 1
