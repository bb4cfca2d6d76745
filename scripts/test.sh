#!/usr/bin/env bash
# Installs, builds and runs every test. Arguments go to ctest: scripts/test.sh -L golden
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh --tests
ctest --test-dir build/release --output-on-failure -j2 "$@"
