#!/usr/bin/env bash
# From a fresh clone to a trained model in a few minutes: builds, fetches a text, trains a small
# character model, measures it, and lets it write.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: scripts/quickstart.sh [--text FILE] [--run DIR]"
text=
run=
while [ $# -gt 0 ]; do
  case "$1" in
    --text) text=${2:?--text wants a file}; shift 2 ;;
    --run) run=${2:?--run wants a directory}; shift 2 ;;
    -h|--help) echo "$usage"; exit 0 ;;
    *) echo "quickstart.sh: unknown argument '$1' ($usage)" >&2; exit 2 ;;
  esac
done
if [ -n "$text" ] && [ ! -r "$text" ]; then
  echo "quickstart.sh: cannot read $text" >&2
  exit 3
fi

scripts/build.sh
program=build/release/tapemeasure
prompt='In the beginning'
if [ -z "$text" ]; then
  text=$(scripts/get_corpus.sh kjv)
else
  prompt=$(head -c 400 "$text" | tr '\n' ' ' | cut -c1-20)
fi
if [ -z "$run" ]; then
  run=runs/quickstart
  for ((n = 2; ; ++n)); do [ -e "$run" ] || break; run=runs/quickstart-$n; done
fi

"$program" train configs/kjv-char.yaml --set "data.text=$text" --run "$run"
echo
"$program" evaluate "$run"
echo
echo "A sample (prompt: $prompt):"
"$program" generate "$run" --prompt "$prompt" --tokens 300 --temperature 0.8
echo
echo "The run:      $run (config.yaml, metrics.jsonl, checkpoints/, best.h5, results.json)"
echo "The program:  $program --help"
echo "Try next:     $program train configs/kjv-char.yaml --set model.position=none"
