#!/usr/bin/env bash
# Builds Assay and tunes the GEMM kernels on this machine. Takes `assay sweep`'s options.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -x build/assay ] ||
  echo "sweep: building assay first, which takes about 4 minutes on two cores" >&2
scripts/build.sh assay >&2
exec build/assay sweep sweeps/gemm.yaml "$@"
