#!/usr/bin/env bash
# How much of the throughput of one cell after the other two cells at once keep: an ablation of two
# arms with --jobs 2 against --jobs 1, one thread each, and against --jobs 1 with two threads.
# usage: scripts/bench_jobs.sh [STEPS [REPEATS]]; wants two idle cores and build/release/tapemeasure
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-300}
repeats=${2:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/two.yaml" <<END
base: $PWD/configs/tiny.yaml
set: [trainer.steps=$steps, trainer.save_every=0, trainer.evaluate_every=0, model.width=128, model.context=64, trainer.batch_tokens=2048]
seeds: [1, 2]
arms: {learned: {}, rope: {set: [model.position.kind=rope]}}
measures: {test: {length: 64}}
END
# seconds JOBS THREADS: the best of the repeats.
seconds() {
  local best=
  for ((i = 0; i < repeats; ++i)); do
    rm -rf "$work/out"
    local begin=$EPOCHREALTIME
    build/release/tapemeasure ablate "$work/two.yaml" --out "$work/out" --jobs "$1" --threads "$2" \
      2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    best=$(awk -v a="$begin" -v b="$EPOCHREALTIME" -v c="$best" \
      'BEGIN { s = b - a; print (c == "" || s < c) ? s : c }')
  done
  echo "$best"
}
seconds 1 1 >/dev/null  # the text is prepared, files are in memory
one=$(seconds 1 1)
two=$(seconds 2 1)
wide=$(seconds 1 2)
awk -v one="$one" -v two="$two" -v wide="$wide" 'BEGIN {
  printf "four cells, one at a time with 1 thread   %.2f s\n", one
  printf "four cells, two at a time with 1 thread   %.2f s: each keeps %.2f of its speed\n", two, one / two / 2
  printf "four cells, one at a time with 2 threads  %.2f s: two at a time are %.2f times as fast\n", wide, wide / two
}'
