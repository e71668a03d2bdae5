"""Draws docs/search.svg, the picture of the search loop on the design page. It needs the standard library alone.

Usage: python3 tools/make_search_diagram.py [--check]      (--check: only say whether the file is up to date)
"""

import sys
from html import escape
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "docs/search.svg"
WIDTH, HEIGHT = 1000, 690
STYLE = """
  .paper { fill: #ffffff } .ink { fill: #1f2933 } .soft { fill: #52606d }
  .tree { fill: #e3f0fb; stroke: #2b6cb0 } .shared { fill: #eef1f4; stroke: #7b8794 }
  .outside { fill: #fdf3da; stroke: #b7791f }
  .frame { fill: none; stroke: #2b6cb0 } .line { fill: none; stroke: #52606d } .head { fill: #52606d }
  rect, .line { stroke-width: 1.5 } text { font-family: system-ui, sans-serif; font-size: 14px; text-anchor: middle }
  .name { font-weight: 600; font-size: 16px } .left { text-anchor: start }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #1a1f24 } .ink { fill: #e8edf2 } .soft { fill: #a8b3bd }
    .tree { fill: #17324a; stroke: #63a4dd } .shared { fill: #2b3239; stroke: #8b97a3 }
    .outside { fill: #40331a; stroke: #d6a548 }
    .frame { stroke: #63a4dd } .line { stroke: #a8b3bd } .head { fill: #a8b3bd }
  }
"""


def text(x: float, y: float, said: str, look: str = "soft") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{look}">{escape(said)}</text>'


def frame(x: float, y: float, width: float, height: float, look: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" class="{look}"/>'


def box(x: float, y: float, width: float, height: float, look: str, name: str, *lines: str) -> str:
    """A box around its name and what is said below it."""
    middle, top = x + width / 2, y + height / 2 - 9 * len(lines) + 5
    said = [text(middle, top, name, "ink name"), *(text(middle, top + 20 + 18 * i, one) for i, one in enumerate(lines))]
    return frame(x, y, width, height, look) + "".join(said)


def arrow(*points: tuple[float, float], both: bool = False) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    start = ' marker-start="url(#to)"' if both else ""
    return f'<polyline points="{path}" class="line" marker-end="url(#to)"{start}/>'


def draw() -> str:
    column, upper, lower, wide, high = (190, 395, 600), 70, 200, 170, 74
    parts = [
        frame(0.75, 0.75, WIDTH - 1.5, HEIGHT - 1.5, "paper"),
        # One engine a tree; the frames behind it are the other trees.
        frame(176, 16, 624, 292, "frame"),
        frame(170, 22, 624, 292, "paper"),
        frame(170, 22, 624, 292, "frame"),
        text(186, 46, "Engine: one coroutine per tree, many trees side by side", "ink left"),
        box(16, upper, 120, high, "outside", "Question"),
        box(column[0], upper, wide, high, "tree", "1  Select", "selection policy,", "from the root down"),
        box(column[0], lower, wide, high, "tree", "2  Propose", "the environment", "asks a model"),
        box(column[1], lower, wide, high, "tree", "3  Step", "the environment", "asks a retriever"),
        box(column[2], lower, wide, high, "tree", "4  Value", "reward, rollouts", "or a judge"),
        box(column[2], upper, wide, high, "tree", "5  Back up", "the value enters", "up to the root"),
        box(column[1], upper, wide, high, "tree", "6  Prune", "pruning policy,", "stop rule, budget"),
        arrow((136, upper + high / 2), (column[0] - 3, upper + high / 2)),
        arrow((column[0] + 85, upper + high), (column[0] + 85, lower - 3)),
        arrow((column[0] + wide, lower + high / 2), (column[1] - 3, lower + high / 2)),
        arrow((column[1] + wide, lower + high / 2), (column[2] - 3, lower + high / 2)),
        arrow((column[2] + 85, lower), (column[2] + 85, upper + high + 3)),
        arrow((column[2], upper + high / 2), (column[1] + wide + 3, upper + high / 2)),
        arrow((column[1], upper + high / 2), (column[0] + wide + 3, upper + high / 2)),
        text(480, 178, "again, until the search ends"),
        # What is left.
        box(840, upper, 144, high, "tree", "Tree", "nodes, values,", "costs"),
        arrow((803, upper + high / 2), (837, upper + high / 2)),
        box(840, lower, 144, 110, "outside", "Outputs", "answers,", "training data,", "report"),
        arrow((912, upper + high), (912, lower - 3)),
        # What all trees share.
        frame(16, 352, 778, 84, "shared"),
        text(93, 382, "Scheduler", "ink name"),
        text(93, 402, "resumes every tree"),
        text(93, 420, "until all wait"),
        frame(16, 474, 778, 84, "shared"),
        text(93, 521, "Journal", "ink name"),
        text(480, 521, "keeps every response before a tree sees it, and answers what was asked before"),
        text(845, 460, "all trees share both", "soft left"),
        arrow((835, 440), (835, 394), (797, 394)),
        arrow((835, 470), (835, 516), (797, 516)),
    ]
    ports = ("Model port", "Retriever port", "Model port")
    backends = (
        ("Language model", "server or function"),
        ("Retriever", "index or server"),
        ("Judge or reward", "server or function"),
    )
    for x, port, (backend, said) in zip(column, ports, backends, strict=True):
        middle = x + wide / 2
        parts += [
            box(x, 368, wide, 52, "tree", port),
            arrow((middle, lower + high + 3), (middle, 365), both=True),
            arrow((middle, 423), (middle, 471), both=True),
            arrow((middle, 561), (middle, 609), both=True),
            box(x, 612, wide, 62, "outside", backend, said),
        ]
    shape = '<path d="M0 0 L10 5 L0 10 z" class="head"/>'
    size = 'viewBox="0 0 10 10" refX="8" refY="5" markerWidth="8" markerHeight="8"'
    marker = f'<marker id="to" {size} orient="auto-start-reverse">{shape}</marker>'
    title = "The search loop: engine, ports, journal, backends, tree and outputs"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{marker}</defs>",
            *parts,
            "</svg>",
            "",
        ]
    )


def main() -> int | str:
    if sys.argv[1:] == ["--check"]:
        current = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
        return 0 if current == draw() else f"{TARGET} is out of date: run tools/make_search_diagram.py"
    TARGET.write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
