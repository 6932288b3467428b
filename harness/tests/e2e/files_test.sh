#!/usr/bin/env bash
# Files that somebody else wrote, or that are damaged: databases, recordings, other tuners' results,
# paths that are none. Each gets its exit code and a sentence that names the thing, soon and without
# much memory.
source "$(dirname "$0")/work_folder.sh"

# Waits until process $1 is the program and handles Ctrl-C. Before that it is this shell's copy, whose
# handler runs the trap at EXIT and so removes the folder: "exit 1 instead of 130" on a busy machine.
until_it_handles_interrupts() {
  local i caught
  for ((i = 0; i < 6000; ++i)); do
    [[ -e /proc/$1 ]] || return
    if [[ /proc/$1/exe -ef $assay ]]; then
      caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
      [[ -n $caught ]] && ((16#$caught & 2)) && return
    fi
    sleep 0.01
  done
}

vector_add=$tree/kernels/vector_add.yaml
expect 0 '^compiled +[1-9]' "$assay" sweep "$vector_add" --device none --db a.db

# Databases that are not ours, newer, or damaged.
printf 'not a database, but long enough to be looked at\n' >text.db
expect 2 'text.db is not an assay database' "$assay" sweep "$vector_add" --device none --db text.db
cp a.db damaged.db
dd if=/dev/urandom of=damaged.db bs=1024 seek=6 count=30 conv=notrunc status=none
expect 3 'damaged.db is damaged' "$assay" sweep "$vector_add" --device none --db damaged.db
# Damage that only `db check` names in full, and that every other verb says to ask it about.
cp a.db table.db
sqlite3 table.db 'DROP TABLE validation'
expect 1 'table validation is missing' "$assay" db check --db table.db
for verb in best 'show --times' 'export --format csv'; do
  expect 3 'table.db is damaged .*`assay db check --db table.db` says' "$assay" $verb --db table.db
done
expect 3 'cannot create .*/proc/no/such' "$assay" sweep "$vector_add" --device none --db /proc/no/such/a.db
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
expect 0 'add_f32 on .*, recorded on NVIDIA A100-PCIE-40GB, 2023-12-22$' "$assay" sweep \
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
expect 0 '"registers": null' "$assay" show --times --json --db imported.db
expect 0 ' us +- +- +- +correct' "$assay" show --times --db imported.db
expect 2 'does not say what it was compiled for' "$assay" inspect 1 --db imported.db
echo '{"tables": []}' >other.json
expect 2 'other.json: neither a Kernel Tuner cachefile' "$assay" best --db other.json

# Files that somebody else wrote.
deep=$(printf '[%.0s' {1..80000})
echo "{\"recording\":$deep" >deep.jsonl
echo "{\"results\":$deep${deep//[/]}}" >deep.json
head -c 300M /dev/zero | tr '\0' ' ' | gzip -1 >bomb.jsonl.gz
expect 2 'deep.jsonl:1: nested more than 64 levels deep' "$assay" show --db deep.jsonl
expect 2 'deep.json: result 0: JSON: nested more than 64 levels deep' "$assay" show --db deep.json
# Short values that take much memory: 33 MB of them took 1.4 GB, and crashed where there was less.
zeros() { yes "$1" | head -n "$2" | tr -d '\n'; }
{ echo '{"x":[' && zeros 0, 33000000 && echo '0]}'; } >values.json
{ echo '{"x":{' && zeros '"a":0,' 16000000 && echo '"a":0}}'; } >members.json
{ echo '{"results":[' && zeros 0, 33000000 && echo '0]}'; } >rows.json
expect 2 'values.json: more than [0-9]+ bytes of JSON' "$assay" show --db values.json
expect 2 'members.json: more than [0-9]+ bytes of JSON' "$assay" show --db members.json
expect 2 'rows.json: more than [0-9]+ rows' "$assay" show --db rows.json
{ echo '{"x":[' && zeros 0, 8300000 && echo '0]}'; } >values.json
expect 2 'values.json: more than [0-9]+ values' bash -c \
  "ulimit -v 300000; '$assay' show --db values.json"
{ echo '{"x":{' && zeros '"a":0,' 1000000 && echo '"a":0}}'; } >members.json
expect 2 'members.json: neither a Kernel Tuner cachefile' bash -c \
  "ulimit -v 300000; '$assay' show --db members.json"
rm values.json members.json rows.json
expect 2 'bomb.jsonl.gz: expected at most [0-9]+ bytes in a line' "$assay" show --db bomb.jsonl.gz
ln -s /dev/zero zero.jsonl
ln -s /dev/zero zero.json
for zero in zero.jsonl zero.json; do
  expect 2 "$zero: expected at most [0-9]+ bytes" "$assay" show --db $zero
done
expect 2 '/dev/zero: expected at most' "$assay" sweep /dev/zero

# Ctrl-C ends what reads many rows, and no file is written.
{
  echo '{"kernel_name": "k", "tune_params_keys": ["a"], "cache": {'
  seq 100000 | sed 's/.*/"&": {"a": &, "time": &},/'
} >many.json
expect 0 "100000 trials" "$assay" import many.json --db many.db
for verb in 'export --format kernel-tuner --output many.out --db many.db' \
  'report many.db --html many.out'; do
  "$assay" $verb >many.log 2>&1 &
  pid=$!
  for _ in {1..6000}; do # until it reads
    [[ $(readlink /proc/$pid/fd/*) == *many.db* ]] && break
    sleep 0.01
  done
  kill -INT $pid
  expect 130 '' wait $pid
  expect 0 'interrupted' cat many.log
  expect 2 'many.out' ls many.out
done
rm many.json many.db

# What is written in a file commands no terminal.
escape=$(printf '\033]0;pwned\007')
sed "s/NVIDIA A100-PCIE-40GB/A100 \\\\u001b[2J/" kernel_tuner.json >escape.json
for verb in best show 'show --times' 'show 1' 'export --format csv'; do
  grep -q "$(printf '\033')" <("$assay" $verb --db escape.json 2>&1) &&
    fail "assay $verb writes an escape sequence from a file"
done
expect 2 'nowhere\?]0;pwned' "$assay" sweep "nowhere$escape.yaml"

# A limit on the size of files is a write that fails, not the end by a signal.
expect 3 'cannot write small.html: File too large' bash -c \
  "ulimit -f 100; '$assay' report imported.db --html small.html"

# To check is the last advice, so who checks gets another.
head -c 20000 imported.db >half.db
expect 3 'half.db is damaged .*assay db check' "$assay" best --db half.db
expect 1 'half.db: damaged file: .*; `sqlite3 half.db .recover`' "$assay" db check --db half.db
expect 2 '/dev/null: expected a database, found a device' "$assay" import kernel_tuner.json --db /dev/null

# Nor does it choose where a file is written, or fill the terminal.
echo '{"assay_recording":3,"sweep":"../../../up","recorded_at":"2026-11-21","device":{"name":"G"}}' >up.jsonl
expect 2 "sweep '../../../up' is no name of a file: name one with --output" \
  "$assay" export --format recording --sweep ../../../up --db up.jsonl
long=$(printf 'a%.0s' {1..100000})
expect 2 '\[[0-9]+ bytes are left out\]' "$assay" best --db "$long.db"

# Paths that are none, sentences instead of the library's words.
# A script's variable that is not set does not mean the default database.
for verb in best show 'export --format csv' 'db check' 'import kernel_tuner.json' \
  "sweep $vector_add --device none"; do
  expect 2 'expected the path of a (database|file), found an empty one' "$assay" $verb --db ''
done
expect 2 'cannot create a.db: ' "$assay" sweep "$vector_add" --device none --db a.db/x.db
expect 2 'cannot create a.db: ' "$assay" import kernel_tuner.json --db a.db/x.db
ln -s loop loop
expect 2 'loop.*Too many levels of symbolic links' "$assay" list loop
expect 2 'loop.*Too many levels of symbolic links' "$assay" sweep "$vector_add" --device none --db loop/x.db
not_utf8=$(printf 'caf\351')
mkdir "$not_utf8"
cp "$tree/sweeps/vector_add.yaml" "$not_utf8/"
expect 0 'vector_add' "$assay" list "$not_utf8/vector_add.yaml" --kernels "$tree/kernels" --json
expect 0 '^compiled' env -u HOME -u XDG_CACHE_HOME TMPDIR="$work/nowhere" \
  "$assay" sweep "$vector_add" --device none --problem N=79 --db a.db

# A pipe can be read once only.
expect 2 '/dev/fd/[0-9]+: expected a file, found a pipe' bash -c "'$assay' list <(cat '$vector_add')"

# Ctrl-C ends what has no end: a pipe that nobody writes to.
mkfifo pipe.jsonl
"$assay" show --db pipe.jsonl >endless.log 2>&1 &
pid=$!
until_it_handles_interrupts $pid
kill -INT $pid
for _ in {1..600}; do
  kill -0 $pid 2>/dev/null || break
  sleep 0.1
done
kill -KILL $pid 2>/dev/null
expect 130 '' wait $pid
