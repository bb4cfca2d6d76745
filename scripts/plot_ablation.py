#!/usr/bin/env python3
"""Draws an ablation's arms over its evaluation lengths: scripts/plot_ablation.py DIR --out FILE.svg

DIR is what `tapemeasure ablate` wrote. A line for each arm through the measures of a length, with
the standard deviation over seeds as bars.
"""
import argparse
import json
from pathlib import Path

from plot_losses import with_matplotlib


def curves(results):
    """Of each arm, by its label and in the plan's order, a list of (length, mean, sd)."""
    lengths = {m["name"]: m["length"] for m in results["measures"] if "length" in m}
    labels = {arm["name"]: arm["label"] for arm in results["arms"]}
    lines = {label: [] for label in labels.values()}
    for cell in results["cells"]:
        if cell["measure"] in lengths and cell.get("mean") is not None:
            lines[labels[cell["arm"]]].append(
                (lengths[cell["measure"]], cell["mean"], cell.get("sd") or 0))
    return {label: sorted(points) for label, points in lines.items() if points}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ablation", help="folder with results.json")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    with_matplotlib(__file__)
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tapemeasure"
    import matplotlib.pyplot as plt
    results = json.loads((Path(options.ablation) / "results.json").read_text())
    figure, axes = plt.subplots(figsize=(7, 4))
    ticks = set()
    colours = plt.get_cmap("tab10").colors
    for i, (label, points) in enumerate(curves(results).items()):
        x, mean, sd = zip(*points)
        ticks.update(x)
        axes.errorbar(x, mean, yerr=sd, marker="o", ms=4, lw=1.4, capsize=2, label=label,
                      color=colours[i % len(colours)])
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(ticks), [str(tick) for tick in sorted(ticks)])
    axes.set(xlabel="tokens evaluated at once", ylabel=results["measures"][0]["unit"])
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, ncol=2, fontsize=9)
    figure.tight_layout()
    figure.savefig(options.out, metadata={"Date": None})
    print(f"wrote {options.out}")


main()
