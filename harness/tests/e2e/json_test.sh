#!/usr/bin/env bash
# Each verb's --json has a schema and a version, and its keys are those of docs/json.md, with their
# types and units. One thing had several names, such as ci_low_ns and time_low_ns. On the stand-in
# GPU.
source "$(dirname "$0")/stand_in.sh"

cp -r "$tree/kernels" kernels
sed -i 's/N: 100003/N: 1003/' kernels/vector_add.yaml
mkdir sweeps
write_sweep sweeps/j '{N: 5000}, {N: 9000}' \
  'BLOCK: [64, 128, 256, 512, 1024], VECTOR: [1, 4], ITEMS: [1]' \
  'search: {strategy: model, seed: 1, budget: {configs: 8, until: 1%}}' \
  'measure: {precision: 1%, max_seconds_per_config: 0.1, counters: [memory]}' \
  'rerank: {top: 4, rounds: 6, objective: [time, minimize dram_read]}'
# document NAME VERB...
document() {
  "$assay" "${@:2}" --json >"$1.json" 2>output </dev/null
  [[ -s $1.json ]] || fail "$1: no document"
}
document sweep sweep sweeps/j.yaml --db j.db --device 0 --retry-failed
document compiled sweep sweeps/j.yaml --db none.db --device none
document again sweep sweeps/j.yaml --db k.db --device 0
document best best --db j.db --ties
document verify verify --db j.db --seeds 2 --launches 20 --problem N=5000
document verified best --db j.db
mkdir -p judged/ops
sed -n '/^dims/p; /^args/,/role: out/p; /^work/,$p' kernels/vector_add.yaml |
  sed '1i op: add_f32' >judged/ops/add_f32.yaml
sed '/^dims/d; /^work/,$d; /role: in/d; /role: out/d' kernels/vector_add.yaml >judged/vector_add.yaml
sed -i 's/BLOCK: .*/BLOCK: [64]/; s/VECTOR: .*/VECTOR: [1]/; s/ITEMS: .*/ITEMS: [1]/' judged/vector_add.yaml
cp kernels/vector_add.cu judged
document judge judge add_f32 judged --kernels judged --device 0
expect 0 '' "$assay" judge add_f32 judged --kernels judged --device 0 --board board
document board judge add_f32 --kernels judged --board board
echo 'tolerance: {}' >>judged/vector_add.yaml
document refused judge add_f32 judged --kernels judged --device 0
document counts show --db j.db
document times show --times --db j.db
document failures show --failures --db none.db
document problem show N=5000 --db j.db
id=$(sqlite3 j.db 'SELECT min(trial_id) FROM rank_entry WHERE winner')
document trial show "$id" --db j.db
document inspect inspect "$id" --db j.db
document inspect-two inspect "$id" $((id - 1)) --db j.db
document explain explain "$id" --db j.db
document explain-compiled explain 1 --db none.db
grep -q '"headline": "not timed' explain-compiled.json ||
  fail "nothing is said of what was compiled only"
document explain-two explain "$id" $((id - 1)) --db j.db
document profile profile "$id" --db j.db
document compare compare j.db k.db
document gate gate k.db --baseline j.db
document history history j.db k.db
document cover cover --db j.db --protocol cold
document list list kernels/vector_add.yaml
document recordings list --recordings
document doctor doctor
"$assay" export --format json --db j.db >tables.json 2>output || fail "export: exit $?"
document error best --db nowhere.db
"$tree/scripts/json_keys.py" --check ./*.json >output 2>&1 ||
  fail 'a document and docs/json.md differ'
# Every verb that has the option is among them.
for verb in $("$assay" --help | sed -n '/^Subcommands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  "$assay" "$verb" --help | grep -qE '^  --json' || continue
  grep -qE "^document [a-z-]+ $verb\b" "$tree/harness/tests/e2e/json_test.sh" ||
    fail "$verb --json is not tested"
done
# What a page of keys must not let pass.
sed 's/"version"/"v"/' best.json >wrong.json
"$tree/scripts/json_keys.py" --check wrong.json >output && fail 'a key that is not in the page'
sed 's/"time_ns"/"time_ms"/' best.json >wrong.json
"$tree/scripts/json_keys.py" --check wrong.json >output && fail 'another unit'
echo "json: passed"
