"""`espalier serve answers`: a method behind OpenAI's chat completions."""

import asyncio
import json
import signal
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import espalier as esp
import pytest
from conftest import JOURNAL, ModelServer, completion, needs_journal, rows, sensible, start
from espalier.serve import answers, searches
from espalier.serve.answers import Offer
from serving import Client, Test, against, door, refused, until

OFFER = Offer(name="m", seed=1, traces=None, max_question=200, searches=8, time_limit=50)


def simulated(files: Path, **other: Any) -> dict[str, Any]:
    named = {name: files / f"{name}.jsonl" for name in ("questions", "corpus")}
    return {"method": "decex", "model": "simulated", "set": {}, **named, **other}


def remote(server: ModelServer, files: Path, **other: Any) -> dict[str, Any]:
    at = {"model": server.url, "model_name": "x", "corpus": files / "corpus.jsonl"}
    return {"method": "decex", **at, "set": {}, **other}


def chat(question: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": question}], **more}


def check(test: Test, settings: dict[str, Any], *, at: Any = None, **other: Any) -> None:
    offer = replace(OFFER, **other)
    against(lambda listening: answers.serve(settings, offer, at or door(), listening), test)


def end_of(tree: esp.Tree) -> esp.Node:
    (end,) = [node for node in tree.nodes if node.state.answer == esp.best_answer(tree)]
    return end


COMPLETIONS = "/v1/chat/completions"


@pytest.fixture
def held(files: Path) -> Any:
    """A model that answers once it is released."""
    server = ModelServer(lambda request: (server.released.wait(60), completion(sensible(request)))[1])
    with server:
        yield server


def test_an_answer_its_citations_and_its_tree(files: Path, world: esp.World, tmp_path: Path):
    async def test(client: Client) -> None:
        for question in world.questions[:4]:
            status, reply, _ = await client.post(COMPLETIONS, chat(question.text))
            assert status == 200 and reply["object"] == "chat.completion" and reply["model"] == "m"
            (choice,) = reply["choices"]
            more = reply["espalier"]
            (tree,) = esp.read_trees(tmp_path / f"{more['trace_id']}.jsonl")
            row = tree.to_row()
            assert tree.question.text == question.text and tree.question.gold == []
            assert choice["message"] == {"role": "assistant", "content": row["answer"], "refusal": None}
            assert choice["finish_reason"] == "stop" and more["status"] == "done" and more["ignored"] == []
            assert (more["calls"], more["retrievals"]) == (row["completions"], row["retrievals"])
            counts = {name: row[name] for name in ("prompt_tokens", "completion_tokens")}
            assert reply["usage"] == counts | {"total_tokens": sum(counts.values())} and more["nodes"] == len(tree)
            known = {passage.id: passage for passage in world.passages}
            for cited in more["citations"]:
                assert (known[cited["id"]].title, known[cited["id"]].text) == (cited["title"], cited["text"])
                assert cited["rank"] >= 1 and cited["search"] >= 1
            assert len({cited["id"] for cited in more["citations"]}) == len(more["citations"])
            assert bool(more["citations"]) == any(kind == "documents" for kind, _ in end_of(tree).state.segments)
        assert await client.metric("espalier_searches_total") == 4

    check(test, simulated(files, set={"sim.recall": 0}), traces=tmp_path)


def test_the_same_question_gets_the_same_answer_among_any_others(files: Path, world: esp.World):
    texts = [question.text for question in world.questions]

    async def test(client: Client) -> None:
        async def ask(text: str, **more: Any) -> Any:
            status, reply, _ = await client.post(COMPLETIONS, chat(text, **more))
            assert status == 200
            return {name: reply[name] for name in ("choices", "usage", "espalier")}

        alone = [await ask(text) for text in texts]
        assert await asyncio.gather(*map(ask, texts)) == alone
        assert await ask(f"  {texts[0]}\n") == alone[0]
        others = [await ask(texts[0], seed=seed) for seed in range(2, 8)]
        assert others[0] == await ask(texts[0], seed=2)
        assert any(other != alone[0] for other in others)

    check(test, simulated(files, set={"sim.recall": 0.5}), searches=20)


def test_a_tree_is_the_one_that_the_command_grows(files: Path, tmp_path: Path):
    questions = [{**row, "id": answers.question_id(row["question"])} for row in rows(files / "questions.jsonl")[:3]]
    esp.write_jsonl(tmp_path / "questions.jsonl", questions)
    inputs = {"questions": tmp_path / "questions.jsonl", "corpus": files / "corpus.jsonl", "method": "prorag"}
    esp.answer(**inputs, out=tmp_path / "run", journal=JOURNAL)
    grown = (tmp_path / "run" / "trees.jsonl").read_bytes().splitlines(keepends=True)

    async def test(client: Client) -> None:
        for question, line in zip(questions, grown, strict=True):
            _, reply, _ = await client.post(COMPLETIONS, chat(question["question"]))
            assert (tmp_path / f"{reply['espalier']['trace_id']}.jsonl").read_bytes() == line

    check(test, simulated(files, **inputs), traces=tmp_path)


def test_a_stream_says_the_same(files: Path, world: esp.World):
    question = world.questions[0].text

    async def test(client: Client) -> None:
        _, whole, _ = await client.post(COMPLETIONS, chat(question))
        *data, last = await client.events(COMPLETIONS, chat(question, stream=True))
        assert last == "[DONE]"
        chunks = [json.loads(text) for text in data]
        assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
        assert len({chunk["id"] for chunk in chunks}) == 1
        assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
        content = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
        assert content == whole["choices"][0]["message"]["content"]
        assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
        assert chunks[-1]["espalier"] == whole["espalier"] and "usage" not in chunks[-1]
        with_usage = chat(question, stream=True, stream_options={"include_usage": True})
        *_, usage, _ = await client.events(COMPLETIONS, with_usage)
        assert json.loads(usage)["usage"] == whole["usage"] and json.loads(usage)["choices"] == []

    check(test, simulated(files))


@pytest.mark.parametrize("text", ["Two words", "  spaces \n kept  ", "one", "a\u00a0b \U0001f600\n"])
def test_the_pieces_of_a_stream_make_up_the_answer(text: str):
    answer = answers.ChatAnswer("i", 1, "m", text, "stop", {}, {})
    chunks = list(answer.chunks(include_usage=False))
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == text


def test_the_openai_package_is_a_client(files: Path, world: esp.World):
    openai = pytest.importorskip("openai")
    question = [{"role": "user", "content": world.questions[0].text}]

    async def test(client: Client) -> None:
        async with openai.AsyncOpenAI(base_url=client.url + "/v1", api_key="k", max_retries=0) as ai:
            assert [model.id async for model in ai.models.list()] == ["m"]
            assert (await ai.models.retrieve("m")).owned_by == "espalier"
            reply = await ai.chat.completions.create(model="m", messages=question)
            assert reply.espalier["citations"] and reply.usage.total_tokens > 0
            stream = await ai.chat.completions.create(model="m", messages=question, stream=True)
            pieces = [chunk async for chunk in stream]
            content = "".join(piece.choices[0].delta.content or "" for piece in pieces)
            assert content == reply.choices[0].message.content
            with pytest.raises(openai.NotFoundError, match="no model"):
                await ai.chat.completions.create(model="other", messages=question)
            with pytest.raises(openai.AuthenticationError):
                await ai.with_options(api_key="wrong").models.list()

    check(test, simulated(files), at=door(key=b"k"))


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"model": None}, 400, "model must be a text"),
        ({"model": "gpt"}, 404, 'no model "gpt"; this server offers "m"'),
        ({"messages": None}, 400, "messages must be a list"),
        ({"messages": []}, 400, "messages must be a list"),
        ({"messages": [7]}, 400, "messages[0].role must be 'user'"),
        ({"messages": [{"role": "assistant", "content": "a"}]}, 400, "messages[0].role must be 'user'"),
        ({"messages": [{"role": "user"}]}, 400, "messages[0].content must be a text"),
        ({"messages": [{"role": "user", "content": " \n"}]}, 400, "messages[0].content holds no question"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, 400, "surrogate"),
        ({"messages": [{"role": "user", "content": "x" * 201}]}, 400, "201 characters, more than the 200 allowed"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, 400, "messages[0].content[0] must be a"),
        ({"n": 2}, 400, "n must be 1"),
        ({"stream": "yes"}, 400, "stream must be true or false"),
        ({"stream_options": 3}, 400, "stream_options must be an object"),
        ({"seed": -4}, 400, "seed must be an integer"),
        ({"tools": [{"type": "function"}]}, 400, "tools is not supported"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format must be of the type 'text'"),
        ({"padding": "x" * 10_000}, 413, "the body is larger"),
    ],
)
def test_bad_input_is_refused_by_name(files: Path, change: dict[str, Any], status: int, words: str):
    async def test(client: Client) -> None:
        got, reply, _ = await client.post(COMPLETIONS, {**chat("why?"), **change})
        assert got == status and words in reply["error"]["message"]
        assert set(reply["error"]) == {"message", "type", "param", "code"}

    check(test, simulated(files))


def test_the_last_message_is_the_question_and_what_has_no_effect_is_said(files: Path, world: esp.World):
    text = world.questions[0].text
    said = [("system", "Be brief."), ("user", "Hello?"), ("assistant", "Yes?")]
    said.append(("user", [{"type": "text", "text": text}]))
    messages = [{"role": role, "content": content} for role, content in said]

    async def test(client: Client) -> None:
        _, alone, _ = await client.post(COMPLETIONS, chat(text))
        more = {"temperature": 0.1, "user": None}
        _, reply, _ = await client.post(COMPLETIONS, {"model": "m", "messages": messages, **more})
        assert reply["choices"] == alone["choices"] and reply["usage"] == alone["usage"]
        assert reply["espalier"]["ignored"] == ["temperature", "messages[0]", "messages[1]", "messages[2]"]

    check(test, simulated(files))


def test_too_many_searches_are_refused_and_a_client_that_goes_ends_its_own(held: ModelServer, files: Path):
    async def test(client: Client) -> None:
        asked = [asyncio.ensure_future(client.post(COMPLETIONS, chat(f"What is {i}?"))) for i in range(2)]
        streamed = asyncio.ensure_future(client.events(COMPLETIONS, chat("What is 2?", stream=True)))
        await until(lambda: open_searches(client, 3))
        status, reply, headers = await client.post(COMPLETIONS, chat("What is 3?"))
        assert status == 429 and headers["Retry-After"] == "5" and reply["error"]["type"] == "rate_limit_error"
        asked[0].cancel()
        await until(lambda: open_searches(client, 2))
        held.released.set()
        assert (await asked[1])[0] == 200 and (await streamed)[-1] == "[DONE]"
        assert (await client.post(COMPLETIONS, chat("What is 3?")))[0] == 200
        _, text, _ = await client.get("/metrics")
        assert 'espalier_searches_total{end="cancelled"} 1.0' in text

    check(test, remote(held, files), searches=3)


async def open_searches(client: Client, number: int) -> bool:
    return await client.metric("espalier_open_searches") == number


def test_a_search_that_takes_too_long_ends(held: ModelServer, files: Path):
    async def test(client: Client) -> None:
        status, reply, _ = await client.post(COMPLETIONS, chat("Why?"))
        assert status == 504 and reply["error"]["code"] == "timeout"
        # A stream that has begun says it in an event.
        error, done = await client.events(COMPLETIONS, chat("Why?", stream=True))
        assert json.loads(error)["error"]["code"] == "timeout" and done == "[DONE]"
        assert await client.metric("espalier_open_searches") == 0

    check(test, remote(held, files), time_limit=0.3, comment_seconds=0.05)


def test_a_budget_gives_the_best_answer_so_far_or_says_that_there_is_none(files: Path, world: esp.World):
    body = chat(world.questions[0].text)

    async def answered(client: Client) -> None:
        _, reply, _ = await client.post(COMPLETIONS, body)
        assert reply["espalier"]["status"] == "budget" and reply["choices"][0]["finish_reason"] == "length"
        assert reply["choices"][0]["message"]["content"]

    async def unanswered(client: Client) -> None:
        status, reply, _ = await client.post(COMPLETIONS, body)
        assert status == 504 and reply["error"]["code"] == "budget"

    check(answered, simulated(files, method="decouple", set={"max_calls": 4}))
    check(unanswered, simulated(files, set={"max_calls": 1}))


def test_a_failing_model_is_the_servers_failure_and_no_key_is_shown(files, monkeypatch, caplog, capfd):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream-55")
    body = json.dumps({"error": {"message": "the key sk-upstream-55 is not good"}}).encode()
    with ModelServer(lambda request: (401, body)) as server:

        async def test(client: Client) -> None:
            right = {"Authorization": "Bearer sesame-77"}
            status, reply, _ = await client.post(COMPLETIONS, chat("Why?\nERROR fake line"), headers=right)
            assert status == 502 and reply["error"]["code"] == "backend_refused" and server.url not in str(reply)
            message = reply["error"]["message"]
            assert message == "the model or the retriever refused: HTTP 401: the key [key] is not good"
            assert (await client.get("/health"))[0] == 200

        check(test, remote(server, files), at=door(key=b"sesame-77"))
    shown = caplog.text + "".join(capfd.readouterr())
    assert "401" in shown
    assert "sesame" not in shown and "sk-upstream" not in shown and "ERROR fake" not in shown


def test_a_model_that_may_recover_is_worth_another_try(files: Path):
    body = json.dumps({"error": {"message": "busy, see https://me:secret@10.0.0.7:8000/queue"}}).encode()
    with ModelServer(lambda request: (503, body)) as server:

        async def test(client: Client) -> None:
            status, reply, headers = await client.post(COMPLETIONS, chat("Why?"))
            assert status == 503 and int(headers["Retry-After"]) > 0
            said = "HTTP 503: busy, see [address] (given up after attempt 1)"
            message = f"the model or the retriever failed: {said}"
            kind = {"type": "server_error", "param": None, "code": "backend_unavailable"}
            assert reply["error"] == {"message": message, **kind}

        check(test, remote(server, files, attempts=1))


@needs_journal
def test_what_the_journal_holds_is_not_paid_for_again(server: ModelServer, files: Path, tmp_path: Path):
    replies = []

    async def test(client: Client) -> None:
        _, reply, _ = await client.post(COMPLETIONS, chat("Why?"))
        replies.append((reply["choices"], reply["usage"], reply["espalier"]))

    settings = remote(server, files, journal_file=tmp_path / "journal.sqlite")
    check(test, settings)
    asked = len(server.requests)
    assert asked > 0
    check(test, settings)
    assert len(server.requests) == asked and replies[0] == replies[1]


def test_searches_that_cannot_go_on_end_the_server_with_their_error(files: Path, monkeypatch: pytest.MonkeyPatch):
    asked = threading.Event()

    def run(done: object) -> None:
        assert asked.wait(60)
        raise esp.errors.Error("journal.sqlite: the disk is full")

    parts = {"run": run, "ask": lambda *question: asked.set(), "cancel": lambda id: None, "stop": lambda: None}
    monkeypatch.setattr(searches, "Answering", lambda settings: SimpleNamespace(**parts))

    async def test(client: Client) -> None:
        status, reply, _ = await client.post(COMPLETIONS, chat("Why?"))
        assert status == 500 and reply["error"]["type"] == "server_error"
        client.stopped = True  # by itself

    with pytest.raises(esp.errors.Error, match="the disk is full"):
        check(test, simulated(files))


def test_the_command_serves_answers(files: Path, world: esp.World, tmp_path: Path):
    inputs = ["--questions", files / "questions.jsonl", "--corpus", files / "corpus.jsonl", "--model", "simulated"]
    more = ["--method", "prorag", "--traces", tmp_path / "traces", "--port", 0, "--json"]
    with start("serve", "answers", *inputs, *more) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        assert line["event"] == "listening" and line["model"] == "espalier-prorag"

        async def ask() -> None:
            async with aiohttp.ClientSession() as session:
                body = chat(world.questions[0].text, model="espalier-prorag")
                _, reply, _ = await Client(line["url"], session).post(COMPLETIONS, body)
                assert (tmp_path / "traces" / f"{reply['espalier']['trace_id']}.jsonl").exists()

        asyncio.run(ask())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


BAD = {"--host 0.0.0.0": "--client-key-env", "--method decexx": "did you mean 'decex'", "--out x": "--out"}
BAD |= {"--set documents=0": "'documents' is 0", "--searches -1": "whole number above 0"}


@pytest.mark.parametrize(("more", "words"), BAD.items())
def test_bad_options_are_refused_by_name(files: Path, more: str, words: str):
    code, err = refused("answers", "--corpus", str(files / "corpus.jsonl"), "--port", "0", *more.split())
    assert code == 2 and words in err and len(err.splitlines()) == 1
