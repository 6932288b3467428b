#!/usr/bin/env bash
# Before an edit of kernels lands, on a GPU: whether the kernels that it touches are right, and as
# fast as recorded.
# Usage: scripts/kernel_gate.sh results/recorded/GPU [SECONDS]
#
# The kernels are those whose recordings in the folder are stale. Each recording's winners, and what
# the search puts beside them, are measured again for a share of the SECONDS; default: 300. Every
# output is checked. Exits with 1 if a kernel is slower or wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1%/} seconds=${2:-300}
mapfile -t stale < <(build/assay list --recordings |
  awk -v folder="$folder/" '/ stale: / && index($1, folder) == 1 {print $1}')
if [[ ${#stale[@]} -eq 0 ]]; then
  echo "kernel_gate: passed: no recording in $folder is stale"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
code=0
for recording in "${stale[@]}"; do
  name=$(basename "$recording" .jsonl)
  # The sweep begins with what the recording knows to be fast.
  build/assay import "$recording" --db "$work/$name.db" >/dev/null
  build/assay sweep "sweeps/$name.yaml" --device 0 --db "$work/$name.db" \
    --budget-seconds $((seconds / ${#stale[@]}))
  build/assay gate "$work/$name.db" --baseline "$recording" --allow gone || code=1
done
exit $code
