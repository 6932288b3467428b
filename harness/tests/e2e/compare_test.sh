#!/usr/bin/env bash
# `assay compare` and `assay gate`: verdicts between runs on the stand-in GPU, where a kernel is the
# faster the larger its blocks; and what they say to bad input.
source "$(dirname "$0")/stand_in.sh"

cp -r "$tree/kernels" kernels
# sweep DATABASE BLOCKS [PROBLEMS [EXIT]]
sweep() {
  write_sweep s "{N: ${3:-[1000, 5000]}}" "BLOCK: $2, VECTOR: [1], ITEMS: [1]" \
    'measure: {precision: 1%, max_seconds_per_config: 0.1}' 'rerank: {top: 4, rounds: 30}'
  "$assay" sweep s.yaml --kernels kernels --db "$1" --device 0 >output 2>&1
  [[ $? -eq ${4:-0} ]] || fail "the sweep into $1"
}
sweep both.db '[64, 1024]'
sweep both.db '[64]'
"$assay" export --format recording --sweep s --db both.db --output slow.jsonl >output || fail export
sweep fast.db '[1024]'

# Runs of all kinds: a database, a recording, two sweeps of one database by number.
expect 0 '2 results: 2 same' "$assay" compare fast.db fast.db
expect 1 'M?N=1000 +slower +\+[0-9.]+ %' "$assay" compare fast.db slow.jsonl
expect 1 'winner changed; old best now not tried' "$assay" compare fast.db slow.jsonl
expect 0 '2 results: 2 faster' "$assay" compare slow.jsonl fast.db
expect 1 '2 results: 2 slower' "$assay" compare 'both.db#1' 'both.db#2'
expect 0 '1 result: 1 faster' "$assay" compare slow.jsonl 'both.db#1' --problem N=1000
expect 0 'noise' "$assay" compare slow.jsonl slow.jsonl --margin '3 %'
[[ $("$assay" compare fast.db slow.jsonl --json | grep -c '"verdict": "slower"') -eq 2 ]] || fail JSON

# The gate.
expect 1 'gate: failed' "$assay" gate slow.jsonl --baseline fast.db --markdown ci/gate.md --junit ci/gate.xml
grep -q '^## assay gate: failed' ci/gate.md || fail "no heading"
[[ $(grep -c '^| add\\_f32 | N=[0-9]* | slower | +' ci/gate.md) -eq 2 ]] || fail "the Markdown lacks a row"
grep -q 'tests="2" failures="2" errors="0"' ci/gate.xml || fail "JUnit"
expect 0 'gate: passed' "$assay" gate fast.db --baseline slow.jsonl --junit ci/gate.xml
grep -q 'tests="2" failures="0"' ci/gate.xml || fail "JUnit of a gate that passed"
expect 1 '"gate": "failed"' "$assay" gate slow.jsonl --baseline fast.db --json
# A machine that was slow for a moment: what is suspicious is measured again before it fails.
sweep middle.db '[256]'
python3 - "$work/fast.db" "$work/unlucky.db" <<'PYTHON'
import array, shutil, sqlite3, sys
shutil.copy(sys.argv[1], sys.argv[2])
db = sqlite3.connect(sys.argv[2])
for rank, position, times in db.execute("SELECT rank_id, position, times_ns FROM rank_entry").fetchall():
    slow = array.array("d", [9 * time for time in array.array("d", times)])
    db.execute("UPDATE rank_entry SET times_ns = ?, median_ns = 9 * median_ns WHERE rank_id = ? "
               "AND position = ?", (slow.tobytes(), rank, position))
for rank, times in db.execute("SELECT rank_id, times_ns FROM rank_noise").fetchall():
    slow = array.array("d", [9 * time for time in array.array("d", times)])
    db.execute("UPDATE rank_noise SET times_ns = ? WHERE rank_id = ?", (slow.tobytes(), rank))
db.commit()
PYTHON
expect 1 '2 results: 2 slower' "$assay" gate unlucky.db --baseline middle.db
expect 0 'N=5000 slower: measured again' "$assay" gate unlucky.db --baseline middle.db --rerun --markdown again.md
grep -q '^unlucky.db (2 results measured again) compared with' again.md || fail "the summary hides it"
grep -q '2 results: 2 faster' output || fail "what is stored decides, not what was measured again"
expect 1 '2 results: 2 slower' "$assay" gate slow.jsonl --baseline fast.db --rerun
grep -q 'N=1000 slower: measured again' output || fail "a slow kernel is not measured again"
ASSAY_FAKE_CUDA=no_device expect 1 'rerun: .*what is stored decides' \
  "$assay" gate unlucky.db --baseline middle.db --rerun
mkdir none
expect 1 'is not measured again: there is no kernel vector_add in none' \
  "$assay" gate unlucky.db --baseline middle.db --rerun --kernels none

# A problem that nobody measures any more.
sweep less.db '[1024]' '[1000]'
expect 3 'N=5000 +gone' "$assay" gate less.db --baseline fast.db
expect 0 'gate: passed' "$assay" gate less.db --baseline fast.db --allow gone
expect 0 '1 new' "$assay" gate fast.db --baseline less.db

# A history: the runs of a database, a folder of recordings, a file of another kind.
expect 0 '2 results over 2 runs' "$assay" history both.db
# A verdict that two files share counts once.
expect 0 '^1 result over 2 runs' "$assay" history both.db slow.jsonl --problem N=1000
mkdir nightly && cp slow.jsonl nightly/
expect 0 '2 results over 1 run: 0 changes' "$assay" history nightly
expect 0 '"relative_to": null' "$assay" history nightly --json
expect 2 'no verdict in nightly' "$assay" history nightly --op gemm_bf16
mkdir nothing
expect 2 'nothing has no database' "$assay" history nothing
expect 2 'no database nowhere.db' "$assay" history nowhere.db
cp "$tree/README.md" nightly/text.jsonl
expect 2 'text.jsonl:1: ' "$assay" history nightly

# Bisection: the commit that narrowed the blocks is the one. One in between does not load.
cat >"$work/with_device" <<SH
#!/bin/sh
verb=\$1
shift
[ "\$verb" = gate ] && exec "$assay" gate "\$@"
exec "$assay" "\$verb" "\$@" --kernels "$work/kernels"
SH
chmod +x with_device
git init -q repository
in_git() { git -C repository -c user.name=a -c user.email=a@b "$@"; }
commit() { cp s.yaml repository/s.yaml && in_git add . && in_git commit -qm "$1" --allow-empty; }
sweep less.db '[1024]'
cp s.yaml good.yaml
commit good
commit idle
echo oops >s.yaml
commit broken
cp good.yaml s.yaml
commit mended
sweep less.db '[64]'
commit culprit
commit later
in_git bisect start HEAD HEAD~5 >output 2>&1
(cd repository && git bisect run "$tree/scripts/ci/bisect.sh" "$work/with_device" "$work/fast.db" \
  s.yaml N=1000) >output 2>&1 || fail "git bisect run: exit $?"
culprit=$(in_git log --format=%s -1 "$(in_git rev-parse refs/bisect/bad)")
[[ $culprit == culprit ]] || fail "bisect found '$culprit'"

# A run with failures only.
sed -i 's/^extern/static_assert(BLOCK < 0, "broken");\n&/' kernels/vector_add.cu
sweep failed.db '[1024]' '[1000, 5000]' 1
expect 1 'N=1000 +failed .*1 of 1 trials failed: compile' "$assay" compare fast.db failed.db
expect 1 'gate: failed' "$assay" gate failed.db --baseline fast.db
expect 2 'failed.db has only trials that failed' "$assay" compare failed.db fast.db

# What cannot be compared.
gemm=$tree/results/recorded/nvidia_h200/gemm.jsonl
expect 0 '8 results: 8 same' "$assay" compare "$gemm" "$gemm"
expect 2 'no result in common.*gemm_bf16 on NVIDIA H200.*add_f32 on Fake GPU' "$assay" compare "$gemm" fast.db
expect 2 '"error": ".*no result in common' "$assay" gate fast.db --baseline "$gemm" --json
expect 2 'fast.db has no result of op gemm_bf16; it has add_f32' "$assay" compare fast.db fast.db --op gemm_bf16
expect 2 "fast.db has no sweep '7'; it has 1 s" "$assay" compare fast.db fast.db#7
expect 2 'no database nowhere.db' "$assay" compare nowhere.db fast.db
head -c 3000 "$gemm" >cut.jsonl
expect 2 'cut.jsonl:[0-9]+: ' "$assay" compare cut.jsonl fast.db
echo 'no database' >text.db
expect 2 'text.db is not an assay database' "$assay" compare text.db fast.db
for margin in 0 -1% 100% two 2percent nan; do
  expect 2 "margin '$margin': expected" "$assay" compare fast.db fast.db "--margin=$margin"
done
expect 2 'unsure,gone,not-comparable' "$assay" gate fast.db --baseline fast.db --allow slower
expect 2 'baseline is required' "$assay" gate fast.db
expect 2 'text.db' "$assay" gate fast.db --baseline fast.db --markdown text.db/summary.md
expect 3 '/proc/summary.md' "$assay" gate fast.db --baseline fast.db --markdown /proc/summary.md
echo ok
