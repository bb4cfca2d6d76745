#!/usr/bin/env bash
# Puts a public-domain text into corpora/NAME.txt.
#   kjv  the King James Bible, from Debian's bible-kjv: one verse a line, without its label
set -euo pipefail
cd "$(dirname "$0")/.."

name=${1:-}
case "$name" in
  kjv)
    out=corpora/kjv.txt
    [ -s "$out" ] && { echo "$out"; exit 0; }
    scripts/install.sh bible-kjv bible-kjv-text >&2
    mkdir -p corpora
    # bible(1) lies in /usr/games or /usr/bin; each line is "Gen1:1 In the beginning ...".
    PATH="$PATH:/usr/games" bible -f -l 100000 'gen1:1-rev22:21' | sed 's/^[^ ]* //' >"$out.part"
    mv "$out.part" "$out"
    echo "$out"
    ;;
  *)
    echo "usage: scripts/get_corpus.sh kjv" >&2
    exit 2
    ;;
esac
