#!/usr/bin/env bash
# The program as its user meets it, on a machine without a GPU: every mistake gets its exit code and
# a sentence that names the thing, and what was done is kept. Arguments: the program, the tree.
set -uo pipefail

assay=$1
tree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work" || exit 1
failures=0

# expect CODE PATTERN COMMAND...: the command's exit code, and an extended regular expression that
# its output (stdout and stderr together) must match.
expect() {
  local code=$1 pattern=$2
  shift 2
  local output actual
  output=$("$@" 2>&1 </dev/null)
  actual=$?
  if [[ $actual -ne $code ]] || ! grep -qE -- "$pattern" <<<"$output"; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n  expected exit %s and /%s/, got exit %s and:\n%s\n' \
      "$*" "$code" "$pattern" "$actual" "$(sed 's/^/  | /' <<<"$output")"
  fi
}

broken=$tree/harness/tests/kernels/broken
vector_add=$tree/kernels/vector_add.yaml

# Usage.
expect 2 'subcommand' "$assay"
expect 0 'sweep' "$assay" --help
expect 0 'assay [0-9]+\.' "$assay" --version
for verb in list sweep best show export doctor db; do expect 0 'example' "$assay" $verb --help; done
expect 2 '"swep"; did you mean "sweep"' "$assay" swep
expect 2 'no-such-option' "$assay" sweep "$vector_add" --no-such-option
expect 2 'FILE' "$assay" sweep
expect 2 'objective.*time.*energy.*edp' "$assay" sweep "$vector_add" --objective beauty

# Files that are not there or not what they should be.
expect 2 'nowhere.yaml' "$assay" sweep nowhere.yaml
expect 2 "$work" "$assay" sweep "$work"
printf 'sweep: [oops\n' >malformed.yaml
expect 2 'malformed.yaml:[0-9]+:[0-9]+: ' "$assay" sweep malformed.yaml
: >empty.yaml
expect 2 'empty.yaml' "$assay" sweep empty.yaml
head -c 4096 /dev/urandom >noise.yaml
expect 2 'noise.yaml' "$assay" sweep noise.yaml
expect 2 'nowhere.jsonl' "$assay" sweep "$vector_add" --device replay:nowhere.jsonl
expect 3 'noise.yaml' "$assay" best --db noise.yaml --json

# A sweep that only compiles; the same command again has nothing left to do.
expect 0 'correct/compiled +[1-9]' "$assay" sweep "$vector_add" --device none --db a.db
expect 0 ' 0 now, [1-9][0-9]* kept' "$assay" sweep "$vector_add" --device none --db a.db
expect 2 'arch' "$assay" sweep "$vector_add" --device none --arch 12 --db a.db
expect 2 'dimension' "$assay" sweep "$vector_add" --device none --problem Q=3 --db a.db
expect 2 'at least 1' "$assay" sweep "$vector_add" --device none --problem N=0 --db a.db
expect 0 'correct/compiled' "$assay" sweep "$vector_add" --device none --problem N=77 --db a.db
expect 0 'ok|sound|no problem' "$assay" db check a.db
expect 0 'a.db: up to date' "$assay" db migrate a.db
expect 2 'missing.db' "$assay" db migrate missing.db
expect 2 'device' "$assay" sweep "$vector_add" --device twelve --db a.db

# Kernels that do not compile, all of it or in part: a status each, never the end of the sweep.
expect 1 'compile/error' "$assay" sweep "$broken/fails_to_compile.yaml" --device none --db a.db
expect 0 'compile/error' "$assay" sweep "$broken/compiles_partly.yaml" --device none --db a.db

# No GPU: a clear sentence and exit 3, when no recording can stand in.
if [[ ! -e /dev/nvidiactl ]]; then
  expect 3 'no recording' "$assay" sweep "$vector_add" --db a.db
  expect 3 'libcuda|driver|GPU' "$assay" sweep "$vector_add" --device 0 --db a.db
  expect 3 'libcuda|driver|GPU' "$assay" sweep "$vector_add" --device all --db a.db
fi

# Databases that are not ours, newer, or damaged.
printf 'not a database, but long enough to be looked at\n' >text.db
expect 3 'text.db' "$assay" sweep "$vector_add" --device none --db text.db
sqlite3 foreign.db 'PRAGMA application_id=1234; CREATE TABLE t(x);'
expect 3 'foreign.db' "$assay" sweep "$vector_add" --device none --db foreign.db
cp a.db newer.db
sqlite3 newer.db 'PRAGMA user_version=9999;'
expect 3 'newer' "$assay" sweep "$vector_add" --device none --db newer.db
cp a.db damaged.db
dd if=/dev/urandom of=damaged.db bs=1024 seek=6 count=30 conv=notrunc status=none
expect '3' 'damaged.db' "$assay" sweep "$vector_add" --device none --db damaged.db
expect 3 'no/such' "$assay" sweep "$vector_add" --device none --db /proc/no/such/a.db
expect 2 'missing.db' "$assay" best --db missing.db

# Another tuner's file answers a sweep that has its parameters, in whatever order.
cat >kernel_tuner.json <<'JSON'
{"device_name": "NVIDIA A100-PCIE-40GB", "kernel_name": "add", "problem_size": 1000,
 "tune_params_keys": ["VECTOR", "BLOCK", "ITEMS"], "cache": {
"1,128,1": {"VECTOR": 1, "BLOCK": 128, "ITEMS": 1, "time": 0.031, "timestamp": "2023-12-22 09:54:05.5+00:00"},
"1,256,1": {"VECTOR": 1, "BLOCK": 256, "ITEMS": 1, "time": "RuntimeFailedConfig"},
JSON
cat >replayed.yaml <<'YAML'
sweep: replayed
kernels: [vector_add]
problems: [{N: 1000}]
params: {VECTOR: [1], ITEMS: [1], BLOCK: [128, 256]}
YAML
expect 0 'B=128 .*31.00 us .*recorded on NVIDIA A100-PCIE-40GB, 2023-12-22' "$assay" sweep \
  replayed.yaml --kernels "$tree/kernels" --device replay:kernel_tuner.json --db replayed.db
sed 's/A100/Q9000/' kernel_tuner.json >unknown.json
expect 2 'unknown.json is of NVIDIA Q9000-PCIE-40GB.*--arch' "$assay" sweep \
  replayed.yaml --kernels "$tree/kernels" --device replay:unknown.json --db unknown.db
expect 0 'recorded on NVIDIA Q9000' "$assay" sweep replayed.yaml --kernels "$tree/kernels" \
  --device replay:unknown.json --arch 86 --db unknown.db
expect 0 'RuntimeFailedConfig' "$assay" show --failures --db replayed.db
expect 0 '31.00 us' "$assay" best --db kernel_tuner.json
expect 0 'imported.db: 2 trials of kernel_tuner' "$assay" import kernel_tuner.json --db imported.db
expect 0 '31.00 us' "$assay" best --db imported.db
echo '{"tables": []}' >other.json
expect 2 'other.json: neither a Kernel Tuner cachefile' "$assay" best --db other.json

# Ctrl-C: within a second, exit 130, and what was compiled is kept.
"$assay" sweep "$tree/kernels/gemm_mma.yaml" --device none --db c.db >c.log 2>&1 &
pid=$!
# Not before something can be kept: a machine with other work takes a while to get there.
for _ in {1..600}; do
  [[ -f c.db && $(sqlite3 c.db "SELECT count(*) FROM trial WHERE status = 'correct'" 2>/dev/null) -gt 0 ]] && break
  sleep 0.1
done
start=$(date +%s%N)
kill -INT $pid
wait $pid
code=$?
elapsed_ms=$((($(date +%s%N) - start) / 1000000))
if [[ $code -ne 130 || $elapsed_ms -gt 1500 ]]; then
  failures=$((failures + 1))
  echo "FAILED: Ctrl-C ended with exit $code after $elapsed_ms ms"
  cat c.log
fi
expect 0 'ok|sound|no problem' "$assay" db check c.db
expect 0 'correct|compiled' "$assay" show --db c.db

if [[ $failures -gt 0 ]]; then
  echo "$failures failed"
  exit 1
fi
echo "all passed"
