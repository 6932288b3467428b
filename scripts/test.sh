#!/usr/bin/env bash
# Everything that must pass before a change is accepted: the format, the directions of includes, the
# tests, some damaged input and some faults. Without a GPU, tests that need one say that they are
# skipped. scripts/fuzz.sh damages input under sanitizers, and scripts/sanitize.sh runs the tests
# under them.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/setup.sh --browser --slurm &  # only tests need these
setup=$!
scripts/format.sh --check
scripts/check_includes.sh
scripts/build.sh all fuzz_once
wait $setup
scripts/torture.sh 8 &  # mostly waits
torture=$!
scripts/fuzz.sh --once
wait $torture
# One more at a time than there are cores, for some mostly wait.
ctest --test-dir build --parallel $(($(nproc) + 1)) --timeout 1800 --output-on-failure \
  --no-tests=error
