#!/usr/bin/env bash
# Injects faults into sweeps, on the stand-in GPU and without a GPU, and checks after each that no
# stored trial is lost, measured again or changed; that the same command ends the sweep once the
# fault is gone; and that the verdicts follow from the stored trials.
# Usage: scripts/torture.sh [CASES [FIRST [JOBS]]]    200 cases from number 1 by default
#
# JOBS cases run at a time, four for each core by default, for they mostly wait. A case is one sweep
# with five faults, chosen by the case's number: `scripts/torture.sh 1 17` is case 17 again. Only the
# moment at which a fault strikes differs from run to run. The folder of a case that fails is kept,
# and the exit is 1.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 3

faults_per_case=5
faults=(kill_parent kill_worker kill_compiler stop_parent stop_worker interrupt interrupt_twice
  terminate terminate_compiler hang_up full_disk full_disk_signal lost_gpu refused_launch no_memory crash trap locked torn_log)

usage() { sed -n '5s/# //p' "$0" >&2; exit 2; }

# One case, in a process of its own: `--case NUMBER FOLDER`.
if [ "${1:-}" != --case ]; then
  cases=${1:-200} first=${2:-1} jobs=${3:-$((4 * $(nproc)))}
  [[ "$cases $first $jobs" =~ ^[0-9]+\ [0-9]+\ [0-9]+$ && $# -le 3 ]] || usage
  work=$(mktemp -d)
  # All cases but those that watch the compiler begin with a filled cache of it.
  mkdir "$work/warm"
  LD_LIBRARY_PATH=build/fake_cuda XDG_CACHE_HOME=$work/warm build/assay sweep \
    harness/tests/e2e/torture.yaml --kernels kernels --db "$work/warm.db" --device 0 \
    >"$work/output" 2>&1 || { cat "$work/output"; echo "torture: the undisturbed sweep fails" >&2; exit 1; }
  seq "$first" $((first + cases - 1)) |
    xargs -P "$jobs" -I{} "$0" --case {} "$work" >"$work/log"
  failed=$(grep -c '^FAILED' "$work/log")
  grep '^FAILED' "$work/log"
  awk '$1 == "struck" {n[$2]++} END {for (f in n) {total += n[f]; printf "%-18s %6d\n", f, n[f] | "sort"}
    close("sort"); printf "%-18s %6d\n", "all faults", total}' "$work/log"
  printf '%-18s %6d of %d\n' 'failed cases' "$failed" "$cases"
  if [ "$failed" -gt 0 ]; then
    echo "torture: the folders of the failed cases are in $work" >&2
    exit 1
  fi
  [ "$(grep -c '^passed' "$work/log")" -eq "$cases" ] || { echo "torture: cases are missing" >&2; exit 1; }
  rm -rf "$work"
  exit 0
fi

number=$2 work=$3/case$2 tree=$PWD
RANDOM=$number
mkdir "$work" && cd "$work" || exit 1
exec 2>errors  # the shell's own words on processes that were killed, too
export LD_LIBRARY_PATH=$tree/build/fake_cuda TMPDIR=$work
unset ASSAY_FAKE_CUDA
with_gpu=$((RANDOM % 6))  # 0: none
if [ $with_gpu -eq 0 ] || [ $((RANDOM % 6)) -eq 0 ]; then
  export XDG_CACHE_HOME=$work/cache
else
  cp -r "$3/warm" "$work/cache" && export XDG_CACHE_HOME=$work/cache
fi
device=0
[ $with_gpu -gt 0 ] || device=none
sweep=("$tree/build/assay" sweep "$tree/harness/tests/e2e/torture.yaml" --kernels "$tree/kernels"
  --db a.db --device $device)
total=12

failed() {
  echo "FAILED case $number, after ${history[*]:-nothing}: $1" | tr '\n' ' '
  echo
  exit 1
}
query() { sqlite3 -cmd '.timeout 20000' a.db "$1"; }
# Every finished trial as one line that changes when it is measured again. What the machine failed
# at is left out: it is to be tried again.
finished() {
  [ -f a.db ] || return 0
  query "SELECT id, status, kind, device_ms, finished_at FROM trial
    WHERE status IN ('correct', 'correctness') ORDER BY id" 2>query_errors | sort ||
    grep -q 'no such table' query_errors  # the sweep was struck before it made them
}
child_named() { pgrep -P "$parent" -f "$1" | head -n 1; }
wait_a_little() { sleep "0.$(printf '%03d' $((RANDOM % 500 + 5)))"; }
strike() {  # SIGNAL PROCESS
  [ -n "${2:-}" ] && kill "-$1" "$2" 2>/dev/null
}

declare -a history=()
: >before
for ((round = 0; round < faults_per_case; ++round)); do
  fault=${faults[RANDOM % ${#faults[@]}]}
  history+=("$fault")
  script=slow=1000,once=$work/once$round
  case $fault in
    lost_gpu) script+=,crash@$((RANDOM % 12 + 1)),lost_after=1,counter=$work/starts$round ;;
    refused_launch) script+=,launch_refused@$((RANDOM % 40 + 1)) ;;
    no_memory) script+=,out_of_memory@$((RANDOM % 40 + 1)) ;;
    crash | trap) script+=,$fault@$((RANDOM % 40 + 1)) ;;
  esac
  limit='' signal=''
  case $fault in
    full_disk) limit=$((RANDOM % 200 + 1)) signal=ignored ;;
    full_disk_signal) limit=$((RANDOM % 200 + 1)) ;;
  esac
  (
    [ -z "$signal" ] || trap '' XFSZ
    [ -z "$limit" ] || ulimit -f "$limit"
    ulimit -c 0
    ASSAY_FAKE_CUDA=$script exec "${sweep[@]}"
  ) >output 2>&1 &
  parent=$!
  wait_a_little
  case $fault in
    kill_parent) strike KILL $parent ;;
    kill_worker) strike KILL "$(child_named 'worker --fd')" ;;
    kill_compiler) strike KILL "$(pgrep -P $parent | tail -n 1)" ;;
    stop_parent) strike STOP $parent; wait_a_little; strike CONT $parent ;;
    stop_worker)
      worker=$(child_named 'worker --fd')
      strike STOP "$worker"; wait_a_little; strike CONT "$worker" ;;
    interrupt) strike INT $parent ;;
    interrupt_twice) strike INT $parent; wait_a_little; strike INT $parent ;;
    terminate) strike TERM $parent ;;
    terminate_compiler) strike TERM "$(pgrep -P $parent | tail -n 1)" ;;
    hang_up) strike HUP $parent ;;
    locked)
      { [ ! -f a.db ] || { echo 'BEGIN EXCLUSIVE;'; wait_a_little; echo 'COMMIT;'; }; } |
        sqlite3 -cmd '.timeout 20000' a.db >/dev/null 2>&1 ;;
    torn_log) strike KILL $parent ;;
  esac
  wait $parent 2>/dev/null
  code=$?
  # A commit of which only a part reached the disk.
  if [ $fault = torn_log ] && [ -f a.db-wal ]; then
    head -c $((RANDOM % 9000 + 1)) /dev/urandom >>a.db-wal
  fi
  case $code in
    0 | 3 | 129 | 130 | 137 | 143) ;;
    153) [ $fault = full_disk_signal ] || failed "exit $code" ;;
    *) failed "exit $code: $(tail -n 3 output)" ;;
  esac
  finished >after || failed 'the database cannot be read'
  [ -z "$(comm -23 before after)" ] ||
    failed "stored trials were lost or measured again: $(comm -23 before after)"
  mv after before
  echo "struck $fault"
done

"${sweep[@]}" >output 2>&1 || failed "the same command does not end the sweep, exit $?: $(tail -n 3 output)"
finished >after
[ -z "$(comm -23 before after)" ] || failed "the last run measured again: $(comm -23 before after)"
[ "$(query 'SELECT count(*) FROM trial')" -eq $total ] || failed "$(query 'SELECT count(*) FROM trial') trials"
[ "$(query "SELECT count(*) FROM trial WHERE status = 'running'")" -eq 0 ] || failed 'a trial is left running'
"$tree/build/assay" db check a.db >output 2>&1 || failed "the database is not sound: $(tail -n 3 output)"
if [ $with_gpu -gt 0 ]; then
  # Times on the stand-in GPU follow from the work: the winner is the least of the candidates that
  # the re-rank did not drop.
  wrong=$(query "WITH timed AS (
      SELECT trial.id, problem_id, median_ns FROM trial JOIN timing ON timing.id = timing_id
      WHERE status = 'correct' AND stop <> 'raced'),
    last AS (SELECT max(id) AS id, problem_id FROM rank GROUP BY problem_id)
    SELECT last.problem_id, timed.id FROM last
    JOIN rank_entry AS best ON best.rank_id = last.id AND best.winner
    JOIN timed AS won ON won.id = best.trial_id
    JOIN timed ON timed.problem_id = last.problem_id AND timed.median_ns < won.median_ns * 0.99
    LEFT JOIN rank_entry AS entry ON entry.rank_id = last.id AND entry.trial_id = timed.id
    WHERE coalesce(entry.failure, '') = ''")
  [ -z "$wrong" ] || failed "a verdict does not follow from its trials: $wrong"
  winners=$(query 'SELECT count(DISTINCT problem_id) FROM rank JOIN rank_entry ON rank_id = rank.id WHERE winner')
  timed=$(query "SELECT count(DISTINCT problem_id) FROM trial WHERE status = 'correct'")
  [ "$winners" -eq "$timed" ] || failed "$winners problems of $timed have a winner"
fi
"${sweep[@]}" >output 2>&1 || failed "the ended sweep cannot be run again, exit $?"
finished | cmp -s after - || failed 'the ended sweep measured again'
grep -qE " 0 now, $total kept" output || failed "something was left to measure: $(tail -n 3 output)"
echo "passed $number"
cd "$tree" && rm -rf "$work"
