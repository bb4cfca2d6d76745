#!/usr/bin/env python3
"""Draws the losses of runs: scripts/plot_losses.py RUN... --out FILE.svg

Lines are training losses, smoothed over 50 steps; dots are validation losses. Makes its own virtual
environment with matplotlib in build/plot (from PyPI) the first time.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parent.parent / "build/plot"


def with_matplotlib(program=__file__):
    """Begins `program` again inside the environment, which is made on the first call."""
    try:
        import matplotlib  # noqa: F401
        return
    except ImportError:
        pass
    python = VENV / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "matplotlib"], check=True)
    os.execv(python, [str(python), program, *sys.argv[1:]])


def smoothed(values, width=50):
    means = []
    for i in range(len(values)):
        window = values[max(0, i - width + 1): i + 1]
        means.append(sum(window) / len(window))
    return means


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    with_matplotlib()
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tapemeasure"
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for run in options.runs:
        rows = [json.loads(line) for line in open(Path(run) / "metrics.jsonl")]
        name = json.load(open(Path(run) / "results.json"))["position"]
        train = [(row["step"], row["loss"]) for row in rows if "loss" in row]
        valid = [(row["step"], row["validation_loss"]) for row in rows if "validation_loss" in row]
        line, = axes.plot([s for s, _ in train], smoothed([x for _, x in train]), label=name, lw=1.2)
        axes.plot(*zip(*valid), "o", ms=4, color=line.get_color())
    axes.set(xlabel="step", ylabel="nats per character")
    axes.set_ylim(bottom=axes.get_ylim()[0], top=3.2)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(options.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
