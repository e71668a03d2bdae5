"""The hierarchical beam and its two widths."""

from .frame import Claim
from .search import Search
from .verdict import more

JUDGED = "the simulated judge (skill 0.85) stands for the trained values"


def beam(**options: object) -> Search:
    return Search("decouple", options)


FULL, GREEDY = beam(), Search("greedy-agent")

ABLATION = Claim(
    "The beam beats greedy search, and both widths are needed, that of plans more",
    "DecoupleRAG, Table 2",
    {"beam": FULL, "one_plan": beam(B1=1), "one_search": beam(B2=1), "greedy": GREEDY},
    [
        more("em", "beam", "greedy"),
        more("em", "beam", "one_plan"),
        more("em", "beam", "one_search"),
        more("em", "one_search", "one_plan"),
    ],
    seeds=30,
    remark=JUDGED,
)
PLANS = Claim(
    "The width of plans has a peak near 3",
    "DecoupleRAG, Table 3",
    {f"B1={width}": beam(B1=width) for width in range(1, 6)},
    [more("em", "B1=3", "B1=1"), more("em", "B1=3", "B1=5")],
    seeds=30,
    remark=JUDGED,
)
SEARCHES = Claim(
    "A larger width of searches keeps helping",
    "DecoupleRAG, Table 3",
    {f"B2={width}": beam(B2=width) for width in range(1, 6)},
    [more("em", "B2=3", "B2=1"), more("em", "B2=5", "B2=3")],
    seeds=30,
    remark=JUDGED,
)
VALUES = Claim(
    "Ranking by values beats ranking by chance, for plans and for searches",
    "DecoupleRAG, Fig. 4",
    {
        "values": FULL,
        "random_plans": beam(rank_plans="random"),
        "random_searches": beam(rank_searches="random"),
        "random_both": beam(rank_plans="random", rank_searches="random"),
        "none": beam(values="none"),
        "greedy": GREEDY,
    },
    [
        more("em", "values", "random_plans"),
        more("em", "values", "random_searches"),
        more("em", "random_both", "none", decides=False),
        more("em", "random_both", "greedy", decides=False),
    ],
    seeds=30,
    remark=JUDGED + ". none = all values are equal",
)
