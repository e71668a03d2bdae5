"""Steps that a process reward guides."""

from .frame import Claim
from .search import Search
from .verdict import more


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
