#!/usr/bin/env bash
# Runs the tests of some folders under the address and the undefined-behaviour sanitizer.
# Usage: scripts/sanitize.sh [FOLDER...]    of harness/tests/; by default all that need neither NVRTC
# nor a GPU, which come without instrumentation
set -euo pipefail
cd "$(dirname "$0")/.."

folders=("$@")
[ $# -gt 0 ] ||
  mapfile -t folders < <(sed -nE 's/^assay_test\((\w+) .*/\1/p' CMakeLists.txt |
    grep -vxE 'compile|emulated|gpu')
for folder in "${folders[@]}"; do
  grep -q "^assay_test($folder " CMakeLists.txt ||
    { echo "sanitize: harness/tests has no tests of a folder '$folder'" >&2; exit 2; }
done

scripts/build.sh --sanitize "${folders[@]/%/_test}"
printf '%s\n' "${folders[@]}" |
  xargs -P "$(nproc)" -I{} timeout 1800 build-sanitize/{}_test --gtest_brief=1
