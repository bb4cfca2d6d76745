# SPDX-License-Identifier: MIT
"""An ablation of twelve small runs for the tests of the page: four arms, three seeds, of which one has
no results and one a damaged checkpoint. Runs are real; their curves are lengthened to 4000 rows."""
import json
import math
import random
import statistics
import subprocess

ARMS = {"none": {"model.position": "none"}, "shaw": {"model.position": "{kind: shaw, max_distance: 8}"},
        "t5": {"model.position": "t5"}, "xl": {"model.position": "transformer_xl"}}
SEEDS = (1, 2, 3)
LENGTHS = (16, 32, 64)
# What a name may hold, and must not do: neither end a tag, a string, a cell of a table, nor run.
HOSTILE = "<img src=x onerror='window.hacked=1'></td></script><script>window.hacked=1</script>|`\",'&amp;"
ROWS = 4000


def train(program, source, folder, arm, seed):
    run = folder / "runs" / arm / f"seed-{seed}"
    run.parent.mkdir(parents=True, exist_ok=True)
    sets = {"model.layers": 2, "model.width": 32, "model.heads": 2, "model.context": 32,
            "trainer.steps": 30, "trainer.batch_tokens": 128, "trainer.evaluate_every": 10,
            "trainer.save_every": 30, "schedule.warmup_steps": 3, "trainer.seed": seed,
            "trainer.threads": 1, **ARMS[arm]}
    command = [program, "train", "configs/tiny.yaml", "--run", run, "--cache", folder / "cache"]
    for key, value in sets.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return run


def lengthen(run, seed):
    """More rows than a page holds, with one peak that must not be lost."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    draw = random.Random(f"{run.parent.name} {seed}")
    losses = [row for row in rows if "loss" in row]
    for step in range(len(losses) + 1, ROWS + 1):
        loss = 1.2 + 2 / math.sqrt(step) + draw.gauss(0, 0.05)
        losses.append({**losses[-1], "step": step, "loss": 9.5 if step == 2345 else loss,
                       "gradient_norm": draw.random() + 0.5})
    rest = [row for row in rows if "loss" not in row]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in losses + rest))


def results_of(folder):
    draw = random.Random(5)
    measures = [{"name": f"at{n}", "label": str(n), "value": "bits_per_character", "split": "test",
                 "length": n, "protocol": "nonoverlap", "unit": "bits per character"} for n in LENGTHS]
    measures.append({"name": "exact", "label": "copy", "value": "exact_match", "split": "test",
                     "length": 16, "protocol": "answers", "unit": "share of answers"})
    cells = []
    for i, arm in enumerate(ARMS):
        for measure in measures:
            seeds = SEEDS[:2] if arm == "xl" else SEEDS
            values = [{"seed": seed, "value": 2.2 + 0.1 * i + measure["length"] / 400 +
                       draw.gauss(0, 0.02)} for seed in seeds]
            numbers = [one["value"] for one in values]
            cells.append({"arm": arm, "measure": measure["name"], "wanted": 3, "n": len(seeds),
                          "mean": statistics.mean(numbers), "sd": statistics.stdev(numbers),
                          "values": values, "missing": [] if len(seeds) == 3 else
                          [{"seed": 3, "reason": "loss is not finite at step 12"}]})
    return {
        "title": "Ways of telling positions, small", "source": "tests/report/ablation.py",
        "seeds": list(SEEDS),
        "arms": [{"name": arm, "label": f"{arm} positions" + HOSTILE * (arm == "t5"), "parameters": 20000 + i,
                  "changes": {key: str(value) for key, value in ARMS[arm].items()}}
                 for i, arm in enumerate(ARMS)],
        "measures": measures, "cells": cells,
        "paper": {"source": "Shaw et al. 2018, table 2", "columns": ["BLEU"],
                  "rows": [{"arm": "none", "values": [12.5]}, {"arm": "shaw", "values": [25.8]}]},
        "claims": [
            {"id": "relative-helps", "claim": "Relative positions beat none.",
             "source": "Shaw et al. 2018", "core": True, "verdict": "holds", "p": 0.0001,
             "difference": 0.5, "sd": 0.01, "n": 3},
            {"id": "t5-best", "claim": f"T5 {HOSTILE}", "source": f"Raffel {HOSTILE}",
             "core": False, "verdict": "contradicted", "p": 0.8, "difference": -0.2, "sd": 0.02, "n": 3},
            {"id": "xl-long", "claim": "Transformer-XL holds at four times the length.",
             "source": "Dai et al. 2019", "core": True, "verdict": "within noise", "p": 0.2,
             "difference": 0.01, "sd": 0.02, "n": 3, "comparison": "xl@at64 better than xl@at16"},
            {"id": "xl-copy", "claim": "Transformer-XL copies.", "source": "Dai et al. 2019",
             "core": True, "verdict": "not measured", "p": None, "difference": None, "sd": None,
             "n": 2}],
        "chance": {"verdicts": 4, "expected": 0.2}}


def make_ablation(program, source, folder):
    for arm in ARMS:
        for seed in SEEDS:
            lengthen(train(program, source, folder, arm, seed), seed)
    (folder / "results.json").write_text(json.dumps(results_of(folder), indent=2))
    (folder / "runs/xl/seed-3/results.json").unlink()
    broken = folder / "runs/t5/seed-1"
    for checkpoint in [broken / "best.h5", *(broken / "checkpoints").iterdir()]:
        data = bytearray(checkpoint.read_bytes())
        data[len(data) // 2] ^= 1
        checkpoint.write_bytes(data)
    return folder
