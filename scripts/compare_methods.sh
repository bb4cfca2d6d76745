#!/usr/bin/env bash
# Trains the same small model with every position method (about half a minute each on two cores),
# evaluates each at and beyond the trained length, prints a table of bits per character, and draws the
# losses. usage: scripts/compare_methods.sh [DIR]   (runs/methods by default; finished runs are kept)
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-runs/methods}
program=build/release/tapemeasure
methods=(none sinusoidal learned alibi t5 rope shaw transformer_xl deberta)
scripts/build.sh
scripts/get_corpus.sh kjv >/dev/null
mkdir -p "$out"
for method in "${methods[@]}"; do
  [ -e "$out/$method/results.json" ] ||
    "$program" train configs/methods.yaml --run "$out/$method" --set "model.position.kind=$method"
done

echo "| method | 64 | 128 | 256 | 512 |"
echo "|---|---|---|---|---|"
for method in "${methods[@]}"; do
  lengths=64,128,256,512
  [ "$method" = learned ] && lengths=64  # its table ends there
  "$program" evaluate "$out/$method" --lengths "$lengths" |
    awk -v method="$method" '$1 == "nonoverlap" {row = row " | " sprintf("%.3f", $6)}
                             END {print "| " method row " |"}'
done
scripts/plot_losses.py "${methods[@]/#/$out/}" --out "$out/losses.svg"
echo "losses: $out/losses.svg"
