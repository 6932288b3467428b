#!/usr/bin/env bash
# Everything that must pass before a change is accepted: the format, the directions of includes, the
# tests, some damaged input under sanitizers and some faults. Without a GPU, tests that need one say
# that they are skipped. scripts/sanitize.sh runs the tests under sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --browser --slurm
scripts/format.sh --check
scripts/check_includes.sh
scripts/build.sh
ctest --test-dir build --parallel "$(nproc)" --timeout 1800 --output-on-failure --no-tests=error

scripts/fuzz.sh 6
scripts/torture.sh 8
