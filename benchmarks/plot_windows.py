"""Draws what a window of parallel simulations costs in quality at equal calls, from the output of bench_slots.

Usage: bench_slots | python3 plot_windows.py PICTURE    (needs matplotlib)
"""

import re
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

found = re.findall(r"quality, (\d+) simulations, window (\d+): ([\d.]+) %", sys.stdin.read())
if not found:
    sys.exit("plot_windows.py: standard input holds no line of bench_slots about quality")
windows = [int(window) for _, window, _ in found]
losses = [float(loss) for _, _, loss in found]

figure, axes = pyplot.subplots(figsize=(5.5, 3.2), layout="constrained")
axes.plot(windows, losses, marker="o", color="#2c6e49")
axes.set_xscale("log", base=2)
axes.set_xticks(windows, [str(window) for window in windows])
axes.set_ylim(0, 1.3 * max(losses))
axes.set_xlabel("simulations under way in one tree (window)")
axes.set_ylabel("% of the optimum lost")
axes.set_title(f"Quality at {found[0][0]} simulations, generated trees", fontsize=10)
axes.grid(alpha=0.3)
figure.savefig(sys.argv[1], dpi=120)
