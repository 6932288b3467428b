#!/usr/bin/env bash
# `assay profile` and objectives that read counters, on the stand-in GPU. There a launch of
# vector_add reads 1000 bytes for each thread of a block and is the faster the larger its blocks.
source "$(dirname "$0")/stand_in.sh"

cp -r "$tree/kernels" kernels
counting() { # NAME MORE OF THE RE-RANK, MORE OF THE MEASUREMENT
  write_sweep "$1" '{N: 5000}' 'BLOCK: [64, 128, 256, 512], VECTOR: [1], ITEMS: [1]' \
    "measure: {precision: 1%, max_seconds_per_config: 0.1${3:-}}" "rerank: {top: 2, rounds: 6${2:-}}"
}
sweep() { # FILE DB ARGUMENTS...
  "$assay" sweep "$1.yaml" --kernels kernels --db "$2" --device "${device:-0}" "${@:3}" >output 2>&1
}
query() { sqlite3 "$1" "$2"; }
is() { [[ "$(echo $2)" == "$3" ]] || fail "$1: '$2' instead of '$3'"; }
best_blocks() { # DB OBJECTIVE: the configurations of its Pareto list
  "$assay" best --json --db "$1" --sweep least >output 2>&1 || fail "best: exit $?"
  python3 -c '
import json, sys
best = next(b for b in json.load(open("output"))["best"] if b["objective"] == sys.argv[1])
print(" ".join(str(one["config"]["BLOCK"]) for one in best["front"]))' "$2"
}

# The finalist is counted, and another one by hand.
counting plain '' ', counters: [memory]'
sweep plain plain.db || fail "a sweep that counts: exit $?"
is 'what was counted' "$(query plain.db "SELECT value FROM measurement WHERE name = 'dram_read'")" 512000.0
id=$("$assay" show --times --json --db plain.db | python3 -c '
import json, sys
print(next(t["trial"] for t in json.load(sys.stdin)["trials"] if t["config"]["BLOCK"] == 64))')
expect 0 '^dram_read  *62.5 KiB' "$assay" profile "$id" --db plain.db --kernels kernels
has '^instructions  *158 ' 'warps that are known'
has '^l2_hits  *not on this GPU' 'a share of nothing'
has '^l2_atomic_cycles  *not on this GPU' 'what CUPTI has no name for'
expect 0 'dram_read' "$assay" show "$id" --db plain.db
# Metrics that Assay has no name for.
expect 0 '^lts__t_sectors.sum  ' "$assay" profile "$id" --metric lts__t_sectors.sum \
  --metric lts__d_atomic_input_cycles_active.sum --db plain.db --kernels kernels
has '^lts__d_atomic_input_cycles_active.sum  *not on this GPU' 'what CUPTI has no name for'
grep -q '^dram_read' output && fail 'a counter that nobody asked for'
expect 2 'expected a name of CUPTI.s, such as lts__t_sectors.sum' \
  "$assay" profile "$id" --metric sectors --db plain.db --kernels kernels

# One counter by its name, and a configuration that nobody has timed.
expect 0 '^dram_read  *62.5 KiB' \
  "$assay" profile "$id" --set dram_read --db plain.db --kernels kernels
grep -q '^instructions' output && fail 'another counter'
expect 0 '^N=9000 vector_add BLOCK=128' \
  "$assay" profile vector_add:BLOCK=128,VECTOR=1,ITEMS=1 --problem N=9000 --kernels kernels
has '^dram_read  *125.0 KiB' 'its bytes'
has 'not stored: a configuration is no trial' 'that it is not stored'
expect 2 'vector_add has no dimension or trait "X"; it has N=' \
  "$assay" profile vector_add:BLOCK=128,VECTOR=1,ITEMS=1 --problem X=1 --kernels kernels
for size in 0 99999999999; do
  expect 2 '' \
    "$assay" profile vector_add:BLOCK=128,VECTOR=1,ITEMS=1 --problem N=$size --kernels kernels
done
expect 2 '' "$assay" profile "$id" --problem N=1 --db plain.db --kernels kernels
expect 2 'expected a trial.s number, or a configuration such as' \
  "$assay" profile vector_add --kernels kernels

# An objective that reads a counter: all are counted, and the search makes it least.
counting least ', objective: minimize dram_read'
sweep least least.db || fail "an objective that reads a counter: exit $?"
is 'how many were counted' "$(query least.db "SELECT count(*) FROM measurement")" 4
is 'the winner' "$(best_blocks least.db 'minimize dram_read')" 64
expect 0 ' 62.5 KiB ' "$assay" best --db least.db

# A recording answers likewise, if it has the counter.
expect 0 '' "$assay" export --format recording --sweep least --db least.db --output least.jsonl
device=replay:least.jsonl sweep least replayed.db || fail "a replay: exit $?"
is 'the winner of the replay' "$(best_blocks replayed.db 'minimize dram_read')" 64
has 'recorded on Fake GPU' 'whose bytes they are'
device=replay:least.jsonl expect 2 'the objective reads instructions, which no trial recorded on Fake GPU, .* has' \
  sweep least none.db --objective 'minimize instructions'

# Who may not count, or not this, hears it before anything runs.
ASSAY_FAKE_CUDA=no_counting expect 3 'the driver lets only administrators count' \
  sweep least refused.db
ASSAY_FAKE_CUDA=busy_counters expect 3 'another process counts on this GPU; try again' \
  sweep least refused.db
expect 3 'none of these metrics' sweep least refused.db --objective 'minimize l2_atomic_cycles'
expect 3 'the objective reads l2_atomic_cycles, which Fake GPU does not count' \
  sweep least refused.db --objective 'minimize l2_atomic_cycles + instructions'
[[ $(query refused.db 'SELECT count(*) FROM trial') -eq 0 ]] || fail 'something ran'
ASSAY_FAKE_CUDA=no_counting sweep plain plain2.db || fail 'a sweep by time ends for want of counters'
has 'the driver lets only administrators count' 'that nothing was counted'
echo "counters: passed"
