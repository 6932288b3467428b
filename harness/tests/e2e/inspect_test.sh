#!/usr/bin/env bash
# What `assay inspect` and `assay explain` say of code: PTX that NVRTC makes, and SASS from a
# stand-in for nvdisasm.
source "$(dirname "$0")/work_folder.sh"

fail() {
  echo "FAILED: $1" >&2
  sed 's/^/  | /' output error >&2
  exit 1
}
inspect() {
  "$assay" inspect "$@" --kernels "$tree/kernels" >output 2>error
}
has() { grep -q -- "$1" output || fail "no \"$1\": $2"; }

small=sgemm:TILE=4,THREADS_M=8,THREADS_N=16,BLOCK_K=8
large=sgemm:TILE=8,THREADS_M=8,THREADS_N=16,BLOCK_K=8

inspect $large || fail "a configuration: exit $?"
has 'PTX for sm_90a' 'the head'
has 'registers a thread, 0 bytes spilled' "ptxas's report"
has 'sgemm: blocks an SM: .* of 128 threads each' 'the occupancy'
has '^fma  *128 .* 128$' '64 products of two slices an inner loop'
has '(main)  *sgemm.cu:' 'the main loop and its source'

inspect $large --listing || fail "a listing: exit $?"
has 'fma.rn.f32 .*  sgemm.cu:[0-9]' 'an instruction with its source'
inspect $large --arch 80 || fail "another arch: exit $?"
has 'PTX for sm_80' 'the arch that was asked for'

inspect $large $large || fail "a configuration and itself: exit $?"
has 'sgemm: the same but for the names of registers' 'it is the same'
inspect $small $large || fail "two configurations: exit $?"
has '^TILE  *4  *8$' 'the parameter that differs'
has '^fma  *32  *128  *32  *128$' 'the instructions that differ'
has '^registers alive  *[0-9]* registers at once in the main loop  *[0-9]* registers at once' 'what both show in another way'
inspect $small $large --json || fail "two as JSON: exit $?"
python3 - <<'PYTHON' || fail 'the JSON'
import json
document = json.load(open('output'))
assert document['before']['functions'][0]['instructions']['fma'] == 32, document
assert document['after']['functions'][0]['instructions']['fma'] == 128, document
assert document['differences'][0]['same'] is False, document
PYTHON

cp "$tree/results/recorded/nvidia_h200/examples_1d.jsonl" runs.jsonl
"$assay" inspect 1 --db runs.jsonl --kernels "$tree/kernels/examples" >output 2>error ||
  fail "a trial of a recording: exit $?"
has 'PTX for sm_90a' "the trial's own arch"
grep -q 'has changed since this trial' error && fail 'an unchanged kernel is said to have changed'
# A contract decides what is compiled as the source does.
cp -r "$tree/kernels/examples" changed
sed -i 's/^arch: .*/&\ncompile: {define: {UNUSED: 1}}/' changed/*.yaml
"$assay" inspect 1 --db runs.jsonl --kernels changed >output 2>error
grep -q 'has changed since this trial' error || fail 'a contract that changed is not named'

# `assay explain`, of which harness/tests/report/explain_test.cpp tests the sentences.
explain() {
  "$assay" explain "$@" --kernels "$tree/kernels/examples" >output 2>error
}
trial_of() { # KERNEL PROBLEM: the fastest
  "$assay" show --times --limit 1 --json --db runs.jsonl --kernel "$1" --problem "$2" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["trials"][0]["id"])'
}
id=$(trial_of histogram N=4194304)
explain "$id" --db runs.jsonl || fail "explain a trial: exit $?"
has '^BLOCK=[0-9]* ITEMS=' 'the configuration'
has '^not known: 11 % of what this GPU reads; ' 'a roofline whose ceilings are not here'
has 'atomics .* on global memory, .* on shared memory' 'what the code shows'
has 'do nothing  *assay doctor' 'what says how long a launch takes'
has 'warps wait for  *assay sweep on such a GPU, and assay profile there' 'what counts'
# With the ceilings of its GPU the launch is a part of the time.
mkdir -p cache/assay/ceilings
head -1 runs.jsonl | python3 -c '
import ctypes, json, sys
class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
hash_of = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
hash_of.restype, hash_of.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
device = json.load(sys.stdin)["device"]
names = "copy_bytes read_bytes l2_bytes bf16_flops tf32_flops f32_flops f64_flops i8_flops".split()
ceilings = {name + "_per_s": 4.5e12 for name in names}
ceilings |= {"launch_ns": 6000, "next_launch_ns": 900, "clock_mhz": 1980}
path = "cache/assay/ceilings/{uuid}-{driver}.json".format(**device)
document = {"ceilings": ceilings, "device": device["name"], "driver": device["driver"],
            "uuid": device["uuid"]}
text = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
value = hash_of(text, len(text))
document["hash"] = "{:016x}{:016x}".format(value.high, value.low)
json.dump(document, open(path, "w"))'
explain "$id" --db runs.jsonl || fail "explain with ceilings: exit $?"
has '^launch-bound: 7[01] % is the time of a launch that does nothing' 'the launch'
explain "$id" --db runs.jsonl --json || fail "explain as JSON: exit $?"
python3 -c 'import json; assert json.load(open("output"))["main"] == "launches"' || fail 'the JSON'
other=$(trial_of histogram N=1048576)
explain "$id" "$other" --db runs.jsonl --json || fail "explain two as JSON: exit $?"
python3 - <<'PYTHON' || fail 'the JSON of two'
import json
document = json.load(open('output'))
assert document['headline'].startswith('what they were timed for differs'), document
assert any(row['name'] == 'ITEMS' for row in document['figures']), document
PYTHON
explain 1 2 --db runs.jsonl || fail "explain two: exit $?"
has '^first:  trial 1: ' 'the first'
has 'figures that differ' 'what differs'
"$assay" explain 1 --db runs.jsonl --kernels changed >output 2>error || fail "a kernel that changed"
has 'has changed since; sweep it again' 'that its code is not that of the trial'
"$assay" explain $large --kernels "$tree/kernels" >output 2>error || fail "explain a configuration"
has '^not timed; possible reasons: too few blocks' 'what its launch shows'
explain 999999 --db runs.jsonl
[ $? -eq 2 ] || fail 'a trial that is not there'
explain sgemm.cu
[ $? -eq 2 ] || fail 'a file has no time'

# What docs/questions.md quotes.
explain() {
  "$assay" explain "$@" --kernels "$tree/kernels" --db "$tree/docs/questions.jsonl" >output 2>error
}
explain 5 7 || fail "docs/questions.md, 5 and 7: exit $?"
has '^the second is 1.063 times as fast .*, timed in turn for 6 rounds: 1.443 ms and 1.354 ms' 'a time'
has 'clock: 1498 MHz | 1589 MHz, 6.1 % higher' 'the clock'
explain 1 2 || fail "docs/questions.md, 1 and 2: exit $?"
has 'dram_read  *116.9 MiB | 118.3 MiB' 'a counter'
"$assay" best --db "$tree/docs/questions_counted.jsonl" --problem M=4096 >output 2>error ||
  fail "docs/questions.md, the bytes: exit $?"
has 'SC=column .* 116.9 MiB ' 'the winner and its bytes'
has 'SC=row .* 113.2 MiB  *0.97x' 'what reads less, and is no faster'
"$assay" explain 7 6 --db "$tree/docs/questions_moe.jsonl" --kernels "$tree/kernels" >output 2>error ||
  fail "docs/questions.md, orders of experts: exit $?"
has '^the second is 1.102 times as fast' 'how much slower the order by rows is'
has 'dram_read  *4.0 GiB | 1.2 GiB' 'what it reads'
"$assay" show 9 --db "$tree/docs/questions_counted.jsonl" >output 2>error ||
  fail "docs/questions.md, occupancy: exit $?"
has '^  occupancy  *14.5 %' 'the occupancy of a split'
"$assay" show 10 --db "$tree/docs/questions_split.jsonl" >output 2>error ||
  fail "docs/questions.md, occupancy at M = 16: exit $?"
has '^  occupancy  *8.9 %' 'the occupancy of a split of 16 rows'
config=SWAP_AB=0,MODE=cooperative,BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,STAGES=4,CLUSTER_M=1
config+=,CLUSTER_N=1,CLUSTER_K=1,SPLIT_K=1,PERSISTENT=1,SCHEDULE=grouped,GROUP_M=16,STREAM_K=0
config+=,OVERLAP=0,STORE=tma
inspect gemm_wgmma:$config ln_linear_gelu:$config || fail "docs/questions.md: exit $?"
has '^fma  *-  *512  *-  *-$' 'what layer norm adds to a product'

# Files: a source, its PTX, and machine code as a disassembler prints it.
cat >twice.cu <<'CU'
extern "C" __global__ void twice(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += 32) x[i] = x[i] * 2.5f;
}
CU
inspect twice.cu twice.cu --arch 80 || fail "a source and itself: exit $?"
grep -q 'for different GPUs' output && fail 'one GPU is called two'
"$assay" inspect twice.cu 1 --arch 80 --db runs.jsonl --kernels "$tree/kernels/examples" >output 2>error ||
  fail "another kernel for another GPU: exit $?"
has 'they are for different GPUs, sm_80 and sm_90a' 'what makes them differ beside the source'
for times in 1 8; do
  printf '#pragma unroll %s\n  for (int i = 0; i < n; ++i) s += a[i * 256] * b[i];\n' $times |
    { echo 'extern "C" __global__ void dot(float* a, float* b, int n) { float s = 0;' && cat && echo 'a[n] = s; }'; } \
      >unrolled_$times.cu
done
inspect unrolled_1.cu unrolled_8.cu || fail "a loop unrolled: exit $?"
has '^a turn of the main loop does 8 times the work: unrolled further' 'a loop that was unrolled'
inspect unrolled_8.cu unrolled_1.cu || fail "a loop unrolled less: exit $?"
has '^a turn of the main loop does 1/8 of the work: unrolled less' 'a loop that was unrolled less'
inspect unrolled_8.cu --json || fail "blocks as JSON: exit $?"
python3 - <<'PYTHON' || fail 'the blocks'
import json
function = json.load(open('output'))['functions'][0]
assert len(function['basic_blocks']) == function['blocks'], function
assert any(block['depth'] == 1 and block['instructions']['fma'] == 8 for block in function['basic_blocks']), function
PYTHON
inspect twice.cu || fail "a source: exit $?"
has 'constants: 2.5 ' 'its constant'
# Of two kernels with functions of other names, those that end alike belong together.
echo 'extern "C" __global__ void a(float* x) { x[0] = 1.5f; }
extern "C" __global__ void a_sum(float* x) { x[0] += x[1]; }' >a.cu
echo 'extern "C" __global__ void b_fold(float* x) { x[2] = 0; }
extern "C" __global__ void b_sum(float* x) { x[0] += x[1]; }
extern "C" __global__ void b(float* x) { x[0] = 2.5f; }' >b.cu
inspect a.cu b.cu || fail "two kernels: exit $?"
has '^a and b: 0 of 1 and 1 blocks are the same' 'the functions with the names of the kernels'
has '^a_sum and b_sum: the same but' 'those that end alike'
has '^b_fold: only after' 'that which is alone'
mkdir -p toolkit/bin
# It prints source lines, or how many registers are alive.
cat >toolkit/bin/nvdisasm <<'SH'
#!/bin/sh
for cubin; do :; done
[ -s "$cubin" ] || exit 1
case "$*" in
  *--life-range-mode\ count*) alive='// | 7 | 1 | 3 |' ;;
  *--print-line-info*) line='\t//## File "/x/twice.cu", line 2\n' ;;
esac
printf ".text.twice:\n.L_x_0:\n$line"
printf '        /*0000*/                   FMUL R0, R0, 2.5 ;   %s\n' "$alive"
printf '        /*0010*/        @P0        BRA `(.L_x_0) ;\n        /*0020*/   EXIT ;\n'
SH
chmod +x toolkit/bin/nvdisasm
CUDA_HOME=$work/toolkit inspect twice.cu --sass || fail "machine code: exit $?"
has 'SASS' 'the head'
has '^other float  *1 ' 'its instruction'
has '^values of 7 registers and 3 uniform ones are alive at once' 'the registers that are alive'

printf '\x7fELF of no GPU' >half.cubin
cp -r toolkit refusing
printf '#!/bin/sh\necho "nvdisasm fatal   : half of it is missing"\nexit 1\n' >refusing/bin/nvdisasm
CUDA_HOME=$work/refusing inspect half.cubin
[ $? -eq 2 ] || fail 'a cubin that nvdisasm refuses'
grep -q 'nvdisasm cannot read half.cubin: exit code 1: nvdisasm fatal .* has made' error ||
  fail 'why nvdisasm refuses a cubin'

CUDA_HOME=$work/toolkit inspect twice.cu --sass --listing || fail "machine code: exit $?"
has 'FMUL R0, R0, 2.5 .*twice.cu:2' 'the source line beside the instruction'
# What the tools of CUDA 13.0 printed of one kernel, in three ways.
recorded=$tree/harness/tests/fuzz/corpus/code/reduce
for way in lines alive cuobjdump; do
  inspect ${recorded}_$way.sass || fail "the listing $way: exit $?"
  has '^kernel gemm_mma_reduce: 64 instructions in 6 blocks, 1 loops' "the listing $way"
  has 'SASS for sm_90a' "the arch of the listing $way"
  grep -q 'an instruction that is not known' output && fail "the listing $way has an unknown instruction"
done
inspect ${recorded}_alive.sass
has '^values of 14 registers and 2 uniform ones are alive at once' 'as nvdisasm counts them'
inspect ${recorded}_lines.sass --listing
has 'LDG.E.128 R4, desc\[UR4\]\[R4.64\]  .*reduce_partials.cuh:[0-9]' 'a source line'
inspect ${recorded}_lines.sass ${recorded}_cuobjdump.sass
has 'gemm_mma_reduce: the same but for the names of registers' 'what both tools print of one code'
printf '.text.twice:\n        /*0000*/                   EXIT ;\n' >twice.sass
inspect twice.sass || fail "a disassembly: exit $?"
printf '.text.twice:\n.L_x_0:\n  /*0000*/ FROB R1 ;\n  /*0010*/ BRA `(.L_x_0) ;\n' >loop.sass
inspect loop.sass || fail "a disassembly with a loop: exit $?"
has 'how many registers are alive is not known' 'that nobody counted them'
has 'an instruction that is not known: FROB (1x)' 'its name'
inspect twice.sass twice.cu && fail 'SASS and PTX were compared'
grep -q 'compare like with like' error || fail 'why they are not compared'
if ! [ -x /usr/local/cuda/bin/nvdisasm ] && ! command -v nvdisasm >/dev/null; then
  inspect twice.cu --sass
  [ $? -eq 3 ] || fail 'machine code without a disassembler'
  grep -q 'there is no nvdisasm' error || fail 'what is missing'
fi

# A name that is no UTF-8 is still one JSON document.
printf '.version 9.0\n.target sm_90\n.entry k()\n{\nret;\n}\n' >$'x\xff.ptx'
inspect $'x\xff.ptx' --json || fail "a name that is no UTF-8: exit $?"
python3 -c 'import json; json.load(open("output"))' || fail 'a name that is no UTF-8: no JSON'

# Mistakes.
refused() { # MESSAGE ARGUMENTS...
  local message=$1
  shift
  inspect "$@"
  [ $? -eq 2 ] || fail "$* was not refused as a mistake"
  grep -q -- "$message" error || fail "$*: no \"$message\""
}
refused "the configuration lacks BLOCK_K" sgemm:TILE=8,THREADS_M=8,THREADS_N=16
refused "sgemm has no parameter SIZE" $large,SIZE=1
refused "there is no kernel nothing" nothing:TILE=8
refused "expected a trial's number" nothing
refused "sgemm: TILE is wide; expected one of 4, 6, 8" "${large/TILE=8/TILE=wide}"
refused "missing.cu: No such file" missing.cu
mkdir -p folder.cu
refused "cannot read folder.cu: Is a directory" folder.cu
: >empty.cu
refused 'gemm_wgmma is written for 90a, and --arch is 80' gemm_wgmma:$config --arch 80
refused 'empty.cu: no code; a kernel begins with' empty.cu
: >empty.cubin
refused 'empty.cubin: no machine code; a cubin is an ELF file' empty.cubin
refused 'does not compile for architecture 130; it does for 75, ' twice.cu --arch 130
refused 'OTHER excludes --listing' $small $large --listing
refused '--listing excludes --json' $small --listing --json
refused "cannot read" missing.ptx
refused "does not compile" "$tree/kernels/sgemm.cu"
printf 'int main() {}\n' >no.ptx
refused "no.ptx:1: expected a directive" no.ptx
refused "no trial 999999 in" 999999 --db runs.jsonl

# `assay profile` says what is wrong before it looks for a GPU.
unprofiled() { # MESSAGE ARGUMENTS...
  local message=$1
  shift
  "$assay" profile "$@" --db runs.jsonl >output 2>error
  [ $? -eq 2 ] || fail "profile $* was not refused as a mistake"
  grep -q -- "$message" error || fail "profile $*: no \"$message\""
}
unprofiled "no trial 999999 in" 999999
unprofiled "has changed since trial 1; sweep it again" 1 --kernels changed
unprofiled "there is no kernel" 1 --kernels "$tree/sweeps"
unprofiled "memory" 1 --set nothing
echo "inspect: passed"
