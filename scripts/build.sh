#!/usr/bin/env bash
# Builds the program (build/release/tapemeasure) and, with --tests, the tests. Installs what is missing
# through the package manager first, saying so; with everything there it needs neither root nor network.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build pkg-config libdnnl-dev libhdf5-dev libspdlog-dev libfmt-dev
          libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libhwy-dev libxsmm-dev libxxhash-dev
          libssl-dev libsentencepiece-dev libboost-math-dev libjs-dygraphs libprotobuf-dev
          protobuf-compiler libcpp-httplib-dev)
target=tapemeasure
options=()
for argument in "$@"; do
  case "$argument" in
    --tests)
      packages+=(libgtest-dev python3-numpy python3-h5py python3-venv python3-websocket chromium
                 slurm-wlm munge)
      target=all
      options+=(-DTAPEMEASURE_TESTS=ON) ;;
    -h|--help) echo "usage: scripts/build.sh [--tests]"; exit 0 ;;
    *) echo "build.sh: unknown argument '$argument' (usage: scripts/build.sh [--tests])" >&2; exit 2 ;;
  esac
done

scripts/install.sh "${packages[@]}"
mkdir -p build
if ! cmake --preset release "${options[@]}" >build/configure.log 2>&1; then
  tail -n 20 build/configure.log >&2
  echo "build.sh: configuring failed; all of it is in build/configure.log" >&2
  exit 1
fi
cmake --build --preset release --target "$target"
