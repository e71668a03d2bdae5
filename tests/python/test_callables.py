"""Python functions as backends: called once a flush, checked by hand, their exceptions kept."""

import asyncio
import math
import threading
import traceback

import espalier as esp
import pytest
from espalier.bridge import call as _calls

SEARCH = esp.DecExRag(k=2, n=2, T_max=2)


def test_a_model_is_called_once_for_all_trees(world, simulated, bm25):
    batches = []

    def model(prompts):
        batches.append(prompts)
        return simulated(prompts)

    esp.run(SEARCH, world.questions, model=model, retriever=bm25, in_flight=10_000)
    assert {prompt.purpose for prompt in batches[0]} == {"sub_question"}
    assert len(batches[0]) == 2 * len(world.questions)
    alone = []
    for question in world.questions:
        calls = []
        esp.run(SEARCH, [question], model=lambda p, calls=calls: calls.append(p) or simulated(p), retriever=bm25)
        alone.append(len(calls))
    assert len(batches) <= 1.1 * max(alone) + 1
    assert sum(map(len, batches)) > 10 * len(batches)


def test_in_flight_is_the_largest_batch(world, simulated, bm25):
    sizes = []
    esp.run(SEARCH, world.questions, model=lambda p: sizes.append(len(p)) or simulated(p), retriever=bm25, in_flight=5)
    assert max(sizes) == 5


def test_prompts_show_what_a_server_needs(world, simulated, bm25):
    seen = []
    esp.run(SEARCH, world.questions[:1], model=lambda p: seen.extend(p) or simulated(p), retriever=bm25)
    first = seen[0]
    assert first.messages == [{"role": "user", "content": first.text}]
    assert first.slots["question"] == world.questions[0].text
    assert [prompt.sample for prompt in seen[:2]] == [0, 1] and seen[0].seed == seen[1].seed
    assert first.temperature == 0.7 and first.max_tokens == 512 and first.stop == ["</question>"]
    assert len({prompt.key for prompt in seen}) == len(seen)


def test_retriever_and_reward_are_called_once_a_batch(world, simulated, bm25):
    queries, states = [], []

    def retriever(batch):
        queries.append(len(batch))
        return bm25(batch)

    def reward(batch):
        states.append(len(batch))
        assert all(state.question.gold for state in batch)
        return esp.search.F1()(batch)

    reward.name = "f1"  # as the method calls its own
    own = esp.run(SEARCH, world.questions, model=simulated, retriever=bm25)
    trees = esp.run(SEARCH, world.questions, model=simulated, retriever=retriever, reward=reward, in_flight=10_000)
    assert [tree.to_json() for tree in trees] == [tree.to_json() for tree in own]
    assert max(queries) > len(world.questions) / 2 and max(states) > len(world.questions) / 2
    assert sum(states) == sum(len(tree.to_dict()["rollouts"]) for tree in trees)


def test_coroutines_give_the_same_trees(world, simulated, bm25):
    async def model(prompts):
        await asyncio.sleep(0)
        return simulated(prompts)

    async def retriever(queries):
        return bm25(queries)

    expected = esp.run(SEARCH, world.questions[:3], model=simulated, retriever=bm25)
    trees = esp.run(SEARCH, world.questions[:3], model=model, retriever=retriever)
    assert [tree.to_json() for tree in trees] == [tree.to_json() for tree in expected]


def test_a_coroutine_that_never_returns_is_cancelled(world, bm25, monkeypatch):
    monkeypatch.setattr(_calls, "DEADLINE", 0.1)
    cancelled = threading.Event()

    async def model(prompts):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(esp.errors.BackendError, match=r"the model did not answer within 0\.6 s") as caught:
        esp.run(SEARCH, world.questions[:3], model=model, retriever=bm25)
    assert caught.value.permanent and caught.value.trees == [None] * 3
    assert cancelled.wait(30)


def test_a_function_that_does_not_return_is_told_of(world, simulated, bm25, monkeypatch, caplog):
    monkeypatch.setattr(_calls, "_watch", lambda: None)  # the test looks in its place
    monkeypatch.setattr(_calls, "DEADLINE", 0.0)

    def model(prompts):
        once = _calls._tell({})
        monkeypatch.setattr(_calls, "DEADLINE", 600.0)
        assert _calls._tell(once) == once  # not again so soon
        return simulated(prompts)

    esp.run(SEARCH, world.questions[:3], model=model, retriever=bm25)
    [told] = [record.getMessage() for record in caplog.records]
    assert told == "the model has not returned for 0 s; it was asked for 6"
    assert _calls._tell({}) == {}


EACH = "or a BackendError for each request, but it returned"


@pytest.mark.parametrize(
    ("part", "reply", "message"),
    [
        ("model", lambda n: "text", r"the model must return a list of \d+, but it returned str"),
        ("model", lambda n: None, r"the model must return a list of \d+, but it returned NoneType"),
        ("model", lambda n: {0: "text"}, r"the model must return a list of \d+, but it returned dict"),
        ("model", lambda n: ["text"] * (n + 1), r"a list of (\d+), but it returned a list of \d+"),
        ("model", lambda n: ("text",) * (n - 1), r"a list of (\d+), but it returned a tuple of \d+"),
        ("model", lambda n: [["text"]] * n, f"a str, a Completion {EACH} list for request 0"),
        ("model", lambda n: ["text"] * (n - 1) + [None], r"but it returned NoneType for request \d+"),
        ("retriever", lambda n: [None] * n, f"the retriever must return a list of Passage {EACH} NoneType"),
        ("retriever", lambda n: [["text"]] * n, "a list with str"),
        ("retriever", lambda n: [], r"a list of \d+, but it returned a list of 0"),
        ("reward", lambda n: ["much"] * n, f"the reward must return a float {EACH} str"),
        ("reward", lambda n: [float("nan")] * n, "a finite float"),
        ("reward", lambda n: 1.0, r"a list of \d+, but it returned float"),
    ],
)
def test_a_wrong_reply_of_a_part_is_named(world, simulated, bm25, part, reply, message):
    parts = {"model": simulated, "retriever": bm25, part: lambda requests: reply(len(requests))}
    with pytest.raises(esp.errors.BackendError, match=message) as caught:
        esp.run(SEARCH, world.questions, **parts)
    assert caught.value.permanent and caught.value.trees[0] is None
    assert part == "retriever" or caught.value.trees == [None] * len(world.questions)  # one asks for no passages


def test_a_wrong_reply_of_an_encoder_is_named():
    passages = [esp.Passage("p", "t", "x")]
    said = r"the encoder must return a row of floats .* returned str for request 0"
    with pytest.raises(esp.errors.BackendError, match=said):
        esp.Dense(passages, lambda requests: ["vector"])
    with pytest.raises(esp.errors.BackendError, match="a list of 1, but it returned a list of 2"):
        esp.Dense(passages, lambda requests: [[1.0], [2.0]])
    with pytest.raises(TypeError, match=r"the encoder must be a function .* or one of espalier\.parts, not str"):
        esp.Dense(passages, "encoder")


@pytest.mark.parametrize("what", ["model", "retriever", "reward"])
def test_what_is_no_function_is_a_type_error(world, simulated, bm25, what):
    parts = {"model": simulated, "retriever": bm25, what: 3}
    with pytest.raises(TypeError, match="not int"):
        esp.run(SEARCH, world.questions, **parts)


@pytest.mark.parametrize("awaited", [False, True])
def test_an_exception_keeps_its_traceback(world, bm25, awaited):
    def innermost():
        raise KeyError("no such model")

    async def model(prompts):
        return innermost()

    with pytest.raises(KeyError) as caught:
        esp.run(SEARCH, world.questions, model=model if awaited else lambda prompts: innermost(), retriever=bm25)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "innermost"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_exception_stops_the_run_at_once(world, bm25, stop):
    calls = []

    def model(prompts):
        calls.append(1)
        raise stop

    with pytest.raises(stop):
        esp.run(SEARCH, world.questions, model=model, retriever=bm25, in_flight=1)
    assert len(calls) == 1


def test_an_exception_in_place_of_an_item_stops_the_run(world, bm25):
    with pytest.raises(OSError, match="disk"):
        esp.run(SEARCH, world.questions, model=lambda p: [OSError("disk")] * len(p), retriever=bm25)


def test_a_backend_error_in_place_of_an_item_leaves_that_question_open(world, simulated, bm25):
    lost = world.questions[3].text

    def model(prompts):
        gone = esp.errors.BackendError("this prompt is too long", permanent=True)
        return [gone if lost in p.text else reply for p, reply in zip(prompts, simulated(prompts), strict=True)]

    with pytest.raises(esp.errors.BackendError, match="this prompt is too long") as caught:
        esp.run(SEARCH, world.questions, model=model, retriever=bm25)
    expected = esp.run(SEARCH, world.questions, model=simulated, retriever=bm25)
    for i, (tree, whole) in enumerate(zip(caught.value.trees, expected, strict=True)):
        assert (tree is None) if i == 3 else (tree.to_json() == whole.to_json())


@pytest.mark.parametrize("single", [False, True])
def test_a_failure_in_transport_is_tried_again(world, simulated, bm25, single):
    failures = []

    def model(prompts):
        if len(failures) < 2:
            failures.append(1)
            if len(failures) == 2:
                return [esp.Completion("The River Te", finish="other")] * len(prompts)
            raise esp.errors.BackendError("connection reset")
        return simulated(prompts)

    async def ask(prompt):
        return model([prompt])[0]

    chosen = esp.aio.PerRequest(ask) if single else model
    trees = esp.run(SEARCH, world.questions[:2], model=chosen, retriever=bm25)
    expected = esp.run(SEARCH, world.questions[:2], model=simulated, retriever=bm25)
    assert len(failures) == 2 and [t.to_json() for t in trees] == [t.to_json() for t in expected]


def test_more_passages_than_asked_for_are_cut(world, simulated):
    many = [esp.Passage(f"p{i}", "t", "x") for i in range(9)]
    trees = esp.run(SEARCH, world.questions[:1], model=simulated, retriever=lambda queries: [many] * len(queries))
    found = [content for node in trees[0].nodes for kind, content in node.state.segments if kind == "documents"]
    assert found and all(len(passages) == 3 for passages in found)


@pytest.mark.parametrize(("chance", "searches"), [(0.9, 0), (0.7, 1)])
def test_a_model_of_ones_own_gives_the_chance_of_each_token(chance, searches):
    """FLARE looks up a sentence with a token below 0.8, even where the sum over its tokens is high."""
    asked = []

    def model(prompts):
        assert all(prompt.logprobs and prompt.token_logprobs for prompt in prompts)
        tokens = [("So the answer", 0.0), (" is:", 0.0), (" Paris", math.log(chance))]
        text = "".join(token for token, _ in tokens)
        completion = esp.Completion(text, completion_tokens=3, logprob=math.log(chance), tokens=tokens)
        assert completion.tokens == tokens
        return [completion] * len(prompts)

    def retriever(queries):
        asked.extend(queries)
        return [[esp.Passage("1", "France", "Paris is its capital.")] for _ in queries]

    question = esp.Question("What is the capital of France?", gold=["Paris"])
    [tree] = esp.run(esp.Method("flare", answer=True), [question], model=model, retriever=retriever)
    assert esp.best_answer(tree) == "Paris"
    assert len(asked) == searches
    assert esp.Completion("x").tokens == []
