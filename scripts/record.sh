#!/usr/bin/env bash
# Measures a sweep on this machine's GPU and writes every trial to
# results/recorded/<gpu>/<sweep>.jsonl. Machines without a GPU then answer from that file.
# Usage: scripts/record.sh [SWEEP.yaml]
set -euo pipefail
cd "$(dirname "$0")/.."

sweep=${1:-sweeps/gemm.yaml}
name=$(basename "$sweep" .yaml)
work=$(mktemp -d)
# What was measured stays where something else fails, or where Ctrl-C ends the sweep.
finish() {
  local status=$?
  if [ $status -eq 0 ] || [ ! -f "$work/record.db" ]; then
    rm -rf "$work"
  else
    echo "record: what was measured is kept in $work/record.db;" \
      "\`build/assay export --format recording --db $work/record.db\` writes it as a recording" >&2
  fi
}
trap finish EXIT

scripts/build.sh
build/assay sweep "$sweep" --device 0 --db "$work/record.db"
exported=$(build/assay export --format recording --sweep "$name" --db "$work/record.db")
echo "$exported"
# "PATH: so many trials ...": this recording is current now.
if [[ -f results/recorded/STALE ]]; then sed -i "\|^${exported%%: *}|d" results/recorded/STALE; fi
