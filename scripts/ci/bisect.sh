#!/usr/bin/env bash
# For `git bisect run`: is a problem slower at this commit than in a run that was good? The program
# and this script stay as they are while commits come and go, so use copies of both.
#
#   cp build/assay scripts/ci/bisect.sh /tmp
#   # at the good one:
#   /tmp/assay sweep sweeps/gemm.yaml --device 0 --problem M=16,N=4096,K=4096 --db /tmp/good.db
#   git bisect start BAD GOOD
#   git bisect run /tmp/bisect.sh /tmp/assay /tmp/good.db sweeps/gemm.yaml M=16,N=4096,K=4096
#
# Exits with 0 where it is as fast, with 1 where it is slower, with 125, which skips the commit, where
# it cannot tell (nothing correct, unsure), and with 255, which ends the bisection, on Ctrl-C.
set -uo pipefail
[[ $# -eq 4 ]] || { echo "usage: bisect.sh ASSAY GOOD.db SWEEP.yaml PROBLEM" >&2; exit 255; }
assay=$1 good=$2 sweep=$3 problem=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$assay" sweep "$sweep" --device 0 --problem "$problem" --db "$work/now.db"
case $? in
  0) ;;
  130) exit 255 ;;
  *) exit 125 ;;
esac
"$assay" gate "$work/now.db" --baseline "$good" --problem "$problem"
code=$?
[[ $code -le 1 ]] || code=125
exit $code
