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
# One more at a time than there are cores, for some mostly wait; so do sweeps with faults, which go
# beside the fuzz targets.
ctest --test-dir build --parallel $(($(nproc) + 1)) --timeout 1800 --output-on-failure \
  --no-tests=error
scripts/torture.sh 8 &
torture=$! failed=0
scripts/fuzz.sh 6 || failed=$?
wait $torture
exit $failed
