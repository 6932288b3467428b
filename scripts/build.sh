#!/usr/bin/env bash
# Builds everything, or the targets named, into build/; the program is build/assay.
# Usage: scripts/build.sh [--sanitize] [TARGET...]
#
# With --sanitize it builds with clang's sanitizers into build-sanitize/. There are the fuzz targets,
# too, and clang takes half as long as g++ does with its own.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --sanitize ]; then
  shift
  scripts/setup.sh --sanitize
  cmake -S . -B build-sanitize -G Ninja -DASSAY_SANITIZE=ON -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
    -DCMAKE_CXX_FLAGS='-O1 -gline-tables-only' >/dev/null
  ninja -C build-sanitize "$@"
else
  scripts/setup.sh
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
  ninja -C build "$@"
fi
