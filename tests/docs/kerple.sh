#!/usr/bin/env bash
# Does what docs/adding-a-method.md says: builds its method, writes its fixtures, runs them and the suites
# that go through all methods, and trains with it. usage: kerple.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1
build=$2
document=$source/docs/adding-a-method.md
block=$source/tests/docs/block.sh
folder=$build/tests/kerple
cmake --build "$build" --target kerple_all >"$folder/build.log" || { cat "$folder/build.log"; exit 1; }

python=python3  # or, where another one stands before it, Debian's, which has the packages
"$python" -c 'import numpy, h5py' 2>/dev/null || python=/usr/bin/python3
rm -rf "$folder/goldens" "$folder/runs"
mkdir "$folder/goldens"
"$block" "$document" python 1 >"$folder/kerple.py"
"$python" "$folder/kerple.py" "$folder/goldens"

# Runs those tests of a suite whose name matches; there must be some.
suite() {
  echo "$1 $2"
  "$build/tests/$1" --gtest_filter="$2" >"$folder/output" 2>&1 || { cat "$folder/output"; exit 1; }
  grep -q '^\[  PASSED  \] [1-9]' "$folder/output" || { echo "$1: no test is called $2"; exit 1; }
}
export TAPEMEASURE_GOLDENS=$folder/goldens
suite kerple_golden '*kerple*:Coverage.*'
suite kerple_layers '*/kerple'
suite kerple_app '*/kerple'
suite kerple_cli '*/kerple'

# The document's commands, shortened.
cd "$folder"
ln -sfn "$source/configs" configs
tapemeasure() { "$build/tests/kerple_tapemeasure" "$@"; }
"$block" "$document" sh 1 | grep '^tapemeasure train' >commands
while IFS= read -r command; do
  eval "$command --cache cache --set trainer.steps=20" </dev/null
done <commands
grep -q '"position": "kerple"' runs/kerple/results.json
