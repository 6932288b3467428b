#!/usr/bin/env bash
# Makes a page of the recordings that are shipped, to see what `assay report` is like, and draws the
# picture of them that the README shows.
# Usage: scripts/page.sh [FILE]    (default: build/page.html)
set -euo pipefail
page=$(realpath -m "${1:-$(dirname "$0")/../build/page.html}")
cd "$(dirname "$0")/.."

scripts/build.sh assay >&2
build/assay report results/recorded/*/ --html "$page"
build/assay export --format svg --db results/recorded/nvidia_h200/gemm_h200.jsonl \
  --output docs/speedups.svg
