#!/usr/bin/env bash
# Runs the tests of some folders under the address and the undefined-behaviour sanitizer.
# Usage: scripts/sanitize.sh [FOLDER...]    of harness/tests/; all by default
#
# Only tests that need neither NVRTC nor a GPU run so: both come without instrumentation.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t all < <(sed -nE 's/^assay_test\((\w+) LABEL cpu.*/\1/p' CMakeLists.txt)
folders=("$@")
[ $# -gt 0 ] || folders=("${all[@]}")
for folder in "${folders[@]}"; do
  [[ " ${all[*]} " == *" $folder "* ]] ||
    { echo "sanitize: no tests of a folder '$folder' for it; there are ${all[*]}" >&2; exit 2; }
done

scripts/build.sh --sanitize "${folders[@]/%/_test}"
printf '%s\n' "${folders[@]}" |
  xargs -P "$(nproc)" -I{} timeout 1800 build-sanitize/{}_test --gtest_brief=1
