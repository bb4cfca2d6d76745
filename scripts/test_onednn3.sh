#!/usr/bin/env bash
# Builds against oneDNN 3 (PyPI's wheels; Debian 12 has oneDNN 2) in build/onednn3 and runs what depends
# on it: kernels against the reference, and the golden fixtures.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh --tests
scripts/install.sh python3-venv
root=$PWD/build/onednn3/root
if [ ! -e "$root/include/dnnl.hpp" ]; then
  python3 -m venv build/onednn3/venv
  build/onednn3/venv/bin/pip download -q --no-deps -d build/onednn3/wheels \
    onednn-devel-cpu-gomp==2023.2.0 onednn-cpu-gomp==2023.2.0
  for wheel in build/onednn3/wheels/*.whl; do
    build/onednn3/venv/bin/python -m zipfile -e "$wheel" build/onednn3/unpacked
  done
  mkdir -p "$root/lib"
  cp -r build/onednn3/unpacked/*.data/data/include "$root/"
  cp build/onednn3/unpacked/*.data/data/lib/libdnnl.so* "$root/lib/"
  # Wheels hold no links: the name that the linker looks for.
  [ -e "$root/lib/libdnnl.so" ] || ln -s "$(cd "$root/lib" && ls libdnnl.so.3* | head -n 1)" \
    "$root/lib/libdnnl.so"
fi
cmake -G Ninja -S . -B build/onednn3/build -DCMAKE_BUILD_TYPE=Release -DTAPEMEASURE_TESTS=ON \
  -DONEDNN_ROOT="$root" >/dev/null
cmake --build build/onednn3/build --target core_test golden_test
build/onednn3/build/tests/core_test --gtest_brief=1 --gtest_filter='*Parity*:*Backend*:*Attention*'
build/onednn3/build/tests/golden_test --gtest_brief=1
