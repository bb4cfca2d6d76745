#!/usr/bin/env python3
"""Compares tapemeasure with PyTorch on this machine, by turns in one run.

  scripts/compare_pytorch.py                     speed of the tiny setting (4 layers, width 128, T 64)
  scripts/compare_pytorch.py --width 256 --T 256 --batch 16 --methods none,learned
  scripts/compare_pytorch.py --train configs/kjv-char.yaml     validation loss of both

Makes its own virtual environment in build/pytorch (from PyPI) the first time.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/tapemeasure"
PEER = ROOT / "scripts/pytorch"
VENV = ROOT / "build/pytorch"


def python_with_torch():
    python = VENV / "bin/python"
    if not (VENV / "ready").exists():
        print(f"installing PyTorch into {VENV} (once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", PEER / "requirements.txt"],
                       check=True)
        (VENV / "ready").touch()
    return python


def last_json(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(c) for c in command)}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def ours(options, method, folder, text):
    """Tokens/s of whole steps (median), from the run's own metrics, and the process's peak memory."""
    run = tempfile.mkdtemp(dir=folder)
    tokens = options.T * options.batch
    settings = [
        f"data.text={text}", "data.split=[98, 2, 0]", "data.tokenizer=char",
        f"model={{layers: {options.layers}, width: {options.width}, heads: {options.heads}, "
        f"context: {options.T}, position: {method}}}",
        "optimizer={kind: adamw, learning_rate: 3e-4, betas: [0.9, 0.99], clip_norm: 1}",
        f"trainer={{steps: 1000000, batch_tokens: {tokens}, evaluate_every: 0, save_every: 0, "
        f"max_minutes: {options.seconds / 60}, threads: {options.threads}}}"]
    (Path(folder) / "empty.yaml").write_text("{}\n")
    command = [PROGRAM, "train", Path(folder) / "empty.yaml", "--run", Path(run) / "run",
               "--cache", Path(folder) / "cache"]
    for setting in settings:
        command += ["--set", setting]
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit("training failed")
    rows = [json.loads(line) for line in open(Path(run) / "run/metrics.jsonl")]
    speeds = [row["tokens_per_second"] for row in rows if "loss" in row][3:]
    return {"tokens_per_s": statistics.median(speeds), "rss_mb": usage.ru_maxrss / 1024}


def theirs(options, method, mode, python):
    return last_json([python, PEER / "torch_lm.py", "--layers", options.layers, "--width",
                      options.width, "--heads", options.heads, "--T", options.T, "--batch",
                      options.batch, "--seconds", options.seconds, "--threads", options.threads,
                      "--method", method, "--mode", mode])


def random_text(folder):
    """65 characters, as many as the peer's vocabulary."""
    letters = [chr(c) for c in range(48, 48 + 65)]
    draw = random.Random(1)
    path = Path(folder) / "random.txt"
    path.write_text("".join(letters) + "".join(draw.choices(letters, k=1_000_000)))
    return path


def compare_speed(options, python):
    print(f"{options.layers} layers, width {options.width}, {options.heads} heads, T {options.T}, "
          f"batch {options.batch}, {options.threads} threads, f32; medians of {options.rounds} turns")
    print(f"{'':<16}{'tokens/s':>10}{'':>20}{'':>8}{'peak MiB':>10}")
    print(f"{'method':<16}" + f"{'ours':>10}{'eager':>10}{'compiled':>10}" + f"{'ratio':>8}" +
          f"{'ours':>10}{'eager':>10}{'compiled':>10}")
    with tempfile.TemporaryDirectory() as folder:
        text = random_text(folder)
        for method in options.methods.split(","):
            turns = {"ours": [], "eager": [], "compile": []}
            for _ in range(options.rounds):
                turns["ours"].append(ours(options, method, folder, text))
                for mode in ("eager", "compile"):
                    turns[mode].append(theirs(options, method, mode, python))

            def median(side, what):
                return statistics.median(turn[what] for turn in turns[side])
            speeds = [median(side, "tokens_per_s") for side in turns]
            peaks = [median(side, "rss_mb") for side in turns]
            print(f"{method:<16}" + "".join(f"{speed:>10.0f}" for speed in speeds) +
                  f"{speeds[0] / max(speeds[1:]):>8.2f}" +
                  "".join(f"{peak:>10.0f}" for peak in peaks), flush=True)


def compare_training(options, python):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        subprocess.run([PROGRAM, "train", options.train, "--run", run], check=True)
        our_loss = json.loads((run / "results.json").read_text())["validation"]["loss"]
        peer = last_json([python, PEER / "torch_train.py", run / "config.yaml", "--threads",
                          options.threads])
    difference = our_loss / peer["validation_loss"] - 1
    print(f"validation loss: ours {our_loss:.4f}, PyTorch {peer['torch']} "
          f"{peer['validation_loss']:.4f}, difference {100 * difference:+.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in dict(layers=4, width=128, heads=4, T=64, batch=12, threads=2, seconds=10,
                            rounds=3).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--methods", default="learned", help="comma-separated")
    parser.add_argument("--train", metavar="CONFIG", help="compare validation losses instead")
    options = parser.parse_args()
    os.chdir(ROOT)
    if not PROGRAM.exists():
        sys.exit("build first: scripts/build.sh")
    python = python_with_torch()
    if options.train:
        compare_training(options, python)
    else:
        compare_speed(options, python)


if __name__ == "__main__":
    main()
