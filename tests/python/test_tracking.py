"""A run's figures reach trackers, each through what its library offers; small modules stand in for the libraries."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import espalier as esp
import pytest
from conftest import JOURNAL, rows
from espalier import tracking


def at(done, calls=5):
    return SimpleNamespace(questions_done=done, questions=4, calls=calls, tokens=7, best_reward=0.5, seconds=1.5)


FIGURES = {
    "espalier/questions_done": 2.0,
    "espalier/questions": 4.0,
    "espalier/calls": 5.0,
    "espalier/tokens": 7.0,
    "espalier/best_reward": 0.5,
    "espalier/seconds": 1.5,
}


@pytest.fixture
def library(monkeypatch):
    """Puts a module with these members in a library's place."""

    def stand_in(name, **members):
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)

    return stand_in


def test_a_sink_hears_of_each_further_question_once():
    heard = []
    tracker = tracking.Tracker(lambda figures, question: heard.append((dict(figures), question)))
    for progress in (at(0), at(2), at(2, calls=6), at(1), at(4)):
        tracker(progress)
    assert [question for _, question in heard] == [2, 4] and heard[0][0] == FIGURES


def test_what_a_sink_raises_stops_the_run():
    def full(figures, question):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        tracking.Tracker(full)(at(1))


def test_lines_of_a_run(files, tmp_path):
    settings = {
        "questions": files / "questions.jsonl",
        "corpus": files / "corpus.jsonl",
        "limit": 3,
        "journal": JOURNAL,
    }
    settings["set"] = {"k": 2, "n": 1, "T_max": 2}
    log = tmp_path / "progress.jsonl"
    esp.expand(out=tmp_path / "run", model="simulated", progress=tracking.Tracker(tracking.jsonl(log)), **settings)
    esp.expand(out=tmp_path / "other", model="simulated", **settings)
    last = rows(log)[-1]
    assert last["espalier/questions_done"] == last["espalier/questions"] == 3 and last["espalier/calls"] > 0
    assert (tmp_path / "run" / "trees.jsonl").read_bytes() == (tmp_path / "other" / "trees.jsonl").read_bytes()


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


def test_opentelemetry(library):
    heard = []
    span = SimpleNamespace(add_event=lambda name, attributes: heard.append((name, attributes)))
    library("opentelemetry", trace=SimpleNamespace(get_current_span=lambda: span))
    for sink in (tracking.opentelemetry(), tracking.opentelemetry(span)):
        tracking.Tracker(sink)(at(2))
    assert heard == [("espalier.progress", FIGURES)] * 2
