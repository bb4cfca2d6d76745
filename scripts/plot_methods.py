#!/usr/bin/env python3
"""Draws what each position method adds to a logit over the distance: scripts/plot_methods.py --out FILE.svg

Three heads each, of width 32, from the formulas in docs/methods.md. Where a method learns vectors or a
table, they are drawn at random here: what shows is the shape that the method gives them.
"""
import argparse
import math

from plot_losses import with_matplotlib

FARTHEST, WIDTH, HEADS = 160, 32, 3


def t5_bucket(distance, buckets=32, farthest=128):
    exact = buckets // 2
    if distance < exact:
        return distance
    share = math.log(distance / exact) / math.log(farthest / exact)
    return min(buckets - 1, exact + int(share * (buckets - exact)))


def sinusoid(np, distance, width):
    """All sines, then all cosines."""
    angles = distance[:, None] * 10000.0 ** (-2 * np.arange(width // 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def curves(np):
    """Per method, of each head the logit by distance; the unit is what an untrained q.k has."""
    random = np.random.default_rng(4)
    distance = np.arange(FARTHEST + 1)
    query = random.normal(size=(HEADS, WIDTH))
    clip = np.minimum(distance, 16)
    root = math.sqrt(WIDTH)
    table = sinusoid(np, distance, WIDTH)
    steps = -np.abs(random.normal(size=(HEADS, 32))).cumsum(1) / 4
    rows = random.normal(size=(2, HEADS, 65, WIDTH))
    near = np.minimum(distance, 64)
    key = random.normal(size=(HEADS, WIDTH))
    half = WIDTH // 2
    pairs = query ** 2  # the same vector as query and as key
    turned = np.cos(distance[:, None] * 10000.0 ** (-2 * np.arange(half) / WIDTH))
    return {
        "none": np.zeros((1, FARTHEST + 1)),
        "sinusoidal": [table @ (scale * table[0]) / root for scale in (1.5, 1, 0.5)],
        "learned": None,
        "shaw": [q @ random.normal(size=(17, WIDTH)).T[:, clip] / root for q in query],
        "transformer_xl": [(table @ random.normal(size=(WIDTH, WIDTH)).T / root) @ q / root
                           for q in query],
        "t5": [head[[t5_bucket(d) for d in distance]] for head in steps],
        "deberta": [(rows[0, h, near] @ query[h] + rows[1, h, near] @ key[h]) / math.sqrt(3 * WIDTH)
                    for h in range(HEADS)],
        "alibi": [-(2.0 ** (-8 * (h + 1) / 4)) * distance for h in range(HEADS)],
        "rope": [turned @ (pair[:half] + pair[half:]) / root for pair in pairs],
    }


def draw_learned(np, axes):
    """Of absolute vectors a logit depends on both positions: one row for each of three queries."""
    random = np.random.default_rng(7)
    vectors = random.normal(size=(FARTHEST + 1, WIDTH))
    for query in (160, 150, 140):
        keys = np.arange(query, query - 64, -1)
        axes.plot(query - keys, vectors[keys] @ vectors[query] / WIDTH, lw=0.8)
    axes.set_xlabel("distance from tokens 160, 150, 140", fontsize=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    with_matplotlib(__file__)
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tapemeasure", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt
    import numpy as np
    figure, grid = plt.subplots(3, 3, figsize=(9, 6.4))
    for axes, (name, heads) in zip(grid.flat, curves(np).items()):
        axes.set_title(name, fontsize=10)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
        axes.set_xlabel("distance i - j", fontsize=8)
        if heads is None:
            draw_learned(np, axes)
            continue
        if name == "none":
            axes.set_ylim(-1, 1)
        for head in heads:
            axes.plot(np.round(head, 3), lw=1)
    figure.tight_layout()
    figure.savefig(options.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
