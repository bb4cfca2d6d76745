#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The event files of a run, read by TensorBoard's own reader: every number of metrics.jsonl once, and
none of the rows that a resume has cut. usage: tensorboard_test.py PROGRAM SOURCE_DIR BUILD_DIR

Makes a virtual environment with tensorboard from PyPI in BUILD_DIR the first time.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "tensorboard==2.21.0"


def enter_environment(build):
    """Goes on as the environment's Python."""
    environment = build / "tensorboard"
    python = environment / "bin/python"
    if not (environment / "ready").exists():
        for command in ([sys.executable, "-m", "venv", "--clear", environment],
                        [python, "-m", "pip", "install", "-q", "--retries", "2", PACKAGE]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"tensorboard could not be installed from PyPI into {environment}, so this "
                         f"test cannot be run: {(done.stderr + done.stdout).strip()[-600:]}")
        (environment / "ready").touch()
    if not sys.prefix.startswith(str(environment)):
        os.execv(python, [str(python), *sys.argv])


def scalars(run):
    """{tag: [(step, value)]} by TensorBoard's reader, with nothing thinned out."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    reader = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    reader.Reload()
    return {tag: [(event.step, event.value) for event in reader.Scalars(tag)]
            for tag in reader.Tags()["scalars"]}


def metrics(run):
    """The same of metrics.jsonl, as the 32-bit numbers that events hold."""
    rows = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        for name, value in row.items():
            if name == "step":
                continue
            number = math.nan if value is None else struct.unpack("f", struct.pack("f", value))[0]
            rows.setdefault(name, []).append((row["step"], number))
    return rows


def check(run, steps):
    found, wanted = scalars(run), metrics(run)
    assert set(found) == set(wanted), (sorted(found), sorted(wanted))
    for tag, rows in wanted.items():
        assert found[tag] == rows, (tag, found[tag][:3], rows[:3])
    assert [step for step, _ in found["loss"]] == list(range(1, steps + 1)), found["loss"]
    for tag in ("learning_rate", "gradient_norm", "tokens_per_second", "validation_loss",
                "bits_per_character"):
        assert found[tag], tag


def main():
    program, source, build = (Path(word).resolve() for word in sys.argv[1:4])
    enter_environment(build)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"

        def tapemeasure(*words):
            done = subprocess.run([program, *words, "--cache", Path(folder) / "cache"], cwd=source,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        tapemeasure("train", "configs/tiny.yaml", "--run", run, "--set", "trainer.steps=12", "--set",
                    "trainer.save_every=4", "--set", "trainer.evaluate_every=4", "--set",
                    "schedule.warmup_steps=2")
        check(run, 12)
        # As after a crash: rows behind the newest checkpoint, which is that of step 8.
        (run / "checkpoints/step_000012.h5").unlink()
        (run / "results.json").unlink()
        tapemeasure("resume", run)
        check(run, 12)
        assert len(list((run / "tensorboard").iterdir())) == 1
    print("TensorBoard reads what metrics.jsonl says")


main()
