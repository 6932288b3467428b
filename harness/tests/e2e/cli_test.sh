#!/usr/bin/env bash
# The program as its user meets it, on a machine without a GPU: every mistake gets its exit code and
# a sentence that names the thing, and what was done is kept.
source "$(dirname "$0")/work_folder.sh"

vector_add=$tree/kernels/vector_add.yaml

# Usage.
expect 0 'first steps: assay doctor' "$assay"
expect 0 'sweep' "$assay" --help
expect 0 'assay [0-9]+\.' "$assay" --version
for verb in new list sweep best verify show inspect profile compare gate history report export cover bench doctor db completion; do expect 0 'example' "$assay" $verb --help; done
expect 2 '"swep"; did you mean "sweep"' "$assay" swep
expect 2 '"chek"; did you mean "check"' "$assay" db chek
expect 2 'db needs one of check, ' "$assay" db
mkdir nothing
expect 1 'no kernel or sweep .*in nothing' "$assay" list nothing
expect 2 'recordings lists results/recorded; leave out nothing' "$assay" list --recordings nothing
cp "$tree/kernels/vector_add.cu" no_ending
expect 2 'no_ending: a contract finds its source by the name, which ends in .cu' "$assay" new no_ending
expect 2 'device: it is empty' "$assay" sweep "$vector_add" --device ''
expect 2 'name or number after the # of "old.db#"' "$assay" compare old.db# new.db
expect 2 'no-such-option' "$assay" sweep "$vector_add" --no-such-option
expect 2 'FILE' "$assay" sweep
expect 2 'objective.*time.*energy.*edp' "$assay" sweep "$vector_add" --objective beauty
expect 2 'objective:1:10: unknown name "tme_ns"; did you mean "time_ns"' "$assay" sweep \
  --objective 'minimize tme_ns * BLOCK' "$vector_add"

# Files that are not there or not what they should be.
expect 2 'cannot read nowhere.yaml' "$assay" sweep nowhere.yaml
expect 2 "cannot read $work: " "$assay" sweep "$work"
printf 'sweep: [oops\n' >malformed.yaml
expect 2 'malformed.yaml:[0-9]+:[0-9]+: ' "$assay" sweep malformed.yaml
: >empty.yaml
expect 2 'empty.yaml:1:1: ' "$assay" sweep empty.yaml
head -c 4096 /dev/urandom >noise.yaml
expect 2 'noise.yaml:[0-9]+:[0-9]+: ' "$assay" sweep noise.yaml
expect 2 'nowhere.jsonl' "$assay" sweep "$vector_add" --device replay:nowhere.jsonl
expect 2 "/gemm.jsonl has no sweep named 'vector_add'; it holds gemm" "$assay" sweep "$vector_add" \
  --device "replay:$tree/results/recorded/nvidia_h200/gemm.jsonl"
expect 2 'noise.yaml is not an assay database' "$assay" best --db noise.yaml --json

# A page: what it is made of, and where to.
recorded=$tree/results/recorded/nvidia_h200/examples_1d.jsonl
expect 2 '--html is required' "$assay" report "$recorded"
expect 2 'no results yet: results/assay.db' "$assay" report --html page.html
expect 2 'there is no database nowhere.db' "$assay" report nowhere.db --html page.html
expect 2 'kernels: .*not exist: /nowhere' "$assay" report --kernels /nowhere --html page.html
expect 2 'kernels: .*not exist: /nowhere' "$assay" sweep "$vector_add" --kernels /nowhere
expect 2 'noise.yaml is not an assay database' "$assay" report noise.yaml --html page.html
expect 1 'no finished trial' "$assay" report "$recorded" --op no_such_op --html page.html
expect 2 '--html .* is a folder' "$assay" report "$recorded" --html "$work"
expect '[23]' 'page.html|without the page' "$assay" report "$recorded" --html /proc/page.html

# A draft loads and compiles once its guesses are taken.
mkdir drafts
cat >drafts/scale.cu <<'CUDA'
template <typename T, int BLOCK>
__global__ void scale(const T* x, T* y, float factor, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}
CUDA
cat >drafts/scale_reference.cu <<'CUDA'
__global__ void reference(const float* x, float* y, float factor, int n) {
  for (int i = threadIdx.x; i < n; i += 256) y[i] = factor * x[i];
}
CUDA
expect 0 'scale.yaml: fill in the lines that begin with #\?' "$assay" new drafts/scale.cu
expect 2 'scale.yaml:5:1: a guess of a draft: correct the line, and take the "#\?" away' \
  "$assay" list drafts/scale.yaml
expect 2 'scale.yaml: is there already; nothing is overwritten' "$assay" new drafts/scale.cu
sed -i 's/^#? //' drafts/scale.yaml
expect 0 '3 of 3 trials' "$assay" sweep drafts/scale.yaml --device none --db drafts.db
expect 2 'cannot read nowhere.cu' "$assay" new nowhere.cu

# A kernel of another project finds the headers that are shipped, from where assay was built and from
# where it is installed.
mkdir elsewhere
sed '1i #include <assay/ptx/tma.cuh>\n#include <assay/ptx/cvt.cuh>' drafts/scale.cu >elsewhere/scale.cu
cp drafts/scale_reference.cu drafts/scale.yaml elsewhere
cmake --install "$(dirname "$assay")" --prefix "$work/prefix" >/dev/null
for program in "$assay" "$work/prefix/bin/assay"; do
  expect 0 '3 of 3 trials' "$program" sweep elsewhere/scale.yaml --device none --db elsewhere.db
  rm -f elsewhere.db
done
expect 0 'gemm_mma' "$work/prefix/bin/assay" list "$work/prefix/share/assay/sweeps/gemm.yaml"
# One that results/recorded/STALE names may be there: then the exit code is 1.
expect '[01]' 'gemm.jsonl .* current' env -C "$work/prefix/share/assay" "$work/prefix/bin/assay" list \
  --recordings

# Budgets and seeds that mean nothing.
few() { "$assay" sweep "$vector_add" --device none "$@"; }
expect 2 'budget-configs: expected an integer of at least 1, found "0"' few --budget-configs 0
expect 2 'budget-seconds: expected a positive number of seconds, found "nan"' \
  few --budget-seconds nan
expect 2 'seed: expected an integer of at least 0, found "-1"' few --seed -1
expect 0 '^compiled +3$' "$assay" sweep "$vector_add" --device none --budget-configs 3 \
  --budget-seconds 1e3 --seed 7 --db few.db

# A sweep that only compiles; the same command again has nothing left to do.
expect 0 '^compiled +[1-9]' "$assay" sweep "$vector_add" --device none --db a.db
# A reference of passes over scratch of its own, as many as a parameter says.
expect 0 '^compiled +2$' "$assay" sweep "$tree/kernels/examples/heat_tiles.yaml" --device none \
  --budget-configs 2 --db tiles.db
expect 0 ' 0 now, [1-9][0-9]* kept' "$assay" sweep "$vector_add" --device none --db a.db
# It once listed what the same sweep then leaves out.
expect 0 '-6,879,707,136  arch: \[90a\]' "$assay" list "$tree/kernels/gemm_wgmma.yaml" --arch 80
expect 2 'unknown arch "12"' "$assay" sweep "$vector_add" --device none --arch 12 --db a.db
# Any architecture that NVRTC compiles for, and launches that such a device would refuse.
mkdir bounded
cat >bounded/twice.cu <<'CUDA'
extern "C" __global__ void __launch_bounds__(256) twice(const float* x, float* y, int n) {
  __shared__ float shared[WORDS];
  shared[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = 2 * shared[THREADS - 1 - threadIdx.x];
}
CUDA
cat >bounded/twice.yaml <<'YAML'
kernel: twice
op: twice
arch: [75, 100f]
dims: [N]
params: {THREADS: [256, 512], WORDS: [1024, 12288], KIB: [0, 52]}
args:
  - {name: x, dtype: f32, shape: [N], role: in}
  - {name: y, dtype: f32, shape: [N], role: out}
  - {name: n, dtype: i32, value: N}
launches: [{grid: [1], block: [THREADS], smem_bytes: 1024 * KIB}]
work: {flops: N, bytes: 8 * N}
reference: [{add: {a: x, b: x, out: y}}]
smoke: {N: 512}
YAML
for arch in 75 86 87 100f 103f 110a 121a; do
  expect 0 '^compiled +[1-9]' "$assay" sweep bounded/twice.yaml --device none --arch $arch \
    --db bounded.db
done
expect 0 '^compiled +3' "$assay" sweep bounded/twice.yaml --device none --arch 86 --db 86.db
expect 0 'runtime/launch +5' "$assay" sweep bounded/twice.yaml --device none --arch 86 --db 86.db
expect 0 'a block of twice has 512 threads, and its __launch_bounds__ allow 256' \
  "$assay" show --failures --json --db 86.db
expect 0 'a block of twice has 102400 bytes of shared memory, and the device allows 101376' \
  "$assay" show --failures --json --db 86.db
expect 2 'dimension' "$assay" sweep "$vector_add" --device none --problem Q=3 --db a.db
expect 2 'at least 1' "$assay" sweep "$vector_add" --device none --problem N=0 --db a.db
expect 2 'expected two numbers as 3/8' "$assay" sweep "$vector_add" --device none --shard 3 --db a.db
expect 2 'expected two numbers as 3/8' "$assay" sweep "$vector_add" --device none --shard 3/2 --db a.db
expect 2 'at most as many shards' "$assay" sweep "$vector_add" --device none --shard 2/9 --db a.db
expect 0 '^compiled' "$assay" sweep "$vector_add" --device none --problem N=77 --db a.db
expect 0 '^a.db: ok$' "$assay" db check --db a.db
expect 2 'output is required' "$assay" db merge a.db
expect 2 'a.db is there already' "$assay" db merge a.db --output a.db
expect 2 'no database missing.db' "$assay" db merge a.db missing.db --output ab.db
expect 0 '^ab.db: [1-9][0-9]* trials and 8 verdicts of 2 files; 0 conflicts$' \
  "$assay" db merge a.db "$tree/results/recorded/nvidia_h200/gemm.jsonl" --output ab.db
# A full disk leaves nothing behind; here it is a limit on the size of a file.
expect 3 'cannot read or write' bash -c "ulimit -f 100; exec '$assay' db merge ab.db --output new.db"
expect 0 '^$' find . -name 'new.db*'
expect 2 'a.db: expected a recording, found a database; .assay db merge. joins' \
  "$assay" import a.db --db b.db
# SQLite would take these rows for those of the merged database, which was damaged then.
touch left.db-wal
expect 2 'left.db-wal is left of another database left.db' "$assay" db merge ab.db --output left.db
gemm=$tree/results/recorded/nvidia_h200/gemm.jsonl
expect 0 '^winner +12\.06 us .* gemm_wgmma ' "$assay" show M=16 --db "$gemm"
expect 0 '^best time of the screening: .* us, found by trial [0-9]+ of [0-9]+$' "$assay" show \
  M=16,N=4096,K=4096 --db "$gemm"
grep -q '█' <("$assay" show M=16 --db "$gemm") && fail 'show draws into a pipe'
expect 0 '^  baseline +1[45]\.[0-9]+ us +.*█' script -qec "'$assay' show M=16 --db '$gemm'" /dev/null
expect 0 '^   [0-9.]+ us █' script -qec "'$assay' show M=16 --db '$gemm'" /dev/null
# Rows of up to 250 columns were broken anywhere by terminals of 80 and 120.
on_terminal() { TERM=xterm NO_COLOR=$2 script -qec "stty cols $1; '$assay' $3" /dev/null </dev/null; }
longest() { tr -d '\r' | sed 's/\x1b\[[0-9;]*m//g' | python3 -c 'import sys; print(max(map(len, sys.stdin.read().split("\n"))))'; }
for verb in "best --wide --ties --db '$recorded'" "show M=16 --db '$gemm'" "show 1 --db '$gemm'" \
  "show --times --db '$gemm'" "list '$tree/kernels'" "history '$gemm' '$gemm'" \
  "compare '$gemm' '$gemm'" doctor; do
  width=$(on_terminal 80 1 "$verb" | longest)
  [[ $width -gt 20 && $width -le 80 ]] || fail "assay $verb is $width columns wide on a terminal of 80"
done
expect 0 'COLUMNS=60: [1-6]?[0-9]$' echo "COLUMNS=60: $(COLUMNS=60 on_terminal 80 1 "best --db '$gemm'" | longest)"
[[ $("$assay" best --db "$gemm" | longest) -gt 120 ]] || fail 'what is no terminal has a limit'
# Colors are for a terminal, unless a user says otherwise.
bold=$'\x1b\\[1m'
expect 0 "$bold" on_terminal 80 '' "best --db '$gemm'"
expect 0 "$bold" "$assay" best --db "$gemm" --color always
expect 0 "$bold" "$assay" --color always best --db "$gemm"
expect 2 'color: maybe not in' "$assay" best --db "$gemm" --color maybe
for plain in "$(on_terminal 80 1 "best --db '$gemm'")" "$("$assay" best --db "$gemm")" \
  "$(on_terminal 80 '' "best --color never --db '$gemm'")"; do
  expect 1 '^0$' grep -c $'\x1b' <<<"$plain"
done
expect 1 'no trial of problem M=17' "$assay" show M=17 --db "$gemm"
expect 1 '"problems": \[\]' "$assay" show M=17 --json --db "$gemm"
expect 2 'number, or a problem such as M=16,N=4096, found "sixteen"' "$assay" show sixteen --db "$gemm"
expect 2 'FORMAT|--format' "$assay" export --format parquet --db "$gemm"
expect 0 '--db PATH +the database, to which' "$assay" verify --help
expect 2 'protocol: colt not in' "$assay" export --format csv --db "$gemm" --protocol colt
expect 1 'of op gemm_bf16, protocol hot in ' "$assay" export --format csv --db "$gemm" \
  --op gemm_bf16 --protocol hot
expect 0 '^\| problem \| kernel' "$assay" export --format markdown --db "$gemm"
# Both inputs and the output of one row: of a kernel without scratch, and of cuBLASLt's product.
"$assay" best --json --db "$tree/results/recorded/nvidia_h200/gemm_sizes.jsonl" >sizes.json
[[ $(grep -c '"memory_bytes": 33570816' sizes.json) -eq 2 ]] || fail 'the memory of a product'
# The README's picture is of the recording as it is.
expect 0 '^$' "$assay" export --format svg --db "$tree/results/recorded/nvidia_h200/gemm_h200.jsonl" \
  --output speedups.svg
expect 0 '^$' cmp speedups.svg "$tree/docs/speedups.svg"
# So is the table of products: one was left as it was when the sweep was recorded again.
"$assay" best --json --db "$tree/results/recorded/nvidia_h200/gemm_h200.jsonl" >best.json
python3 - best.json "$tree/docs/results.md" >tables.log 2>&1 <<'PYTHON'
import json, sys
best, page = sys.argv[1:]
figure = lambda time_ns: f"{time_ns / 1000:.4g}"
rows = set()
for one in json.load(open(best))["best"]:
    baseline = one["baseline"]
    rows.add((" x ".join(str(size) for size in one["problem"].values()), one["kernel"],
              figure(one["time_ns"]), figure(baseline["time_ns"]),
              "{speedup:.2f} [{speedup_low:.2f}, {speedup_high:.2f}]".format(**baseline)))
table = next(part for part in open(page).read().split("\n\n") if part.startswith("| M x N x K"))
shown = [tuple(row.strip("| ").split(" | ")[:5]) for row in table.split("\n")[2:]]
wrong = [row for row in shown if row not in rows]
assert not wrong and len(shown) == len(rows), f"{page} has {wrong}"
PYTHON
expect 0 '^$' cat tables.log
expect 0 '"tune_params_keys"' "$assay" export --format kernel-tuner --db "$gemm" \
  --problem M=16,N=4096,K=4096
expect 0 '"key":"gemm_wgmma"' "$assay" export --format wisdom --db "$gemm" --kernel gemm_wgmma
# Winners as a mixture of experts would have them: the reader finds the file by its name.
PYTHONPATH=$tree/scripts python3 -B - "$gemm" >moe.jsonl <<'PYTHON'
import json, recording, sys
blocks = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1,
          "NUM_WARPS": 4, "NUM_STAGES": 2}
winners = {}
lines = recording.read(sys.argv[1])
text = lambda values: ",".join(f"{name}={value}" for name, value in values.items())
for line in lines:
    for entry in line.get("rank", []):
        if entry.get("winner"):
            winners[text(line["problem"])] = entry["config"]
for line in lines:
    if "problem" in line:
        winner = winners[text(line["problem"])]
        if "configuration" in line and text(line["configuration"]) != winner:
            continue
        blocks["NUM_STAGES"] = 1 + list(winners).index(text(line["problem"]))
        line["problem"] = {"M": line["problem"]["M"], "E": 8, "N": 1024}
        if line["problem"]["M"] == 1024 or line["problem"]["M"] == 4096:
            line["problem"]["N"] = 14336
    if "configuration" in line:
        line["configuration"] = dict(blocks)
    if "rank" in line:
        for key in ("identity", "noise"):
            line.pop(key, None)
        line["rank"] = [entry for entry in line["rank"] if "winner" in entry or "kernel" not in entry]
        next(filter(lambda entry: "kernel" in entry, line["rank"]))["config"] = text(blocks)
    print(json.dumps(line))
PYTHON
expect 0 '^best/E=8,N=14336,device_name=NVIDIA_H200.json$' "$assay" export --format vllm-moe \
  --db moe.jsonl --output best
expect 0 '"num_stages": [1-8]' cat best/E=8,N=1024,device_name=NVIDIA_H200.json
expect 0 '"BLOCK_SIZE_M": 16, ' python3 "$tree/harness/tests/report/consumers.py" vllm-moe \
  best/E=8,N=14336,device_name=NVIDIA_H200.json 8 14336 'NVIDIA H200' 2000
expect 0 '^E=8,N=1024,device_name=NVIDIA_H200.json:$' "$assay" export --format vllm-moe \
  --db moe.jsonl
expect 1 'no re-ranked winner .* of kernel nobody' "$assay" export --format wisdom --db "$gemm" \
  --kernel nobody
expect 2 '/dev/null/x' "$assay" export --format junit --db "$gemm" --output /dev/null/x/y
expect 0 '^ab.db: ok$' "$assay" db check --db ab.db
expect 2 'expected --transient or --kernel' "$assay" db forget --db ab.db
expect 0 '^ab.db: deleted 0 trials, 0 verdicts' "$assay" db forget --db ab.db --transient
expect 1 'ab.db has no trial of kernel nobody' "$assay" db forget --db ab.db --kernel nobody
expect 0 '^ab.db: deleted [1-9][0-9]* trials' "$assay" db forget --db ab.db --kernel vector_add
expect 0 '^a.db: deleted 0 trials, 0 verdicts, 0 baselines$' "$assay" db prune --db a.db
expect 2 'no such database' "$assay" db prune --db missing.db
expect 2 'results/assay.db: no such database' "$assay" db check
expect 2 'a.jsonl: expected the name of a database' "$assay" sweep "$vector_add" --device none --db a.jsonl
expect 2 '--threads: .*at least 1, found "-3"' "$assay" sweep "$vector_add" --threads -3 --db a.db
expect 2 '--device: .*found "twelve"' "$assay" sweep "$vector_add" --device twelve --db a.db

# Kernels that do not compile, all of it or in part: a status each, never the end of the sweep.
broken=$tree/harness/tests/kernels/broken
for kernel in fails_to_compile compiles_partly; do
  cp "$broken/$kernel.cu" .
  sed "s/^kernel: .*/kernel: $kernel/; s/128, 256/128, 192, 256/" "$broken/contracts/add.yaml" \
    >$kernel.yaml
done
expect 1 'compile/error' "$assay" sweep fails_to_compile.yaml --device none --db a.db
expect 0 'compile/error' "$assay" sweep compiles_partly.yaml --device none --db a.db
# A kernel of somebody else may not have the compiler quote files of this machine.
mkdir mine library
sed 's/^kernel: .*/kernel: reader/' "$vector_add" > mine/reader.yaml
{ echo '#include "../library/h.cuh"'; sed 's/vector_add/reader/' "${vector_add%.yaml}.cu"; } \
  > mine/reader.cu
touch library/h.cuh
expect 2 'reader.cu:1: #include "../library/h.cuh" leads to /.*/library/h.cuh, outside of /' \
  "$assay" sweep mine/reader.yaml --device none --db a.db
expect 0 '^compiled' "$assay" sweep mine/reader.yaml --device none --db a.db \
  --include library --budget-configs 1
mkdir -p there/results/recorded
expect 0 '' "$assay" export --format recording --sweep reader --db a.db \
  --output there/results/recorded/reader.jsonl
expect 2 '--include' env -C there "$assay" list --recordings --kernels ../mine
expect 0 'current' env -C there "$assay" list --recordings --kernels ../mine --include ../library
expect 0 'current' env -C there "$assay" list --recordings --kernels .. --include ../library
# A kernel of a folder in kernels/ has the same include path whether a sweep names it or not.
mkdir -p mine/kernels/{deep,common}
sed 's/^kernel: .*/kernel: below/' "$vector_add" > mine/kernels/deep/below.yaml
{ echo '#include "common/h.cuh"'; sed 's/vector_add/below/' "${vector_add%.yaml}.cu"; } \
  > mine/kernels/deep/below.cu
touch mine/kernels/common/h.cuh
mkdir mine/sweeps
printf 'sweep: below\nkernels: [deep/below]\nproblems: [{N: 1000}]\n' > mine/sweeps/below.yaml
expect 0 '^compiled' "$assay" sweep mine/kernels/deep/below.yaml --device none --db a.db \
  --problem N=1000
expect 0 ' 0 now, [1-9][0-9]* kept' "$assay" sweep mine/sweeps/below.yaml --device none --db a.db

# No GPU: a clear sentence and exit 3, when no recording can stand in.
if [[ ! -e /dev/nvidiactl ]]; then
  expect 3 'no recording' "$assay" sweep "$vector_add" --db a.db
  expect 3 'assay: .*the NVIDIA driver' "$assay" sweep "$vector_add" --device 0 --db a.db
  expect 3 '--device all: .*the NVIDIA driver' "$assay" sweep "$vector_add" --device all --db a.db
fi

# Lost output is a failure, whatever the verb; a lost warning or progress is none.
add=kernels/vector_add.yaml
for verb in "list $add" "list $add --json" 'best' 'best --json' 'show' 'show 1' 'export --format csv' 'doctor' '--help'; do
  db=
  [[ $verb =~ best|show|export ]] && db="--db $gemm"
  expect 3 'cannot write to stdout: No space left' bash -c \
    "cd '$tree'; exec '$assay' $verb $db >/dev/full"
  [ "$(grep -c 'cannot write' output)" -eq 1 ] || fail "$verb says twice that stdout is full"
done
expect 3 'cannot write to stdout: Bad file descriptor' bash -c \
  "exec '$assay' best --db '$gemm' 3>&1 >&- 2>&3"
expect 0 '^compiled' bash -c \
  "exec '$assay' sweep '$vector_add' --device none --problem N=78 --db full.db 2>/dev/full"
expect 2 '^$' bash -c "exec '$assay' sweep nowhere.yaml 2>/dev/full"

# JSON that was asked for is one document, also when there is nothing but an error to tell.
json_error() {
  "$@" >output 2>/dev/null </dev/null
  [[ $(sqlite3 :memory: "SELECT json_type(readfile('output'), '$.error')" 2>&1) == text ]] ||
    fail "$*: expected one JSON document with an error"
}
json_error "$assay" best --json --db missing.db
json_error "$assay" best --json --no-such-option
json_error "$assay" show 99999 --json --db "$gemm"
expect 2 'found "18446744073709551617"' "$assay" show 18446744073709551617 --db "$gemm"
expect 2 "trial 1 is one; leave --times out" "$assay" show 1 --times --db "$gemm"
expect 2 "N=1 and --problem N=2 are two problems" "$assay" show N=1 --problem N=2 --db "$gemm"
expect 2 '--limit: Value -1 not in range' "$assay" show --times --limit -1 --db "$gemm"
json_error "$assay" sweep nowhere.yaml --json
json_error "$assay" sweep "$vector_add" --device none --json --db noise.yaml
json_error "$assay" nonsense --json
json_error "$assay" list --json malformed.yaml
json_error "$assay" list --json "$vector_add" malformed.yaml

# Ctrl-C: exit 130, and what was compiled is kept.
"$assay" sweep "$tree/kernels/sgemm.yaml" --device none --threads 1 --no-cache --db c.db >c.log 2>&1 &
pid=$!
# Not before something can be kept: a machine with other work takes a while to get there.
for _ in {1..600}; do
  [[ -f c.db && $(sqlite3 c.db "SELECT count(*) FROM trial WHERE status = 'compiled'" 2>/dev/null) -gt 0 ]] && break
  sleep 0.1
done
kill -INT $pid
expect 130 '' wait $pid
expect 0 '^c.db: ok$' "$assay" db check --db c.db
expect 0 'compiled +- +[1-9]' "$assay" show --db c.db
