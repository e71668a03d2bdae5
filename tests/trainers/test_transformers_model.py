"""The adapter of transformers over a tiny model with random weights."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace

import espalier as esp
import pytest
import torch
from espalier.adapters import TransformersModel
from espalier.export.byte_tokenizer import byte_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM


@pytest.fixture(scope="module")
def network() -> LlamaForCausalLM:
    torch.manual_seed(7)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=259, max_position_embeddings=512, eos_token_id=256, pad_token_id=256, **small)
    network = LlamaForCausalLM(config).double().eval()
    with torch.no_grad():
        network.lm_head.weight.mul_(20)  # so that tokens differ in probability
    return network


@pytest.fixture(scope="module")
def model(network: LlamaForCausalLM) -> TransformersModel:
    return TransformersModel(network, byte_tokenizer(), batch=4)


def logits(network: LlamaForCausalLM, text: str) -> torch.Tensor:
    with torch.no_grad():
        return network(byte_tokenizer()(text, return_tensors="pt")["input_ids"]).logits[0, -1]


def prompt(text: str = "Who?", **more: object) -> esp.Prompt:
    return esp.Prompt(text, **{"temperature": 1.0, "max_tokens": 12, "seed": 3, **more})


def test_a_sample_is_the_same_in_every_batch(model: TransformersModel, network: LlamaForCausalLM):
    prompts = [prompt(f"question {'long ' * (i % 3)}{i}", sample=i, max_tokens=8 + i % 2) for i in range(9)]
    together = [answer.text for answer in model(prompts)]
    alone = [TransformersModel(network, byte_tokenizer(), batch=1)([one])[0].text for one in prompts]
    assert together == alone and len(set(together)) == 9


def test_samples_follow_the_models_probabilities(model: TransformersModel, network: LlamaForCausalLM):
    n = 2000
    drawn = Counter(a.text for a in TransformersModel(network, byte_tokenizer(), batch=500, chat=False)(
        [prompt("a", sample=i, max_tokens=1, temperature=0.7) for i in range(n)]
    ))  # fmt: skip
    chances = torch.softmax(logits(network, "a") / 0.7, -1).tolist()
    likely = [i for i in range(256) if chances[i] > 0.02 and byte_tokenizer().decode([i]).isascii()]
    assert len(likely) > 3
    for i in likely:
        p, seen = chances[i], drawn[byte_tokenizer().decode([i])] / n
        assert abs(seen - p) < 5 * math.sqrt(p * (1 - p) / n), (i, p, seen)


def test_a_nucleus_keeps_what_is_unlikely_out(network: LlamaForCausalLM):
    best = byte_tokenizer().decode([int(logits(network, "a").argmax())])
    asked = {"messages": [{"role": "user", "content": "a"}], "temperature": 1.0, "max_tokens": 1, "stop": [], "seed": 3}
    drawn = [SimpleNamespace(**asked, top_p=0.001, sample=i) for i in range(8)]
    assert {a.text for a in TransformersModel(network, byte_tokenizer(), chat=False)(drawn)} == {best}


def test_greedy_replies_stop_behind_the_stop_string_and_count_tokens(model: TransformersModel):
    [whole] = model([prompt(temperature=0.0)])
    assert whole.finish == "length" and whole.completion_tokens == 12
    stop = whole.text[3:5]
    [cut] = model([prompt(temperature=0.0, stop=[stop, "never there"])])
    assert cut.text == whole.text[: whole.text.index(stop) + 2] and cut.finish == "stop"
    template = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    assert cut.prompt_tokens == whole.prompt_tokens == len(byte_tokenizer()(template)["input_ids"])


def test_a_begun_answer_goes_on(network: LlamaForCausalLM):
    [begun] = TransformersModel(network, byte_tokenizer())([prompt(temperature=0.0, prefill="<think>")])
    text = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n<think>"
    [bare] = TransformersModel(network, byte_tokenizer(), chat=False)([prompt(text, temperature=0.0)])
    assert (begun.text, begun.prompt_tokens) == (bare.text, bare.prompt_tokens)


def test_an_end_of_text_ends_the_reply(network: LlamaForCausalLM):
    bias = network.lm_head.weight.detach().clone()
    try:
        with torch.no_grad():
            network.lm_head.weight.zero_()  # all tokens alike: argmax is the first, id 0
            network.generation_config.eos_token_id = 0
        [answer] = TransformersModel(network, byte_tokenizer())([prompt(temperature=0.0)])
        assert (answer.text, answer.finish, answer.completion_tokens) == ("", "stop", 1)
    finally:
        network.generation_config.eos_token_id = 256
        with torch.no_grad():
            network.lm_head.weight.copy_(bias)


def test_bad_parts_are_named(network: LlamaForCausalLM):
    bare = byte_tokenizer()
    bare.chat_template = None
    with pytest.raises(ValueError, match="chat=False"):
        TransformersModel(network, bare)
    with pytest.raises(ValueError, match="'batch': 0"):
        TransformersModel(network, byte_tokenizer(), batch=0)


def test_a_search_runs_on_it(model: TransformersModel):
    world = esp.World(passages=50, questions=2, seed=1)
    trees = esp.run(esp.Method("direct", set={"max_tokens": 16}, answer=True), world.questions, model=model)
    assert [tree.question.id for tree in trees] == [q.id for q in world.questions]
