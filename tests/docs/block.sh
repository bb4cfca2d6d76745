#!/usr/bin/env bash
# Prints the N-th block of a language of a document. usage: block.sh DOCUMENT LANGUAGE N
set -euo pipefail
awk -v fence="\`\`\`$2" -v wanted="$3" '
  /^```$/ {inside = 0}
  inside
  $0 == fence {inside = ++seen == wanted}
  END {exit seen < wanted}' "$1"
