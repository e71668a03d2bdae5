"""Steps that a process reward guides."""

from .frame import Claim
from .search import Search
from .verdict import more

GRPO = "`espalier train grpo` is not there yet"


def policy(**options: object) -> Search:
    return Search("prorag", options)


GUIDED = Claim(
    "A process reward guides the policy to better answers",
    "ProRAG, Table 2 (w/o RL against SFT)",
    {
        "policy": policy(),
        "beam": policy(guide="beam"),
        "best_of_8": policy(guide="best_of_n"),
        "majority": policy(match_budget=True, max_calls=60),
    },
    [
        more("em", "beam", "policy"),
        more("em", "best_of_8", "policy"),
        more("em", "best_of_8", "majority", decides=False),
    ],
    remark="guided search in place of training on what the reward lets pass. The simulated judge (skill 0.85) gives "
    "the rewards. majority = whole answers at the calls of best_of_8",
)
STAGES = Claim(
    "Each stage adds: SFT, refinement by the process reward, reinforcement learning",
    "ProRAG, Table 2",
    {},
    lacks=f"{GRPO}, and no micro model knows ProRAG's prompts. First two stages: `espalier train sft --data GROUPS`, "
    "then `espalier train sft --data GROUPS/rft.jsonl`",
)
OUTCOME = Claim("Process rewards in GRPO beat the outcome alone", "ProRAG, Table 2", {}, lacks=GRPO)
BETA = Claim("The weight beta of the process reward has its best value at 0.3", "ProRAG, Table 3", {}, lacks=GRPO)
