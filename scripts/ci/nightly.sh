#!/usr/bin/env bash
# Measures a sweep at the commit that is checked out, and adds the run to a folder of runs, of which
# it writes the history. The workflow github-nightly.yml calls it.
# Usage: scripts/ci/nightly.sh RUNS [SWEEP]    ASSAY names the program; default: build/assay
#
# A run is RUNS/<date>-<time>-<commit>.jsonl, a recording: the history then names commits, and two
# runs of one commit are both kept. Beside the runs are history.txt, the page index.html and, where
# a change is there to stay, changes.md.
set -euo pipefail
runs=$1 sweep=${2:-sweeps/gemm.yaml} assay=${ASSAY:-build/assay}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$assay" sweep "$sweep" --device 0 --db "$work/run.db"
mkdir -p "$runs"
"$assay" export --format recording --sweep "$(basename "$sweep" .yaml)" --db "$work/run.db" \
  --output "$runs/$(date -u +%F-%H%M%S)-$(git rev-parse --short HEAD).jsonl"

"$assay" history "$runs" >"$runs/history.txt"
"$assay" report "$runs" --html "$runs/index.html"
# What is pending, or seen in too few runs, may be an outlier.
"$assay" history "$runs" --json | python3 -c '
import json, sys
for one in json.load(sys.stdin)["history"]:
    run = lambda at: one["points"][at]["run"].removesuffix(".jsonl")
    for change in one["changes"]:
        if change["kind"] not in ("step", "gradual"): continue
        sizes = ",".join(f"{name}={size}" for name, size in one["problem"].items())
        beside = "; ".join(change["changed_beside"]) or "nothing that is known of"
        print("- {} {} on {}: {:+.1%} from {} to {}; what else changed: {}".format(
            one["op"], sizes, one["device"], change["ratio"] - 1, run(change["last_before"]),
            run(change["first_after"]), beside))' >"$work/changes.md"
rm -f "$runs/changes.md"
if [[ -s $work/changes.md ]]; then cp "$work/changes.md" "$runs/"; fi
