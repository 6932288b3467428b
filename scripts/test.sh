#!/usr/bin/env bash
# Everything that must pass before a change is accepted: the format, the directions of includes, the
# tests under sanitizers, the tests, some damaged input and some faults. Without a GPU, tests that
# need one say that they are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --browser --slurm
scripts/format.sh --check
scripts/check_includes.sh
scripts/build.sh assay assay_bench fake_cuda fake_cuda_worker fake_nvml fake_nvrtc \
  kernels_test search_test ranking_test device_test launch_test support_test timing_test \
  judge_test pack_test compile_test report_test tuner_test gpu_test

# The tests of the other folders run once, under sanitizers.
scripts/sanitize.sh
ctest --test-dir build --label-exclude sanitized --exclude-regex '_NOT_BUILT$' \
  --parallel "$(nproc)" --timeout 1800 --output-on-failure --no-tests=error

scripts/fuzz.sh 6
scripts/torture.sh 8
