#!/usr/bin/env bash
# Runs the papers' ablations of configs/ablations/tiny on the King James Bible and writes docs/reproduce.md,
# the README's table and docs/all-methods.svg from them. What is finished is kept, so it may be stopped and started again at any moment.
# usage: scripts/reproduce.sh [DIR [NAME...]]   (ablations by default; all but absolute-slow)
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-ablations}
names=("${@:2}")
if [ ${#names[@]} -eq 0 ]; then
  names=(all-methods shaw-clipping shaw-clipping-masked shaw-keys-values txl-encoding-recurrence
         txl-attention-length t5-buckets t5-encoder-bias deberta-disentangled deberta-decoder
         alibi-extrapolation rope-scaling nope-depth nope-generalises)
fi
program=build/release/tapemeasure
scripts/build.sh
scripts/get_corpus.sh kjv >/dev/null
for name in "${names[@]}"; do
  "$program" ablate "configs/ablations/tiny/$name.yaml" --out "$out/$name"
done
scripts/write_reproduce.py "$out"
[ ! -d "$out/all-methods" ] || scripts/plot_ablation.py "$out/all-methods" --out docs/all-methods.svg
