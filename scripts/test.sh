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

# Not of `report` and `tuner`, which only put together what the other folders made, and take a third
# of the time to compile.
scripts/sanitize.sh base inspect kernels spec space search store messages ranking device support \
  timing judge

ctest --test-dir build --parallel "$(nproc)" --timeout 1800 --output-on-failure --no-tests=error

scripts/fuzz.sh 6
scripts/torture.sh 8
