#!/usr/bin/env bash
# Prints docs/reproduce.md from the tables of ablations. usage: scripts/write_reproduce.sh DIR
set -euo pipefail
out=${1:?usage: scripts/write_reproduce.sh DIR}
cat <<'END'
# The papers' ablations, reproduced

Made by `scripts/reproduce.sh` and not by hand: every ablation of `configs/ablations/tiny/` on the King James
Bible, with the papers' own numbers beside ours. A paper's perplexity or BLEU is not our bits per character;
what compares is the order and the gaps, which the verdicts judge ([ablations.md](ablations.md) says how).
"Size-dependent" claims are those that a model of 100 000 parameters may not show, or shows reversed.

END
declare -A verdicts
for table in "$out"/*/table.md; do
  while IFS='|' read -r _ id _ verdict _; do
    kind=core
    [[ "$id" == *size-dependent* ]] && kind=size-dependent
    verdicts["$kind,${verdict//[* ]/}"]=$((${verdicts["$kind,${verdict//[* ]/}"]:-0} + 1))
  done < <(sed -n '/^## Claims/,$p' "$table" | grep -E '^\| [a-z0-9-]+ .*\*\*')
done
echo "| claims | hold | within noise | contradicted | not measured |"
echo "| --- | --- | --- | --- | --- |"
for kind in core size-dependent; do
  echo "| $kind | ${verdicts[$kind,holds]:-0} | ${verdicts[$kind,withinnoise]:-0} | ${verdicts[$kind,contradicted]:-0} | ${verdicts[$kind,notmeasured]:-0} |"
done
for table in "$out"/*/table.md; do
  name=$(basename "$(dirname "$table")")
  echo
  sed 's/^#/##/' "$table"
  echo
  echo "\`tapemeasure ablate configs/ablations/tiny/$name.yaml\`"
done
