"""Searches over problems that are written in Python."""

import functools
import random
import signal
import traceback
import weakref

import espalier as esp
import numpy as np
import pytest
from conftest import told
from espalier.problem import Proposal, layered, mcts
from espalier.search import Before, Keep, Uct, Verdict


class Bandit:
    """One choice between arms; the state is the arm that was pulled, or None."""

    def __init__(self, arms, priors=None):
        self.arms, self.priors = arms, priors

    def kinds(self, states):
        return [[0] if state is None else [] for state in states]

    def propose(self, states, kinds, counts):
        arms = list(range(len(self.arms)))
        if self.priors is not None:
            arms = [Proposal(arm, prior) for arm, prior in zip(arms, self.priors, strict=True)]
        return [arms for _ in states]

    def step(self, states, actions):
        return actions

    def value(self, states):
        return [0.0 if state is None else self.arms[state] for state in states]


BANDIT = Bandit([0.1, 0.2])
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def outcome(board):
    """1 if the player 'm' has won, -1 if the opponent 't' has, 0 for a draw, None before the end."""
    for line in LINES:
        marks = {board[cell] for cell in line}
        if len(marks) == 1 and marks != {"."}:
            return 1 if marks == {"m"} else -1
    return 0 if "." not in board else None


@functools.cache
def minimax(board, mark):
    """(value for 'm', best cell) with `mark` to move."""
    if outcome(board) is not None:
        return outcome(board), None
    sign = 1 if mark == "m" else -1
    moves = [(minimax(put(board, cell, mark), "t" if mark == "m" else "m")[0], cell) for cell in free(board)]
    value, cell = max(moves, key=lambda move: sign * move[0])
    return value, cell


def free(board):
    return [cell for cell in range(9) if board[cell] == "."]


def put(board, cell, mark):
    return board[:cell] + mark + board[cell + 1 :]


class TicTacToe:
    """One player against an opponent who plays perfectly and answers inside step."""

    def kinds(self, states):
        return [[0] if outcome(board) is None else [] for board in states]

    def propose(self, states, kinds, counts):
        return [free(board)[:n] for board, n in zip(states, counts, strict=True)]

    def step(self, states, actions):
        boards = [put(board, cell, "m") for board, cell in zip(states, actions, strict=True)]
        return [b if outcome(b) is not None else put(b, minimax(b, "t")[1], "t") for b in boards]


def playouts(states, seeds):
    values = []
    for board, seed in zip(states, seeds, strict=True):
        draw = random.Random(seed)
        while outcome(board) is None:
            [board] = TicTacToe().step([board], [draw.choice(free(board))])
        values.append(outcome(board))
    return values


# The cells 3 row + column that are worth most to the mover, and the value of each move (the table).
POSITIONS = {
    "m...t...t": {2: 0, 6: 0, "else": -1},  # x(1,1) o(0,0) x(2,2), o to move
    ".m......t": {2: 1, 4: 0, 6: 0, "else": -1},  # x(0,1) o(2,2), x to move
    "mt.......": {3: 1, 4: 1, 6: 1, "else": 0},  # x(0,0) o(0,1), x to move
}


def keep_all(siblings):
    return []


@pytest.mark.parametrize("board", POSITIONS)
def test_a_whole_tree_holds_the_exact_values_of_tic_tac_toe(board):
    [tree] = layered(TicTacToe(), [board], playouts, prune=Keep(keep_all), width=9)
    best = {}
    for node in reversed(tree.nodes):
        best[node.id] = max([best[child.id] for child in node.children], default=outcome(node.state))
    worth = {child.action: best[child.id] for child in tree.root.children}
    assert worth == {cell: POSITIONS[board].get(cell, POSITIONS[board]["else"]) for cell in free(board)}
    assert all(node.status == "terminal" for node in tree.nodes if not node.children)


@pytest.mark.parametrize("board", POSITIONS)
def test_tree_search_finds_the_best_move(board):
    [tree] = mcts(TicTacToe(), [board], playouts, simulations=600, width=9)
    chosen = max(tree.root.children, key=lambda node: node.visits)
    exact = {cell: POSITIONS[board].get(cell, POSITIONS[board]["else"]) for cell in free(board)}
    assert exact[chosen.action] == max(exact.values())
    assert tree.root.visits == 600 == sum(child.visits for child in tree.root.children)


def test_equal_actions_become_one_child_and_no_more_count_than_were_asked_for():
    class Repeated(Bandit):
        def propose(self, states, kinds, counts):
            proposed = [Proposal((0,), 0.25), Proposal((1,), 0.25), Proposal((0,), 0.5), Proposal((2,), 9.0)]
            return [proposed for _ in states]

    for search in (mcts, layered):
        [tree] = search(Repeated([]), [None], lambda states: [0.5] * len(states), width=3)
        assert [child.action for child in tree.root.children] == [(0,), (1,)], search
    [tree] = mcts(Repeated([]), [None], lambda states: [0.5] * len(states), width=3)
    assert [child.prior for child in tree.root.children] == [0.75, 0.25]


def test_states_live_as_long_as_their_tree():
    class State:
        pass

    class Once(Bandit):
        def kinds(self, states):
            return [[0] if state is root else [] for state in states]

        def step(self, states, actions):
            return [State() for _ in states]

    root = State()
    [tree] = mcts(Once([0.5]), [root], lambda states: [0.5] * len(states))
    node = tree.root.children[0]
    state = weakref.ref(node.state)
    del tree
    assert state() is node.state
    del node
    assert state() is None


def visits(tree):
    return [child.visits for child in tree.root.children]


def test_priors_reach_a_selection_as_shares():
    bandit = Bandit([0.0, 0.0, 0.0], priors=[2.0, 1.0, 1.0])
    seen = []

    def by_prior(N, Q, P):
        seen.append(P)
        return P / (1 + N)

    [tree] = mcts(bandit, [None], bandit.value, select=by_prior, simulations=40)
    assert all(np.allclose(P, [0.5, 0.25, 0.25]) for P in seen)
    assert visits(tree) == [20, 10, 10]


def test_siblings_hold_what_a_native_selection_reads():
    seen = []

    def uct(N, Q, P, siblings):
        seen.append(siblings)
        assert np.array_equal(N, siblings.visits + siblings.pending)
        assert np.allclose(Q * siblings.visits, siblings.totals)
        return np.where(N == 0, np.inf, Q + np.sqrt(2 * np.log(siblings.parent_visits) / np.maximum(N, 1)))

    [tree] = mcts(TicTacToe(), ["." * 9], playouts, select=uct, simulations=50, width=9, values="leaf")
    [native] = mcts(TicTacToe(), ["." * 9], playouts, select=Uct(), simulations=50, width=9, values="leaf")
    assert shape(tree) == shape(native)
    first = seen[0]  # the third simulation: the root and its first child have values
    assert (first.depth, first.parent_visits, first.parent_value) == (1, 2, pytest.approx(first.lowest / 2))
    assert first.status.tolist() == ["open"] * 9 and first.evaluated.tolist() == [True] + [False] * 8
    assert max(s.depth for s in seen) == 2
    assert all((s.evaluated == (s.visits > 0)).all() for s in seen)
    assert any((s.status == "expanded").any() for s in seen)


def test_a_selection_sees_what_is_under_way_and_siblings_tell_it_from_finished_visits():
    bandit, arrays, seen = Bandit([1.0, 1.0]), [], []

    def least(N, Q, P, *, siblings):
        arrays.append((N.tolist(), Q.tolist()))
        seen.append((siblings.visits.tolist(), siblings.pending.tolist(), siblings.status.tolist()))
        assert N.dtype == np.int64 and Q.dtype == P.dtype == np.float64
        return -N

    mcts(bandit, [None], bandit.value, select=least, simulations=4, width=2, window=3)
    assert [sum(N) for N, _ in arrays] == [1, 2, 3]
    assert ([2, 1], [1.0, 1.0]) in arrays  # the other is under way: it has the parent's mean
    assert seen == [
        ([0, 0], [1, 0], ["open", "open"]),  # the first arm is under way
        ([0, 0], [1, 1], ["open", "terminal"]),  # both are
        ([1, 0], [1, 1], ["terminal", "terminal"]),  # the first pull is merged, another of this arm is under way
    ]


def test_a_backup_of_ones_own():
    bandit = Bandit([0.3, 0.6])
    parts = {"simulations": 20, "width": 2}
    [mean] = mcts(bandit, [None], bandit.value, **parts)
    [own] = mcts(bandit, [None], bandit.value, backup=lambda value, N, W: W + value, **parts)
    assert [(n.visits, n.value) for n in own.nodes] == [(n.visits, n.value) for n in mean.nodes]
    seen = []

    def highest(value, N, W):
        seen.append((value, N.tolist(), W.tolist()))
        return np.maximum(W / np.maximum(N - 1, 1), value) * N

    [tree] = mcts(bandit, [None], bandit.value, backup=highest, **parts)
    assert tree.root.value == pytest.approx(0.6)
    assert seen[0] == (0.3, [1, 1], [0.0, 0.0])  # from the leaf to the root


class Decisions:
    """Two kinds a state, an answer (kind 7) that ends the path and a step (kind 3), to a depth of 3."""

    def kinds(self, states):
        return [[] if state[-1:] == "a" or len(state) == 3 else [7, 3] for state in states]

    def propose(self, states, kinds, counts):
        return [["a" if kind == 7 else "s"] for kind in kinds]

    def step(self, states, actions):
        return [state + action for state, action in zip(states, actions, strict=True)]


def ends_well(states):
    return [float(state.endswith("a")) for state in states]


def test_a_pruning_that_knows_enough_skips_the_kinds_that_are_left():
    asked = []

    def answers_only(siblings):
        asked.append([(one.visits, one.value, one.prior, one.kind) for one in siblings])
        return Verdict(enough=max(one.value for one in siblings) == 1)

    [tree] = layered(Decisions(), [""], ends_well, prune=answers_only, width=1)
    assert [node.state for node in tree.nodes] == ["", "a"]
    assert [(1, 1.0, 1.0, 7)] in asked
    [whole] = layered(Decisions(), [""], ends_well, prune=Keep(keep_all), width=1)
    assert sorted(node.state for node in whole.nodes) == ["", "a", "s", "sa", "ss", "ssa", "sss"]
    assert {node.kind for node in whole.nodes[1:]} == {3, 7}


def test_mcts_never_selects_again_what_a_pruning_cut():
    arms = Bandit([0.2, 0.5, 0.9, 0.6])
    [tree] = mcts(arms, [None], arms.value, prune="top_k:2", simulations=40, width=4)
    assert [node.status for node in tree.nodes[1:]] == ["pruned", "pruned", "terminal", "terminal"]
    assert [node.visits for node in tree.nodes[:3]] == [40, 1, 1]


def test_a_filter_cuts_before_anything_is_valued():
    valued = []

    def value(states):
        valued.extend(states)
        return ends_well(states)

    def no_answers(siblings):
        return [one.id for one in siblings if one.kind == 7]

    [tree] = layered(Decisions(), [""], value, prune=Before(no_answers), width=1)
    assert valued == ["s", "ss", "sss"]
    assert [node.state for node in tree.nodes if node.status == "pruned"] == ["a", "sa", "ssa"]


def counted(arms):
    """A bandit, and the sizes of the batches that each of its functions gets."""
    bandit, batches = Bandit(arms), {}
    for name in ("kinds", "propose", "step", "value"):
        function, sizes = getattr(bandit, name), batches.setdefault(name, [])

        @functools.wraps(function)
        def call(*lists, function=function, sizes=sizes):
            assert len({len(one) for one in lists}) == 1
            sizes.append(len(lists[0]))
            return function(*lists)

        setattr(bandit, name, call)
    return bandit, batches


@pytest.mark.parametrize("search", [mcts, layered])
def test_functions_are_called_once_for_all_trees(search):
    (one, single), (many, batches) = counted([0.1, 0.5]), counted([0.1, 0.5])
    search(one, [None], one.value, width=2)
    search(many, [None] * 50, many.value, width=2)
    assert batches == {name: [50 * size for size in sizes] for name, sizes in single.items()}
    assert single["kinds"] == [1, 2] and single["propose"] == [1] and single["step"] == [2]


def test_a_window_makes_batches_in_one_tree():
    def longest(window):
        sizes = []

        def value(states, seeds):
            sizes.append(len(states))
            return playouts(states, seeds)

        [tree] = mcts(TicTacToe(), ["." * 9], value, simulations=64, width=9, window=window)
        assert tree.root.visits == 64
        return max(sizes)

    assert longest(1) == 1 < longest(8) <= 8


class Walk:
    """Random steps of 1 to 9, three of them, drawn by the seeds."""

    def kinds(self, states):
        return [[0] if len(state) < 3 else [] for state in states]

    def propose(self, states, kinds, counts, seeds):
        return [
            [random.Random(seed + i).randint(1, 9) for i in range(n)] for n, seed in zip(counts, seeds, strict=True)
        ]

    def step(self, states, actions, seeds):
        return [(*s, a, random.Random(seed).random()) for s, a, seed in zip(states, actions, seeds, strict=True)]


def shape(tree):
    return [(n.id, n.state, n.action, n.kind, n.visits, n.value, n.prior, n.status) for n in tree.nodes]


@pytest.mark.parametrize("search", [functools.partial(mcts, window=4), layered])
def test_a_tree_depends_on_its_seed_and_on_nothing_that_runs_beside_it(search):
    def value(states, seeds):
        return [random.Random(seed).random() + sum(state) for state, seed in zip(states, seeds, strict=True)]

    together = search(Walk(), [(), ()], value, seed=5)
    again = search(Walk(), [(), ()], value, seed=5)
    [alone] = search(Walk(), [()], value, seed=5)
    [other] = search(Walk(), [()], value, seed=6)
    assert [shape(tree) for tree in together] == [shape(tree) for tree in again]
    assert shape(alone) == shape(together[0]) != shape(other)
    assert shape(together[0]) != shape(together[1])


def with_part(name, function):
    """A bandit with one part replaced, and its value."""
    bandit = Bandit([0.1, 0.2])
    setattr(bandit, name, function)
    return bandit, bandit.value


@pytest.mark.parametrize("kinds", [(7, 3), range(7, 2, -4), np.array([7, 3])])
def test_kinds_are_any_sequence_of_numbers(kinds):
    given = Decisions()
    given.kinds = lambda states: [kinds if listed else () for listed in Decisions().kinds(states)]
    [tree] = layered(given, [""], ends_well, prune=Keep(keep_all), width=1)
    assert [node.state for node in tree.nodes] == ["", "a", "s", "sa", "ss", "ssa", "sss"]
    assert [node.kind for node in tree.nodes] == [0, 7, 3, 7, 3, 7, 3]


@pytest.mark.parametrize("search", [mcts, layered])
@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("kinds", lambda s: [], "the problem's kinds must return a list of 3, but it returned a list of 0"),
        ("kinds", lambda s: [[300]] * 3, r"a list of kinds from 0 to 255 .* returned \[300\] for request 0"),
        ("kinds", lambda s: [""] * 3, r"a list of kinds from 0 to 255 .* returned '' for request 0"),
        ("kinds", lambda s: [[0.5]] * 3, r"a list of kinds from 0 to 255 .* returned \[0.5\] for request 0"),
        ("propose", lambda s, k, n: [[]] * 4, "the problem's propose must return a list of 3, .* a list of 4"),
        ("propose", lambda s, k, n: [3] * 3, "a list of actions or a BackendError .* returned int for request 0"),
        ("step", lambda s, a: tuple(a[1:]), "the problem's step must return a list of 6, .* a tuple of 5"),
        ("step", lambda s, a: None, "the problem's step must return a list of 6, but it returned NoneType"),
        ("value", lambda s: [0.5], r"the value must return a list of \d, but it returned a list of 1"),
        ("value", lambda s: ["high"] * len(s), "the value must return a float .* but it returned str for request 0"),
        ("value", lambda s: [float("nan")] * len(s), "the value must return a finite float"),
    ],
)
def test_a_wrong_reply_names_the_part_and_the_lengths(search, name, function, message):
    problem, value = with_part(name, function)
    with pytest.raises(esp.errors.BackendError, match=message):
        search(problem, [None] * 3, value, width=2)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"select": lambda N, Q, P: N[1:]}, "the selection must return an array of 2, .* an array of 1"),
        ({"select": lambda N, Q, P: 1.0}, "the selection must return an array of 2, .* an array of 0 dimensions"),
        ({"select": lambda N, Q, P: "high"}, "the selection must return an array of 2, but it returned str"),
        ({"select": lambda N, Q, P: Q * np.nan}, "the selection must return numbers"),
        ({"backup": lambda value, N, W: [value]}, "the backup must return an array of 2, .* an array of 1"),
    ],
)
def test_a_wrong_reply_of_a_policy_is_named(policy, message):
    with pytest.raises(ValueError, match=message):
        mcts(BANDIT, [None], BANDIT.value, **policy)


def test_what_is_no_function_is_a_type_error():
    missing, value = "the problem's kinds must be a function, not NoneType", BANDIT.value
    told(missing, lambda: mcts(object(), [None], value), TypeError)
    told("the value must be a function, not float", lambda: mcts(BANDIT, [None], 0.5), TypeError)
    told("the selection must be a function, not str", lambda: mcts(BANDIT, [None], value, select="uct"), TypeError)
    told(r"prune must be a policy, .* not 1", lambda: layered(BANDIT, [None], value, prune=1), TypeError)


@pytest.mark.parametrize("option", [{"simulations": 0}, {"width": 0}, {"window": 0}, {"width": 256}])
def test_a_bad_option_is_named(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        mcts(BANDIT, [None], BANDIT.value, **option)
    with pytest.raises(ValueError, match="prior"):
        Proposal(0, -1.0)


def innermost(*arguments):
    raise KeyError("no such thing")


@pytest.mark.parametrize("name", ["kinds", "propose", "step", "value", "select", "backup"])
def test_an_exception_of_a_part_keeps_its_traceback(name):
    policy = {name: innermost} if name in ("select", "backup") else {}
    problem, value = with_part("unused" if policy else name, lambda *arguments: innermost())
    with pytest.raises(KeyError) as caught:
        mcts(problem, [None], value, **policy, window=4)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "innermost"


def test_a_failure_in_place_of_an_item_costs_its_own_tree_only():
    class Two(Bandit):
        def kinds(self, states):
            return [[0] if isinstance(state, str) else [] for state in states]

        def step(self, states, actions):
            gone = esp.errors.BackendError("the second is lost", permanent=True)
            return [gone if state == "second" else a for state, a in zip(states, actions, strict=True)]

    with pytest.raises(esp.errors.BackendError, match="the second is lost") as caught:
        mcts(Two([0.1, 0.2]), ["first", "second", "third"], BANDIT.value)
    first, second, third = caught.value.trees
    assert second is None and visits(first) == visits(third) and first.root.visits == 32


@pytest.mark.parametrize(
    ("search", "part", "fails"),
    [
        (mcts, "step", lambda states, actions: [esp.errors.BackendError("gone", permanent=True) for _ in states]),
        (mcts, "prune", lambda siblings: 1 / 0),
        (layered, "prune", lambda siblings: 1 / 0),
        (mcts, "select", lambda N, Q, P: 1 / 0),
        (mcts, "backup", lambda value, N, W: W if len(N) == 1 else 1 / 0),
    ],
)
def test_a_failure_in_one_tree_costs_no_other(search, part, fails):
    problem, value = with_part(part, fails)
    with pytest.raises((esp.errors.Error, ZeroDivisionError), match=r"gone|division by zero") as caught:
        search(problem, [0, None, 1], value, **({} if part == "step" else {part: fails}))
    assert [tree is None for tree in caught.value.trees] == [False, True, False]


def test_a_signal_ends_a_search_that_calls_no_python():
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            mcts(BANDIT, [None], BANDIT.value, simulations=2**32 - 1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_no_roots_give_no_trees():
    bandit = Bandit([0.1])
    assert mcts(bandit, [], bandit.value) == [] == layered(bandit, [], bandit.value)


def test_a_root_that_is_an_end_is_valued_alone():
    [tree] = mcts(BANDIT, [1], BANDIT.value, simulations=5)
    assert len(tree) == 1 and tree.root.value == pytest.approx(0.2) and tree.root.visits == 5
    assert tree.root.parent is None and tree.root.action is None and tree.root.status == "terminal"


class Shout(int):
    """An arm whose text would clear a terminal."""

    def __repr__(self):
        return "a\x1b[2J\nb"


def test_a_tree_prints_as_an_outline_that_no_text_can_break():
    bandit = Bandit([0.25, 0.75])
    [tree] = mcts(bandit, [None], bandit.value, simulations=2)
    assert str(tree) == (
        "0 root, visits 2, value 0.5, prior 1, expanded: None\n"
        "  1 kind 0, visits 1, value 0.25, prior 0.5, open: 0\n"
        "  2 kind 0, visits 1, value 0.75, prior 0.5, terminal: 1"
    )
    [tree] = mcts(bandit, [Shout(1)], bandit.value, simulations=5)
    assert str(tree) == r"0 root, visits 5, value 0.75, prior 1, terminal: a\x1b[2J ..."


def test_nodes_know_their_place():
    [tree] = mcts(BANDIT, [None], BANDIT.value)
    [first, second] = tree.root.children
    assert first.parent == tree.root and hash(first) != hash(second) and tree.nodes == [tree.root, first, second]
    assert repr(second) == f"ProblemNode(id=2, action=1, value={second.value}, visits={second.visits})"
    assert repr(tree) == "ProblemTree(3 nodes)" and repr(Proposal("x", 0.5)) == "Proposal('x', 0.5)"
