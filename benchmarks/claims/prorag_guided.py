"""Steps that a process reward guides."""

from .frame import Claim
from .search import Search
from .training import STEPS, Guided, Stage, Trained
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


def rewarded(**options: object) -> Guided:
    """Guided by a reward model that learned from the judge's pairs."""
    return Guided(policy(**options), Trained((Stage("prm", STEPS),)))


LEARNED_REWARD = Claim(
    "A trained process reward guides the policy to better answers",
    "ProRAG, Table 2 (w/o RL against SFT)",
    {
        "beam": rewarded(guide="beam"),
        "best_of_8": rewarded(guide="best_of_n"),
        "policy": policy(),
        "majority": policy(match_budget=True, max_calls=60),
    },
    GUIDED.comparisons,
    seeds=5,
    questions=100,
    remark="a reward model over the micro model, trained on pairs of the simulated judge, guides the simulated "
    "policy. policy = what choosing by chance gives. majority = whole answers at the calls of best_of_8",
)
