"""What ProRAG's stages teach a model."""

from typing import Any

from .frame import Claim
from .training import STEPS, Stage, Trained
from .verdict import more

SHOWN: dict[str, Any] = {"figures": ("em", "f1", "retrievals"), "seeds": 5, "questions": 100}
BASE = Stage("sft", STEPS, {"lr": 1e-3, "batch_tokens": 4096, "max_steps": 1000}, taught=3000)
"""The base has never seen ProRAG's steps, so it learns the form first."""
REWARD = Trained((BASE, Stage("prm", STEPS)))
REFINED = Stage("rft", STEPS, {"filter": "prm"}, REWARD)


def reinforced(beta: float, *before: Stage) -> Trained:
    """After GRPO with the weight beta of the process reward. 0 asks no reward model."""
    process = {"advantage": "process", "beta": beta}
    last = Stage("grpo", STEPS, process, REWARD) if beta else Stage("grpo", STEPS)
    return Trained((BASE, *before, last))


STAGES = Claim(
    "Each stage adds: SFT, refinement by the process reward, reinforcement learning",
    "ProRAG, Table 2",
    {"sft": Trained((BASE,)), "refined": Trained((BASE, REFINED)), "full": reinforced(0.3, REFINED)},
    [more("em", "refined", "sft"), more("em", "full", "refined")],
    **SHOWN,
)
OUTCOME = Claim(
    "Process rewards in GRPO beat the outcome alone",
    "ProRAG, Table 2",
    {"process": reinforced(0.3), "outcome": reinforced(0)},
    [more("em", "process", "outcome")],
    **SHOWN,
    remark="both after SFT alone",
)
BETAS = (0.1, 0.3, 0.5, 0.9)
BETA = Claim(
    "The weight beta of the process reward has its best value at 0.3",
    "ProRAG, Table 3",
    {f"beta {beta:g}": reinforced(beta) for beta in BETAS},
    [more("em", "beta 0.3", f"beta {beta:g}") for beta in BETAS if beta != 0.3],
    **SHOWN,
    remark="after SFT alone. beta 0 is the outcome alone, see prorag_outcome",
)
