"""Several servers for one model."""

from __future__ import annotations

import json
from pathlib import Path

import espalier as esp
from conftest import ModelServer, completion, contents, espalier, good, inputs, needs_http, needs_journal, sensible


def answers(request: dict) -> tuple[int, bytes]:
    return completion(sensible(request))


@needs_journal
def test_several_servers_give_the_bytes_of_one_and_each_question_has_its_own(tmp_path: Path):
    esp.write_world(tmp_path / "world", passages=300, questions=40, seed=5)  # so many that each server has some
    run = ["expand", *inputs(tmp_path / "world"), "--model-name", "m", "--in-flight", 16]
    with ModelServer(answers) as alone:
        good(*run, "--model", alone.url, "--out", tmp_path / "one")
    with ModelServer(answers) as a, ModelServer(answers) as b, ModelServer(lambda _: (503, b"")) as ill:
        endpoints = ["--endpoint", b.url + "*2", "--endpoint", ill.url]
        good(*run, "--model", a.url, *endpoints, "--out", tmp_path / "three")
        assert a.requests and b.requests
        accounts = json.loads((tmp_path / "three" / "accounts.json").read_text())
        assert [endpoint["url"] for endpoint in accounts["endpoints"]] == [a.url, b.url, ill.url]
        assert accounts["endpoints"][2]["failures"] > 0
        assert accounts["model"]["requests"] == sum(endpoint["requests"] for endpoint in accounts["endpoints"])
        assert accounts["model"]["requests"] >= accounts["model"]["paid_applied"] + accounts["model"]["paid_cancelled"]
    assert contents(tmp_path / "three") == contents(tmp_path / "one")


@needs_journal
def test_a_purposes_model_has_servers_of_its_own(files: Path, tmp_path: Path):
    run = ["expand", *inputs(files), "--model-name", "m"]
    with ModelServer(answers) as main, ModelServer(answers) as a, ModelServer(answers) as b:
        another = ["--model-for", f"rollout={a.url},m"]
        good(*run, "--model", main.url, *another, "--out", tmp_path / "one")
        seen = [len(server.requests) for server in (main, a, b)]
        assert seen[0] and seen[1] and not seen[2]
        another += ["--endpoint", f"rollout={b.url}*2"]
        good(*run, "--model", main.url, *another, "--out", tmp_path / "two")
        more = [len(server.requests) - before for server, before in zip((main, a, b), seen, strict=True)]
        assert more[0] == seen[0] and more[1] and more[2] and more[1] + more[2] == seen[1]
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


@needs_http
def test_bad_fleets_are_named(files: Path, tmp_path: Path):
    def refused(*more: str) -> str:
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        done = espalier("expand", *inputs(files), "--model-name", "m", "--out", out, *more)
        assert done.returncode == 2, done.stderr
        return done.stderr

    model = ("--model", "http://127.0.0.1:9/v1")
    assert "'endpoint'" in refused(*model, "--endpoint", "http://127.0.0.1:9/v1*0")
    assert "'endpoint'" in refused(*model, "--endpoint", "http://127.0.0.1:9/v1")
    assert "'endpoint'" in refused("--endpoint", "http://127.0.0.1:9/v1")
    assert "the purpose 'rollout'" in refused(*model, "--endpoint", "rollout=http://127.0.0.1:9/v1")
    for alone in ("simulated", "http://127.0.0.1:9/classify,m"):
        other = ("--model-for", f"rollout={alone}")
        assert "'endpoint'" in refused(*model, *other, "--endpoint", "rollout=http://127.0.0.1:9/v1")
