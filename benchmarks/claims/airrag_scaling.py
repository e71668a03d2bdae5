"""More inference, better answers: sequences, rollouts, documents, and the actions that are worth it."""

from .frame import Claim
from .search import Search
from .verdict import alike, dearer, more

ACTIONS = ("say", "da", "ra", "qt", "sa")
FIGURES = ("em", "f1", "calls")
DRAWN = "8 rollouts with simulation=descent. One straight rollout would never draw the other samples of RA, QT and SA"


def search(n: int = 1, **options: object) -> Search:
    """Every action has n samples, unless an option says otherwise."""
    return Search("airrag", {f"n_{action}": n for action in ACTIONS} | options)


def descent(n: int = 1, **options: object) -> Search:
    """Eight rollouts, each of which draws the samples of all actions on its way."""
    return search(n, rollouts=8, simulation="descent", **options)


def growing(name: str, values: tuple[int, ...]) -> dict[str, Search]:
    return {f"{name}={value}": search(**{name: value}) for value in values}


SEQUENCES = Claim(
    "More sequences of each action help",
    "AirRAG, Fig. 1",
    {f"n={n}": descent(n) for n in (1, 2, 3)},
    [more("f1", "n=2", "n=1"), more("f1", "n=3", "n=1"), more("f1", "n=3", "n=2")],
    FIGURES,
    remark=DRAWN,
)
ROLLOUTS = Claim(
    "More rollouts help",
    "AirRAG, Fig. 4 right",
    growing("rollouts", (1, 4, 16, 32)),
    [more("em", "rollouts=4", "rollouts=1"), more("em", "rollouts=16", "rollouts=4"),
     more("em", "rollouts=32", "rollouts=16", decides=False)],
)  # fmt: skip
DOCUMENTS = Claim(
    "More documents for each retrieval help",
    "AirRAG, Fig. 3 left",
    growing("documents", (1, 3, 5, 10)),
    [more("em", "documents=3", "documents=1"), more("em", "documents=10", "documents=3")],
    ("em", "calls", "tokens"),
    seeds=30,
)
SPENT = Claim(
    "Samples are best spent on SAY and QT: as good as samples of every action, and cheaper",
    "AirRAG, Table 2",
    {"all_1": descent(), "all_3": descent(3), "say_qt_3": descent(n_say=3, n_qt=3)}
    | {f"{action}_3": descent(**{f"n_{action}": 3}) for action in ACTIONS},
    [
        more("f1", "say_qt_3", "all_1"),
        alike("f1", "say_qt_3", "all_3", 0.02),
        dearer("calls", "all_3", "say_qt_3"),
        *(more("f1", f"{action}_3", "all_1", decides=False) for action in ACTIONS),
    ],
    FIGURES,
    remark=DRAWN,
)
VARIETY = Claim(
    "More variety in SAY and QT (q_div) helps further",
    "AirRAG, Table 2",
    {"plain": descent(n_say=3, n_qt=3), "q_div": descent(n_say=3, n_qt=3, q_div=True)},
    [more("f1", "q_div", "plain")],
    FIGURES,
    remark=DRAWN,
)
