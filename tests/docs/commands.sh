#!/usr/bin/env bash
# Runs what the README shows: every line of its sh blocks that begins with "tapemeasure", in order, and
# its config. usage: commands.sh PROGRAM SOURCE_DIR
set -euo pipefail
program=$1
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$source/configs" "$folder/configs"
cd "$folder"
export XDG_CACHE_HOME=$folder/cache
tapemeasure() { "$program" "$@"; }

awk '/^```sh$/ {inside = 1; next} /^```$/ {inside = 0} inside && /^tapemeasure /' \
  "$source/README.md" >commands
[ "$(wc -l <commands)" -ge 9 ] || { echo "the README shows fewer commands than it should"; exit 1; }
while IFS= read -r command; do
  echo "\$ $command"
  eval "$command" </dev/null >output 2>&1 || { cat output; echo "failed: $command"; exit 1; }
done <commands

awk '/^```yaml$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$source/README.md" >example.yaml
cp configs/tiny.txt corpus.txt
tapemeasure explain example.yaml >output 2>&1 || { cat output; exit 1; }

# Every link of the documents leads somewhere.
grep -ohE '\]\([^)#]+' "$source"/README.md | sed 's/](//' | while IFS= read -r link; do
  [ -e "$source/$link" ] || { echo "README.md links to $link, which is not there"; exit 1; }
done
for name in $(grep -ohE '`[a-z-]+\.md`' "$source/docs/README.md" | tr -d '`'); do
  [ -e "$source/docs/$name" ] || { echo "docs/README.md names $name, which is not there"; exit 1; }
done

# Every ablation is reproduced, or said not to be; one that is shows all of its claims.
for plan in "$source"/configs/ablations/tiny/*.yaml; do
  name=$(basename "$plan" .yaml)
  grep -qF "$name" "$source/docs/reproduce.md" || { echo "docs/reproduce.md says nothing of $name"; exit 1; }
  grep -qF "configs/ablations/tiny/$name.yaml" "$source/docs/reproduce.md" || continue
  for claim in $(sed -n 's/^ *- *id: *//p' "$plan"); do
    grep -qE "^\| $claim( |$)" "$source/docs/reproduce.md" || {
      echo "docs/reproduce.md does not judge $claim of $name"; exit 1; }
  done
done
