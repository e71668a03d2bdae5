"""What DecEx-RAG's rows and pairs teach a model."""

from dataclasses import replace
from typing import Any

from .frame import Claim
from .training import OWN, TAUGHT, TREES, Stage, Trained, chain
from .verdict import alike, more

SHOWN: dict[str, Any] = {"figures": ("em", "retrievals"), "seeds": 5, "questions": 100}
CHAINS = {choice: Trained((Stage("sft", chain(choice)),)) for choice in ("most", "random", "least")}
SFT = CHAINS["most"]


def preferred(kinds: str) -> Trained:
    return Trained((*SFT.stages, Stage("dpo", options={"kinds": kinds})))


PRUNED = replace(TREES, options={**TREES.options, "search": "pruned"})

SELECTION = Claim(
    "SFT on the chain with the most retrievals beats a random one, and this the one with the least",
    "DecEx-RAG, Fig. 2a",
    CHAINS,
    [more("em", "most", "random"), more("em", "random", "least")],
    **SHOWN,
)
STAGES = Claim(
    "SFT and then DPO beats SFT alone",
    "DecEx-RAG, Fig. 2c",
    {
        "base": Trained(),
        "base_own_dpo": Trained((Stage("dpo", OWN),)),
        "sft": SFT,
        "sft_dpo": preferred("both"),
        "sft_own_dpo": Trained((*SFT.stages, Stage("dpo", OWN))),
    },
    [
        more("em", "sft_dpo", "sft"),
        *(more("em", f"{one}_own_dpo", one, decides=False) for one in ("sft", "base")),
        more("em", "sft", "base", decides=False),
    ],
    **SHOWN,
    remark="the base has learned the format before, from other rows of the same teacher. own = pairs of trees that the "
    "model grew itself, not the teacher",
)
PAIRS = Claim(
    "Decision and execution pairs together beat either alone",
    "DecEx-RAG, Fig. 2b",
    {"both": preferred("both"), "decision": preferred("decision"), "execution": preferred("execution")},
    [more("em", "both", "decision"), more("em", "both", "execution")],
    **SHOWN,
)
QUALITY = Claim(
    "Rows of pruned trees teach as well as those of No-Pruning",
    "DecEx-RAG, Table 2 (SFT)",
    {"pruned": Trained((Stage("sft", PRUNED),)), "no_pruning": SFT},
    [alike("em", "pruned", "no_pruning", 0.02)],
    **SHOWN,
)
OUTCOME = Claim(
    "Process supervision beats outcome-only training on the same questions",
    "DecEx-RAG, Table 1",
    {"process": preferred("both"), "outcome": Trained((*SFT.stages, Stage("grpo", taught=TAUGHT["dpo"])))},
    [more("em", "process", "outcome")],
    **SHOWN,
    remark="process = SFT, then DPO on trees of the teacher. outcome = the same SFT, then GRPO on own samples. Both "
    f"learn from the same {TAUGHT['dpo']} questions",
)
