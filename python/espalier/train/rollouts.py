"""What the model that is trained samples in a step, as token ids with advantages."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..export.records import Asked, Sampled, Trace
from ..export.tokenizer import Tokenizer
from ..export.traces.advantages import ADVANTAGES, Tokens
from ..export.traces.sampled import as_read
from ..export.traces.text import bare
from ..io.files import read_object, write_jsonl
from ..local.transformers import Transformers
from .folder import need_prompts
from .options import GrpoOptions
from .sampling import asked, write_copies
from .stage import Setup
from .trajectories import Step, chains, steps, traces


@dataclass
class Rollouts:
    """The steps that were sampled, R in number, each under its own prompt."""

    prompt_ids: list[list[int]] = field(default_factory=list)
    completion_ids: list[list[int]] = field(default_factory=list)
    learned: list[int] = field(default_factory=list)
    """[R]: 1, or 0 for a row outside the loss."""
    advantages: list[float] = field(default_factory=list)
    """[R]: of every token of a step, the sum over the branches through it."""
    rewards: dict[str, list[float]] = field(default_factory=dict)
    """The outcomes of its branches by question. One without branches has [0]."""
    too_long: int = 0
    """The steps that are left out because they are too long."""
    rewritten: int = 0
    """The steps that are left out because the method read something else than what the model wrote."""
    logprobs: list[list[float]] = field(default_factory=list)
    """[R]: of each token of a step, as it was sampled. Empty = not known."""

    def add(self, prompt: list[int], said: Sampled, learned: int, advantage: float) -> None:
        self.prompt_ids.append(prompt)
        self.completion_ids.append(said.ids)
        self.logprobs.append(said.logprobs)
        self.learned.append(learned)
        self.advantages.append(advantage)


class Written:
    """The token ids of each sample, by its prompt and its text.

    A text has more than one tokenization. The model is told what it wrote, and not what a tokenizer would make of it.
    Of samples that read alike under one prompt all get the same ids, whichever came first.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], list[int]] = {}

    def keep(self, prompt: Any, text: str, ids: Sequence[int]) -> None:
        key, own = (prompt.messages[-1]["content"], bare(text)), list(ids)
        self._ids[key] = min(own, self._ids.get(key, own))

    def ids(self, step: Step) -> list[int] | None:
        """Of a step as the policy's turn shows it, None = the model did not write it like this."""
        return self._ids.get((step.prompt, bare(step.text)))

    def said(self, step: Step, tokenizer: Tokenizer) -> Sampled | None:
        """The step's own tokens with their log-probabilities, where they read as it does."""
        if (ids := self.ids(step)) is None:
            return None
        own = as_read(step.tokens, step.text, tokenizer, ends=True) if step.tokens else None
        return own or Sampled(ids, [], "")


class Sampler:
    """Samples trajectories with the weights as they are now."""

    def __init__(self, setup: Setup[GrpoOptions, Asked]) -> None:
        self._setup = setup
        self._gold = {row.record.origin.id: row.record.answers for row in setup.data.rows}
        self._texts = {row.record.origin.id: row.record.question for row in setup.data.rows}

    def __call__(self, model: Any, names: Sequence[str], step: int) -> Rollouts:
        """The trajectories of the questions with these ids. `step` decides the noise, with the seed."""
        options, tokenizer = self._setup.options, self._setup.policy.tokenizer
        with tempfile.TemporaryDirectory() as folder:
            found = self._traces(model, names, step, Path(folder), written := Written())
        rollouts = Rollouts(rewards={name: [0.0] for name in names})
        for trace in found:
            rollouts.rewards[trace.origin.id] = list(trace.outcomes.values()) or [0.0]
            every = [(one, written.said(one, tokenizer)) for one in steps(trace)]
            tokens = {one.place: len(said.ids) if said else 0 for one, said in every}
            weights = by_step(trace, options.advantage, options.beta, tokens if options.normalise == "token" else None)
            for one, said in every:
                prompt = tokenizer.ids([{"role": "user", "content": one.prompt}], begin_answer=True)
                if said is None:
                    rollouts.rewritten += 1
                elif len(prompt) + len(said.ids) > self._setup.longest:
                    rollouts.too_long += 1
                elif said.ids:
                    rollouts.add(prompt, said, 1, weights[one.place])
        if not rollouts.learned:  # a trainer wants one row at least
            self._setup.say(
                f"step {step}: nothing to learn from. {rollouts.rewritten} steps were read as something else than what "
                f"the model wrote, and {rollouts.too_long} are too long"
            )
            end = tokenizer.loaded.eos_token_id
            rollouts.add([end], Sampled([end], [0.0], ""), 0, 0.0)
        return rollouts

    def _traces(self, model: Any, names: Sequence[str], step: int, folder: Path, written: Written) -> list[Trace]:
        options = self._setup.options
        questions = [{"id": n, "question": self._texts[n], "golden_answers": list(self._gold[n])} for n in names]
        file, run = folder / "questions.jsonl", folder / "run"
        grows = options.advantage != "outcome"
        if grows:
            write_jsonl(file, questions)
        else:
            write_copies(file, questions, options.group)
        tokenizer = self._setup.policy.tokenizer.loaded
        engine = Transformers(model, tokenizer, batch=options.batch, fingerprint=f"step {step}", keep=written.keep)
        own: dict[str, Any] = {"temperature": 1, "top_p": 1, "resample": 0}
        if grows:
            own |= GROWN[options.method, options.advantage.removesuffix("-code")] | {"reward": options.reward}
        if options.advantage == "process":
            own["group"] = options.group
        was = model.training
        model.eval()
        try:
            more = {"seed": options.seed * 1_000_003 + step, "journal": False, "keep_tokens": True}
            asked("expand" if grows else "answer", options, engine, file, run, own, **more)
        finally:
            model.train(was)
        self._setup.notes["prompts"] = now = str(read_object(run / "run.json").get("inputs", {}).get("prompts", ""))
        need_prompts(self._setup.source.path, now, "option 'prompts'")
        return list(traces(run) if grows else chains(run, self._gold, options.reward))


GROWN: dict[tuple[str, str], dict[str, Any]] = {
    ("decex", "tree"): {"form": "policy"},
    ("prorag", "tree"): {"grow": "search", "annotate": "none", "simulations": 8, "samples": 4},
    ("prorag", "process"): {"grow": "group", "annotate": "prm"},
}
"""The search options of the trees for an advantage."""


def by_step(trace: Trace, advantage: str, beta: float, tokens: Tokens = None) -> dict[int, float]:
    """The advantage of each step by its place: the sum over the branches through it."""
    found = ADVANTAGES[advantage](trace, beta, tokens)
    through: dict[int, float] = {}
    for leaf in trace.outcomes:
        for place in trace.path(leaf):
            through[place] = through.get(place, 0.0) + found.outcome[leaf] + found.process.get(place, 0.0)
    return through


def spread(advantages: Sequence[float], mask: torch.Tensor) -> torch.Tensor:
    """Advantages [R] over the tokens [R, T] of their steps, 0 where the mask [R, T] is."""
    return torch.tensor(advantages, device=mask.device)[:, None] * mask


def parts(batch: Mapping[str, torch.Tensor], rows: int = 8) -> Iterator[dict[str, torch.Tensor]]:
    """The batch in parts of so many rows of nearly equal length, each without the columns that are padding in all its
    rows. Tensors are [B, P] where their name begins with `prompt`, else [B, T] or scalars."""
    for chosen in batch["prompt_mask"].sum(1).argsort(stable=True).split(rows):
        asked, said = (batch[f"{one}_mask"][chosen].any(0) for one in ("prompt", "completion"))
        yield {
            name: value[chosen][:, asked if name.startswith("prompt") else said] if value.dim() else value
            for name, value in batch.items()
        }
