#!/usr/bin/env bash
# A sweep on the stand-in GPU whose processes are killed at random moments: nothing stored is ever
# lost or measured again, nothing is left running, and the same command ends the sweep.
source "$(dirname "$0")/stand_in.sh"
RANDOM=1

cat >sweep.yaml <<'YAML'
sweep: kill_loop
kernels: [vector_add]
problems: [{N: [1000, 5000]}]
measure: {protocol: cold, precision: 0.5%, max_seconds_per_config: 0.2}
rerank: {top: 3, rounds: 6}
YAML
total=120  # 60 configurations of each problem
sweep=("$assay" sweep sweep.yaml --kernels "$tree/kernels" --db a.db --device 0)

# Every finished trial as one line that changes if it is measured again.
finished() {
  [[ -f a.db ]] || return 0
  sqlite3 -cmd '.timeout 5000' a.db \
    "SELECT id, status, kind, device_ms, finished_at, attempts FROM trial
     WHERE status <> 'running' ORDER BY id" | sort
}

worker_of() { pgrep -P "$1" -f 'worker --fd' | head -n 1; }

# Waits until process $1 has ended, at most a minute.
gone() {
  local i
  for ((i = 0; i < 6000; ++i)); do
    [[ -z $1 || ! -e /proc/$1 || $(awk '/^State/ {print $2}' "/proc/$1/status" 2>/dev/null) == Z ]] &&
      return 0
    sleep 0.01
  done
  return 1
}

# The caches first, so that what follows is killed in trials and not in compiles. A trial is made to
# last about 50 ms: without that most rounds would find the sweep ended.
"$assay" sweep sweep.yaml --kernels "$tree/kernels" --db compiled.db --device none >output 2>&1 &&
  "$assay" sweep sweep.yaml --kernels "$tree/kernels" --db warm.db --device 0 --budget-configs 2 \
    >output 2>&1 || fail "the sweep does not run undisturbed: exit $?"

export ASSAY_FAKE_CUDA=slow=3000
interrupted=0
: >before
for ((round = 0; round < 12; ++round)); do
  "${sweep[@]}" >output 2>&1 &
  parent=$!
  sleep "0.$((RANDOM % 90 + 5))"
  # A busy machine may not have come so far that Ctrl-C has something to end.
  for ((i = 0; i < 600 && round % 3 == 2; ++i)); do
    [[ -n $(worker_of $parent) || ! -e /proc/$parent ]] && break
    sleep 0.1
  done
  worker=$(worker_of $parent)
  case $((round % 3)) in
    0) kill -KILL $parent 2>/dev/null ;;
    1) [[ -n $worker ]] && kill -KILL "$worker" 2>/dev/null ;;
    2) kill -INT $parent 2>/dev/null ;;
  esac
  [[ $((round % 3)) -eq 1 ]] && sleep 0.2 && kill -KILL $parent 2>/dev/null
  wait $parent 2>/dev/null
  code=$?
  [[ $code -eq 130 ]] && interrupted=$((interrupted + 1))
  [[ $code -eq 0 || $code -eq 130 || $code -eq 137 ]] || fail "round $round: exit $code"
  gone "$worker" || fail "round $round: the worker outlives its parent"
  finished >after
  [[ -z $(comm -23 before after) ]] ||
    fail "round $round: stored trials were lost or measured again: $(comm -23 before after)"
  mv after before
done
stored=$(wc -l <before)
echo "$stored of $total trials are stored after 12 rounds, $interrupted of them ended by Ctrl-C"
[[ $stored -gt 0 && $interrupted -gt 0 ]] || fail "the kills came too early or too late to tell"

"${sweep[@]}" >output 2>&1 || fail "the same command does not end the sweep: exit $?"
finished >after
[[ -z $(comm -23 before after) ]] || fail "the last run measured stored trials again"
[[ $(wc -l <after) -eq $total ]] || fail "$(wc -l <after) trials are stored, not $total"
count() { sqlite3 a.db "SELECT count(*) FROM trial WHERE $1"; }
[[ $(count "status = 'running'") -eq 0 ]] || fail "a trial is left running"
# A kill costs what ran at that moment and nothing else.
lost=$(count "status <> 'correct'")
echo "$lost of them were lost to a kill"
[[ $lost -le 12 ]] || fail "12 kills cost $lost trials"
[[ $(count "status <> 'correct' AND kind <> 'interrupted'") -eq 0 ]] ||
  fail "a kill was taken for something else"
[[ $(sqlite3 a.db 'SELECT count(DISTINCT problem_id) FROM rank JOIN rank_entry ON rank_id = rank.id
                   WHERE winner') -eq 2 ]] || fail "a problem has no winner"
"$assay" db check --db a.db >output 2>&1 || fail "the database is not sound"

"${sweep[@]}" >output 2>&1 || fail "the ended sweep cannot be run again: exit $?"
finished | cmp -s after - || fail "the ended sweep measured something again"
grep -qE " 0 now, $total kept" output || fail "the summary does not say that nothing was left"

# A GPU that is gone ends the sweep with exit 3, and the message says that the results are kept.
ASSAY_FAKE_CUDA="crash@10,lost_after=1,counter=$work/starts" \
  "$assay" sweep sweep.yaml --kernels "$tree/kernels" --db lost.db --device 0 >output 2>&1
code=$?
[[ $code -eq 3 ]] || fail "a lost GPU: exit $code, not 3"
grep -q 'GPU 0 (Fake GPU) is lost: .*everything measured so far is stored' output ||
  fail "a lost GPU: no sentence"
[[ $(sqlite3 lost.db "SELECT count(*) FROM trial WHERE kind = 'crash'") -eq 1 ]] ||
  fail "a lost GPU: the trial that crashed is not stored"
echo ok
