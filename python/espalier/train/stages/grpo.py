"""Group relative policy optimisation by TRL, on trajectories of our engine, with advantages [B, T]."""

import random
import warnings
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import datasets
import torch
import trl

from ...export.records import Asked
from ..options import GrpoOptions
from ..rollouts import Rollouts, Sampler, parts, spread
from ..stage import Setup, Stage
from ..trainer import WholeCheckpoints, arguments


class TokenAdvantages(WholeCheckpoints, trl.GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer, whose advantages are per token and not per trajectory.

    A row is one step of a trajectory under the prompt that it was sampled from, so a batch has as many rows as steps
    were sampled. The loss `dapo` divides one sum over all tokens, so it does not matter how they lie in rows.
    """

    divisor: str
    sampler: Any = None
    """Makes Rollouts from a model, ids of questions and a step."""
    sampled: Rollouts

    @classmethod
    def of(cls, setup: Setup[GrpoOptions, Asked]) -> Any:
        """The trainer of a stage's setup."""
        options = setup.options
        names = sorted(row.record.origin.id for row in setup.data.rows)
        order = in_order(names, options.group_questions, options.steps, options.seed)
        datasets.disable_progress_bars()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="You are using 'rollout_func'")  # tests pin what we use of it
            given = arguments(
                options,
                setup.folder,
                setup.rate,
                trl.GRPOConfig,
                evaluates=False,
                per_device_train_batch_size=options.group * options.group_questions,
                num_generations=options.group,
                steps_per_generation=1,
                beta=options.kl,
                temperature=1.0,
                loss_type="dapo",
                epsilon=options.clip,
                num_iterations=options.updates,
                gradient_checkpointing=False,
                shuffle_dataset=False,
            )
            made = cls(
                model=setup.policy.model,
                reward_funcs=[rewards],
                args=given,
                train_dataset=datasets.Dataset.from_dict({"prompt": order}),
                processing_class=setup.policy.tokenizer.loaded,
                rollout_func=rollout,
            )
        made.sampler, made.divisor = Sampler(setup), options.divisor
        return made

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        made = super()._generate_and_score_completions(inputs)
        made["advantages"] = spread(self.sampled.advantages, made["completion_mask"] * made["tool_mask"])
        if self.divisor == "trajectories":
            made["num_items_in_batch"] = torch.tensor(sum(map(len, self.sampled.rewards.values())))
        for name in ("too_long", "rewritten"):
            self._metrics["train"][name].append(float(getattr(self.sampled, name)))
        return made

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, logits_to_keep: int, **more: Any
    ) -> Any:
        """TRL asks the reference for all rows at once, most of which would be padding. It is asked by parts as well."""
        one, begin = super()._get_per_token_logps_and_entropies, input_ids.shape[1] - logits_to_keep
        if torch.is_grad_enabled():
            return one(model, input_ids, attention_mask, logits_to_keep, **more)
        spoken = torch.zeros(len(input_ids), logits_to_keep, device=input_ids.device)
        batch = {
            "prompt_ids": input_ids[:, :begin],
            "prompt_mask": attention_mask[:, :begin],
            "completion_ids": input_ids[:, begin:],
            "completion_mask": attention_mask[:, begin:],
            "row": torch.arange(len(input_ids), device=input_ids.device)[:, None].expand_as(spoken),
        }
        for part in parts(batch):
            ids, mask = (torch.cat([part[f"prompt_{name}"], part[f"completion_{name}"]], 1) for name in ("ids", "mask"))
            said = part["row"].shape[1]
            spoken[part["row"][:, 0], :said] = one(model, ids, mask, said, **more)[0]
        return spoken, None, None

    def _compute_loss(self, model: Any, inputs: Any) -> torch.Tensor:
        """The sum over parts of the batch, which all divide by the tokens of the whole batch."""
        one = super()._compute_loss
        return torch.stack([one(model, part) for part in parts(inputs)]).sum()


def in_order(names: Sequence[str], each: int, steps: int, seed: int) -> list[str]:
    """The questions of all steps, `each` different ones for a step. Every round over them has an order of its own."""
    noise, found = random.Random(seed), list[str]()
    while len(found) < steps * each:
        found += noise.sample(names, len(names) // each * each)
    return found[: steps * each]


def rollout(names: list[str], trainer: TokenAdvantages) -> dict[str, Any]:
    """What TRL asks for. It names each question once for every trajectory of its group."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    trainer.sampled = found = trainer.sampler(model, list(dict.fromkeys(names)), trainer.state.global_step)
    mask = [[one] * len(ids) for one, ids in zip(found.learned, found.completion_ids, strict=True)]
    return {
        "prompt_ids": found.prompt_ids,
        "completion_ids": found.completion_ids,
        "logprobs": found.logprobs if found.logprobs and all(found.logprobs) else None,
        "env_mask": mask,
        "outcome": [one for name in dict.fromkeys(names) for one in logged(found.rewards[name], names.count(name))],
    }


def logged(outcomes: list[float], group: int) -> list[float]:
    """The outcomes of a group as so many numbers: themselves, or their mean where a tree has another number."""
    return outcomes if len(outcomes) == group else [fmean(outcomes)] * group


def rewards(outcome: list[float], **more: Any) -> list[float]:
    """The outcomes, which TRL logs."""
    return outcome


GRPO = Stage(lambda asked: asked.question, (1e-6, 1e-6, 1e-6), TokenAdvantages.of)
