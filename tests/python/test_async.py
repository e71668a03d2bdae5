"""`async def` functions that are asked request by request, and runs that are awaited."""

import asyncio
import contextvars
import itertools
import random
import threading
import time
import traceback

import espalier as esp
import pytest
from conftest import contents, needs_journal, sensibly
from espalier import problem
from espalier.bridge import tasks as _tasks
from espalier.bridge.awaited import awaited

SEARCH = esp.DecExRag(k=2, n=2, T_max=2)


def texts(trees):
    return [tree.to_json() for tree in trees]


def soon(condition):
    """What the loop's thread does a moment later."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


@pytest.fixture(scope="module")
def expected(world, simulated, bm25):
    return esp.run(SEARCH, world.questions, model=simulated, retriever=bm25)


class Model:
    """Asked singly; `before(number)` is awaited before the request of that number is answered."""

    def __init__(self, simulated, before=None):
        self.simulated, self.before = simulated, before
        self.asked, self.open, self.most_open, self.cancelled = 0, 0, 0, 0

    @esp.aio.PerRequest
    async def ask(self, prompt):
        number, self.asked = self.asked, self.asked + 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            if self.before is not None:
                await self.before(number)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1
        return self.simulated([prompt])[0]


def test_trees_are_the_same_in_any_order_of_completion(world, simulated, bm25, expected):
    draw = random.Random(1)

    async def nap(number):
        await asyncio.sleep(draw.random() * 0.003)

    model = Model(simulated, nap)
    assert texts(esp.run(SEARCH, world.questions, model=model.ask, retriever=bm25)) == texts(expected)
    assert model.asked > 100 and model.most_open > 10


def test_a_slow_request_holds_up_nobody(world, simulated, bm25, expected):
    model = Model(simulated)

    async def wait_for_many_others(number):
        while number == 0 and model.asked < 200:
            await asyncio.sleep(0.001)

    model.before = wait_for_many_others
    assert texts(esp.run(SEARCH, world.questions, model=model.ask, retriever=bm25)) == texts(expected)


def test_in_flight_bounds_what_is_open(world, simulated, bm25):
    model = Model(simulated, lambda number: asyncio.sleep(0))
    esp.run(SEARCH, world.questions[:4], model=model.ask, retriever=bm25, in_flight=5)
    assert model.most_open == 5


def test_python_is_entered_once_a_batch(world, simulated, bm25, monkeypatch):
    entered = []
    exchange = _tasks.Tasks.exchange
    monkeypatch.setattr(_tasks.Tasks, "exchange", lambda self, *a: entered.append(1) or exchange(self, *a))
    model = Model(simulated)
    esp.run(SEARCH, world.questions, model=model.ask, retriever=bm25, in_flight=1000)
    assert 0 < len(entered) < model.asked / 2


def test_retrievers_rewards_and_encoders_too(world, simulated, bm25, expected):
    @esp.aio.PerRequest
    async def retriever(query):
        return bm25([query])[0]

    @esp.aio.PerRequest
    async def reward(state):
        return esp.search.F1()([state])[0]

    reward.function.name = "f1"  # as the method calls its own
    trees = esp.run(SEARCH, world.questions, model=simulated, retriever=retriever, reward=reward)
    assert texts(trees) == texts(expected)

    def encode(requests):
        return [[float(len(request.text)), 1.0] for request in requests]

    @esp.aio.PerRequest
    async def encoder(request):
        return encode([request])[0]

    queries = [esp.Query("where", 3), esp.Query("what then", 3)]
    one, other = (esp.Dense(world.passages[:20], by)(queries) for by in (encode, encoder))
    assert [[p.id for p in found] for found in one] == [[p.id for p in found] for found in other]
    fused = esp.Hybrid([bm25, retriever])(queries)
    assert [p.id for p in fused[0]] == [p.id for p in bm25(queries)[0]]


class Countdown:
    def kinds(self, states):
        return [[0] if left > 0 else [] for left in states]

    def propose(self, states, kinds, counts):
        return [list(range(1, min(left, 3) + 1)) for left in states]

    def step(self, states, actions, seeds):
        return [left - taken + seed % 2 for left, taken, seed in zip(states, actions, seeds, strict=True)]


class SingleCountdown:
    @esp.aio.PerRequest
    async def kinds(self, left):
        return [0] if left > 0 else []

    @esp.aio.PerRequest
    async def propose(self, left, kind, count):
        return list(range(1, min(left, 3) + 1))

    @esp.aio.PerRequest
    async def step(self, left, taken, seed):
        return left - taken + seed % 2


def test_problems_too():
    @esp.aio.PerRequest
    async def near(left):
        return 1 / (2 + left)

    one = problem.mcts(Countdown(), [9, 7], lambda states: [1 / (2 + left) for left in states], simulations=40)
    other = problem.mcts(SingleCountdown(), [9, 7], near, simulations=40)
    for a, b in zip(one, other, strict=True):
        assert [(n.state, n.visits, n.value) for n in a.nodes] == [(n.state, n.visits, n.value) for n in b.nodes]


def test_a_function_that_is_not_async_is_named(world, bm25):
    with pytest.raises(esp.errors.BackendError, match="the model must be an async function, but it returned str"):
        esp.run(SEARCH, world.questions, model=esp.aio.PerRequest(lambda prompt: "text"), retriever=bm25)
    with pytest.raises(TypeError, match="takes an async function, not str"):
        esp.aio.PerRequest("text")
    with pytest.raises(ValueError, match="option 'deadline': 0 is not allowed"):
        esp.aio.PerRequest(lambda prompt: "text", deadline=0)


def test_a_wrong_reply_is_named(world, bm25):
    async def listed(prompt):
        return ["text"]

    with pytest.raises(esp.errors.BackendError, match=r"a BackendError, but it returned list$") as caught:
        esp.run(SEARCH, world.questions, model=esp.aio.PerRequest(listed), retriever=bm25)
    assert caught.value.permanent and caught.value.trees[0] is None


def test_what_never_returns_is_cancelled_and_leaves_its_question_open(world, simulated, bm25, expected):
    ends = []

    async def ask(prompt):
        if world.questions[3].text in prompt.text:
            try:
                await asyncio.Event().wait()
            finally:
                ends.append("cancelled")
        return simulated([prompt])[0]

    with pytest.raises(esp.errors.BackendError, match=r"the model did not answer within 2 s") as caught:
        esp.run(SEARCH, world.questions, model=esp.aio.PerRequest(ask, deadline=2), retriever=bm25)
    trees = caught.value.trees
    assert trees[3] is None and soon(lambda: set(ends) == {"cancelled"})
    assert texts(trees[:3] + trees[4:]) == texts(expected[:3] + expected[4:])


def test_a_deadline_counts_from_its_own_request():
    async def ask(text):
        return text if text == "quick" else await asyncio.Event().wait()

    tasks = _tasks.Tasks(esp.aio.PerRequest(ask, deadline=1), "model")
    assert tasks.exchange([(1, "quick")], 60) == [(1, "quick")]
    time.sleep(0.2)
    asked = time.monotonic()
    [(ticket, reply)] = tasks.exchange([(2, "never")], 60)
    assert ticket == 2 and isinstance(reply, esp.errors.BackendError) and not reply.permanent
    assert time.monotonic() - asked > 0.95
    tasks.stop()


def test_what_is_permanent_is_not_tried_again(world, bm25):
    asked = []

    async def refuse(prompt):
        asked.append(prompt.key)
        return esp.errors.BackendError("no such model", permanent=True)

    with pytest.raises(esp.errors.BackendError, match="no such model"):
        esp.run(SEARCH, world.questions[:2], model=esp.aio.PerRequest(refuse), retriever=bm25)
    assert len(asked) == len(set(asked))


def test_an_exception_keeps_its_traceback_and_ends_what_is_under_way(world, simulated, bm25):
    async def innermost():
        raise KeyError("no such model")

    async def fail_late(number):
        if number == 10:
            await innermost()
        if number < 5:
            await asyncio.Event().wait()

    model = Model(simulated, fail_late)
    with pytest.raises(KeyError) as caught:
        esp.run(SEARCH, world.questions, model=model.ask, retriever=bm25)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "innermost"
    assert soon(lambda: model.cancelled == 5)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_what_is_no_exception_ends_the_run_but_not_the_loop(world, simulated, bm25, expected, stop):
    async def ask(prompt):
        raise stop

    with pytest.raises(stop):
        esp.run(SEARCH, world.questions, model=esp.aio.PerRequest(ask), retriever=bm25)
    model = Model(simulated)
    assert texts(esp.run(SEARCH, world.questions[:1], model=model.ask, retriever=bm25)) == texts(expected[:1])


def test_a_run_can_be_awaited(world, simulated, bm25, expected):
    name = contextvars.ContextVar("name")
    seen = set()

    async def ask(prompt):
        seen.add((asyncio.get_running_loop(), name.get()))
        return simulated([prompt])[0]

    async def retriever(queries):
        seen.add((asyncio.get_running_loop(), name.get()))
        return bm25(queries)

    async def main():
        name.set("mine")
        model = esp.aio.PerRequest(ask)
        runs = [esp.aio.run(SEARCH, half, model=model, retriever=retriever) for half in halves]
        first, second = await asyncio.gather(*runs)
        assert seen == {(asyncio.get_running_loop(), "mine")}
        return first + second

    halves = world.questions[:6], world.questions[6:]
    assert texts(asyncio.run(main())) == texts(expected)


def test_a_run_blocks_a_loop_that_does_not_await_it_but_ends(world, simulated, bm25, expected):
    async def main():
        return esp.run(SEARCH, world.questions[:1], model=Model(simulated).ask, retriever=bm25)

    async def nested(prompts):
        assert texts(await main()) == texts(expected[:1])
        return simulated(prompts)

    assert texts(asyncio.run(main())) == texts(expected[:1])
    awaited = esp.aio.run(SEARCH, world.questions[1:2], model=nested, retriever=bm25)
    assert texts(asyncio.run(awaited)) == texts(expected[1:2])


def test_waiting_for_replies_ends_when_the_time_is_over():
    """The first wait of a run might not: SimpleQueue.get of Python 3.10 to 3.12 takes an elapsed limit for none."""

    def wait():
        for number in range(20000):
            _tasks.Tasks(esp.aio.PerRequest(print), "model").exchange([], (0.0, 1e-6)[number % 2])
        ended.append(True)

    ended = []
    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(60)
    assert ended


@needs_journal
def test_a_run_in_memory_that_was_cancelled_pays_the_rest_alone(world, simulated, bm25, expected, tmp_path):
    kept = {"retriever": bm25, "journal": tmp_path / "journal.sqlite", "fingerprint": "simulated"}
    stuck = asyncio.Event()

    async def answer_50(number):
        if number >= 50:
            stuck.set()
            await asyncio.Event().wait()

    first, rest, whole = Model(simulated, answer_50), Model(simulated), Model(simulated)

    async def main():
        run = asyncio.create_task(esp.aio.run(SEARCH, world.questions, model=first.ask, in_flight=8, **kept))
        await stuck.wait()
        while first.asked < 58:  # all 50 replies have been taken
            await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert first.cancelled == 8
    assert texts(esp.run(SEARCH, world.questions, model=rest.ask, **kept)) == texts(expected)
    esp.run(SEARCH, world.questions, model=whole.ask, **kept | {"journal": tmp_path / "other"})
    assert rest.asked == whole.asked - 50


@pytest.mark.parametrize("batches", ["sync", "async"])
def test_cancelling_stops_batches_too(world, simulated, bm25, batches):
    async def main():
        asked, loop = asyncio.Event(), asyncio.get_running_loop()
        calls = []

        def model(prompts):
            calls.append(1)
            loop.call_soon_threadsafe(asked.set)
            awaited.get().stop.wait(30)
            time.sleep(0.05)  # the engine looks every 20 ms
            return simulated(prompts)

        async def never(prompts):
            asked.set()
            await asyncio.Event().wait()

        chosen = model if batches == "sync" else never
        run = asyncio.create_task(esp.aio.run(SEARCH, world.questions, model=chosen, retriever=bm25, in_flight=1))
        await asked.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return len(calls)

    assert asyncio.run(main()) == (batches == "sync")


@needs_journal
def test_a_cancelled_expand_goes_on_where_it_was_stopped(data, server, tmp_path):
    settings = {**data, "model": server.url, "model_name": "m", "limit": 4, "in_flight": 2}
    settings["set"] = {"k": 2, "n": 1, "T_max": 2}
    assert asyncio.run(esp.aio.expand(out=tmp_path / "whole", **settings)).open == 0
    all_asked = len(server.requests)
    server.requests.clear()

    numbers = itertools.count()

    def answer_some(request):
        if next(numbers) >= 8:
            server.released.wait(60)
        return sensibly(request)

    server.respond = answer_some

    async def main():
        run = asyncio.create_task(esp.aio.expand(out=tmp_path / "broken", **settings))
        while len(server.requests) < 10 and not run.done():
            await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    server.released.set()
    assert not (tmp_path / "broken" / "summary.json").exists()
    assert esp.expand(out=tmp_path / "broken", **settings).open == 0
    assert len(server.requests) <= all_asked + 4  # two were never answered, two replies may not have been kept
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
