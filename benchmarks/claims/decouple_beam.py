"""The hierarchical beam and its two widths."""

from .frame import Claim
from .search import Search
from .training import LABELS, Guided, Stage, Trained
from .verdict import more

JUDGED = "the simulated judge (skill 0.85) stands for the trained values"


def beam(**options: object) -> Search:
    return Search("decouple", options)


FULL, GREEDY = beam(), Search("greedy-agent")

BEAM = Claim(
    "The hierarchical beam beats greedy search",
    "DecoupleRAG, Table 1",
    {"beam": FULL, "greedy": GREEDY, "majority": Search("greedy-agent", {"match_budget": True, "max_calls": 20})},
    [more("em", "beam", "greedy"), more("em", "beam", "majority", decides=False)],
    seeds=30,
    remark=JUDGED + ". majority = greedy answers at about the beam's calls",
)
WIDTHS = Claim(
    "Both widths are needed, that of plans more than that of searches",
    "DecoupleRAG, Table 2",
    {"beam": FULL, "one_plan": beam(B1=1), "one_search": beam(B2=1)},
    [more("em", "beam", "one_plan"), more("em", "beam", "one_search"), more("em", "one_search", "one_plan")],
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
CAUSE = Claim(
    "The peak comes from errors of the values: without them, more plans are better",
    "DecoupleRAG, section 5.2",
    {f"B1={width}": beam(**{"B1": width, "sim.judge": 1}) for width in (1, 3, 5)},
    [more("em", "B1=3", "B1=1"), more("em", "B1=5", "B1=3")],
    seeds=30,
    remark="a simulated judge that never errs gives the values",
)
SEARCHES = Claim(
    "A larger width of searches keeps helping",
    "DecoupleRAG, Table 3",
    {f"B2={width}": beam(B2=width) for width in range(1, 6)},
    [more("em", "B2=3", "B2=1"), more("em", "B2=5", "B2=3")],
    seeds=30,
    remark=JUDGED,
)
RANKED = {
    "values": FULL,
    "random_plans": beam(rank_plans="random"),
    "random_searches": beam(rank_searches="random"),
    "random_both": beam(rank_plans="random", rank_searches="random"),
    "none": beam(values="none"),
    "greedy": GREEDY,
}
PLAN_VALUES = Claim(
    "Ranking plans by their values beats ranking them by chance",
    "DecoupleRAG, Fig. 4",
    {name: RANKED[name] for name in ("values", "random_plans")},
    [more("em", "values", "random_plans")],
    seeds=30,
    remark=JUDGED,
)
SEARCH_VALUES = Claim(
    "Ranking searches by their values beats ranking them by chance",
    "DecoupleRAG, Fig. 4",
    RANKED,
    [
        more("em", "values", "random_searches"),
        more("em", "random_both", "none", decides=False),
        more("em", "random_both", "greedy", decides=False),
    ],
    seeds=30,
    remark=JUDGED + ". none = all values are equal, those of answers too",
)


def valued(**options: object) -> Guided:
    """The beam under the values of heads that learned from the judge's."""
    return Guided(beam(documents=2, values="server", **options), Trained((Stage("value", LABELS),)))


LEARNED_VALUES = Claim(
    "Trained values rank better than chance, and this better than none",
    "DecoupleRAG, Fig. 4",
    {
        "values": valued(),
        "random_both": valued(rank_plans="random", rank_searches="random"),
        "none": beam(documents=2, values="none"),
    },
    [more("em", "values", "random_both"), more("em", "random_both", "none")],
    seeds=5,
    questions=100,
    remark="two heads over the micro model, trained on the simulated judge's values of 1,500 questions, guide the "
    "simulated policy. Answers of random_both are ranked by their trained values",
)
