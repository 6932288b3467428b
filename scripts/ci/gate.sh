#!/usr/bin/env bash
# Measures a sweep at a base commit and in the working tree, and fails where the tree is slower. The
# workflows beside this file call it; it runs in the root of the repository, on the first GPU.
# Usage: scripts/ci/gate.sh BASE [SWEEP]    ASSAY names the program; default: build/assay
#
# It leaves base.db, head.db, gate.md, gate.xml and report.html. Exits as `assay gate` does; with 0
# where the base has no such sweep.
set -euo pipefail
base=$1 sweep=${2:-sweeps/gemm.yaml} assay=${ASSAY:-build/assay}

# A runner that is kept has the last run's files.
rm -rf base base.db* head.db* gate.md gate.xml report.html
git worktree prune
git worktree add --quiet --detach base "$base"
trap 'git worktree remove --force base' EXIT

if [[ ! -e base/$sweep ]]; then
  echo "## assay gate: passed: $sweep is new, so there is nothing to compare it with" | tee gate.md
  exit 0
fi
# The base is measured again, by the same program on the same GPU: old times would be compared
# across GPUs, drivers and days. `--device 0` fails where there is no GPU, instead of replaying a
# recording. Each run has a database of its own, so that nothing is reused.
"$assay" sweep "base/$sweep" --device 0 --kernels base/kernels --db base.db
"$assay" sweep "$sweep" --device 0 --db head.db
code=0
"$assay" gate head.db --baseline base.db --rerun --markdown gate.md --junit gate.xml || code=$?
"$assay" report head.db --baseline base.db --html report.html
exit $code
