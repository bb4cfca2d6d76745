#!/usr/bin/env bash
# scripts/get_corpus.sh with archives that lie here, whole and damaged, and with none. Nothing is asked
# of the network. usage: corpora.sh SOURCE_DIR
set -euo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TAPEMEASURE_CORPORA_FOLDER=$folder/corpora TAPEMEASURE_CORPORA=file://$folder/mirror
mkdir "$folder/mirror" "$folder/wikitext-2"
fail() { echo "$1"; exit 1; }
get() { "$source/scripts/get_corpus.sh" "$@" >"$folder/out" 2>"$folder/err"; }
nothing() { [ -z "$(ls -A "$folder/corpora")" ] || fail "something was left: $(ls -A "$folder/corpora")"; }

for name in enwik8 text8 ptb wikitext-2 wikitext-103 tinyshakespeare; do
  get $name && fail "$name came from nowhere"
  grep -q "cannot download file://$folder/mirror/" "$folder/err" || fail "$name: $(cat "$folder/err")"
  nothing
done
get nothing && fail "an unknown corpus"
grep -q usage "$folder/err" || fail "no usage: $(cat "$folder/err")"

# An archive that is cut, and one without a part.
for split in train valid test; do echo " the $split <unk> " >"$folder/wikitext-2/wiki.$split.tokens"; done
(cd "$folder" && python3 -m zipfile -c mirror/wikitext-2-v1.zip wikitext-2)
cp "$folder/mirror/wikitext-2-v1.zip" "$folder/good.zip"
head -c 200 "$folder/good.zip" >"$folder/mirror/wikitext-2-v1.zip"
get wikitext-2 && fail "a cut archive"
grep -q "not a whole archive" "$folder/err" || fail "$(cat "$folder/err")"
nothing
rm "$folder/wikitext-2/wiki.test.tokens" "$folder/mirror/wikitext-2-v1.zip"
(cd "$folder" && python3 -m zipfile -c mirror/wikitext-2-v1.zip wikitext-2)
get wikitext-2 && fail "an archive without a part"
grep -q "wiki.test.tokens is missing" "$folder/err" || fail "$(cat "$folder/err")"
nothing

cp "$folder/good.zip" "$folder/mirror/wikitext-2-v1.zip"
get wikitext-2 || fail "$(cat "$folder/err")"
[ "$(wc -l <"$folder/out")" -eq 3 ] || fail "not three parts: $(cat "$folder/out")"
[ "$(cat "$folder/corpora/wikitext-2.valid.txt")" = " the valid <unk> " ] || fail "another text"
(cd "$folder/corpora" && sha256sum --check --quiet wikitext-2.sha256) || fail "another digest"
rm -r "$folder/mirror"
get wikitext-2 || fail "what is there was fetched again"

mkdir "$folder/mirror"
echo short >"$folder/enwik8"
(cd "$folder" && python3 -m zipfile -c mirror/enwik8.zip enwik8)
get enwik8 && fail "a short enwik8"
grep -q "6 bytes, not 100000000" "$folder/err" || fail "$(cat "$folder/err")"
# A cut where it belongs: R142.
head -c 100000000 /dev/zero | tr '\0' 'x' >"$folder/text8"
(cd "$folder" && python3 -m zipfile -c mirror/text8.zip text8)
get text8 || fail "$(cat "$folder/err")"
sizes=$(stat -c %s "$folder"/corpora/text8.{train,valid,test}.txt | xargs)
[ "$sizes" = "90000000 5000000 5000000" ] || fail "text8 was cut into $sizes"
