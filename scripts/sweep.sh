#!/usr/bin/env bash
# Builds Assay and tunes the GEMM kernels on this machine. Takes `assay sweep`'s options.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh assay >&2
exec build/assay sweep sweeps/gemm.yaml "$@"
