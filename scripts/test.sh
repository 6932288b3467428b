#!/usr/bin/env bash
# Everything that must pass before a change is accepted: the format, the directions of includes, the
# tests under sanitizers, the tests, some damaged input and some faults. Without a GPU, tests that
# need one say that they are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --browser --slurm
scripts/format.sh --check
scripts/check_includes.sh
scripts/build.sh

run_tests() {
  ctest --test-dir "$1" --parallel "$(nproc)" --timeout 300 --output-on-failure \
    --no-tests=error "${@:2}"
}

# Only tests that need neither NVRTC nor a GPU run under sanitizers: both come without
# instrumentation.
mapfile -t cpu_tests < <(sed -nE 's/^assay_test\((\w+) LABEL cpu.*/\1_test/p' CMakeLists.txt)
scripts/build.sh --sanitize "${cpu_tests[@]}"
run_tests build-sanitize --label-regex cpu

run_tests build

scripts/fuzz.sh 6
scripts/torture.sh 8
