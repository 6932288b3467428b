#!/usr/bin/env bash
# What `assay inspect` and `assay explain` say of code: PTX that NVRTC makes, and SASS from a
# stand-in for nvdisasm.
source "$(dirname "$0")/work_folder.sh"

inspect() { "$assay" inspect "$@" --kernels "$tree/kernels"; }
# document COMMAND...: its JSON, in `output`
document() { "$@" --json >output 2>error || fail "$* --json: exit $?"; }
# holds CONDITION: it is true of the JSON in `output`, which it calls one
holds() { python3 -c "import json; one = json.load(open('output')); assert $1, one" || fail "not $1"; }

small=sgemm:TILE=4,THREADS_M=8,THREADS_N=16,BLOCK_K=8
large=sgemm:TILE=8,THREADS_M=8,THREADS_N=16,BLOCK_K=8

expect 0 'PTX for sm_90a' inspect $large
has 'registers a thread, 0 bytes spilled' "ptxas's report"
has 'sgemm: blocks an SM: .* of 128 threads each' 'the occupancy'
has '^fma  *128 .* 128$' '64 products of two slices an inner loop'
has '(main)  *sgemm.cu:' 'the main loop and its source'

expect 0 'PTX for sm_90a' inspect $large --output made.cubin
[[ $(head -c 4 made.cubin | tail -c 3) == ELF ]] || fail 'what --output writes is no machine code'
expect 0 '' inspect $large --listing
has 'fma.rn.f32 .*  sgemm.cu:[0-9]' 'an instruction with its source'
expect 0 '' inspect $large --arch 80
has 'PTX for sm_80' 'the arch that was asked for'

expect 0 '' inspect $large $large
has 'sgemm: the same but for the names of registers' 'it is the same'
expect 0 '' inspect $small $large
has '^TILE  *4  *8$' 'the parameter that differs'
has '^fma  *32  *128  *32  *128$' 'the instructions that differ'
has '^registers alive  *[0-9]* registers at once in the main loop  *[0-9]* registers at once' 'what both show in another way'
document inspect $small $large
holds "one['before']['functions'][0]['instructions']['fma'] == 32"
holds "one['after']['functions'][0]['instructions']['fma'] == 128"
holds "one['differences'][0]['is_same'] is False"

cp "$tree/results/recorded/nvidia_h200/examples_1d.jsonl" runs.jsonl
expect 0 '' "$assay" inspect 1 --db runs.jsonl --kernels "$tree/kernels/examples"
has 'PTX for sm_90a' "the trial's own arch"
grep -q 'has changed since this trial' output && fail 'an unchanged kernel is said to have changed'
# A contract decides what is compiled as the source does.
cp -r "$tree/kernels/examples" changed
sed -i 's/^arch: .*/&\ncompile: {define: {UNUSED: 1}}/' changed/*.yaml
expect 0 'has changed since this trial' "$assay" inspect 1 --db runs.jsonl --kernels changed

# `assay explain`, of which harness/tests/report/explain_test.cpp tests the sentences.
explain() { "$assay" explain "$@" --kernels "$tree/kernels/examples"; }
trial_of() { # KERNEL PROBLEM: the fastest
  "$assay" show --times --limit 1 --json --db runs.jsonl --kernel "$1" --problem "$2" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["trials"][0]["trial"])'
}
id=$(trial_of histogram N=4194304)
expect 0 '^BLOCK=[0-9]* ITEMS=' explain "$id" --db runs.jsonl
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
names = "copy_bytes read_bytes l2_bytes bf16_flops tf32_flops f32_flops f64_flops i8_flops fp8_flops".split()
ceilings = {name + "_per_s": 4.5e12 for name in names}
ceilings |= {"launch_ns": 6000, "next_launch_ns": 900, "clock_mhz": 1980}
path = "cache/assay/ceilings/{uuid}-{driver}.json".format(**device)
document = {"ceilings": ceilings, "device": device["name"], "driver": device["driver"],
            "uuid": device["uuid"]}
text = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
value = hash_of(text, len(text))
document["hash"] = "{:016x}{:016x}".format(value.high, value.low)
json.dump(document, open(path, "w"))'
expect 0 '^launch-bound: [67][0-9] % is the time of a launch that does nothing' \
  explain "$id" --db runs.jsonl
document explain "$id" --db runs.jsonl
holds "one['main_cause'] == 'launches'"
other=$(trial_of histogram N=1048576)
document explain "$id" "$other" --db runs.jsonl
holds "one['headline'].startswith('what they were timed for differs')"
holds "any(row['name'] == 'ITEMS' for row in one['differences'])"
expect 0 '^first:  trial 1: ' explain 1 2 --db runs.jsonl
has 'figures that differ' 'what differs'
expect 0 'has changed since; sweep it again' "$assay" explain 1 --db runs.jsonl --kernels changed
expect 0 '^not timed; possible reasons: too few blocks' \
  "$assay" explain $large --kernels "$tree/kernels"
expect 2 '' explain 999999 --db runs.jsonl
expect 2 '' explain sgemm.cu

config=SWAP_AB=0,MODE=cooperative,BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,STAGES=4,CLUSTER_M=1
config+=,CLUSTER_N=1,CLUSTER_K=1,SPLIT_K=1,PERSISTENT=1,SCHEDULE=grouped,GROUP_M=16,STREAM_K=0
config+=,OVERLAP=0,STORE=tma

# Files: a source, its PTX, and machine code as a disassembler prints it.
cat >twice.cu <<'CU'
extern "C" __global__ void twice(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += 32) x[i] = x[i] * 2.5f;
}
CU
expect 0 '' inspect twice.cu twice.cu --arch 80
grep -q 'for different GPUs' output && fail 'one GPU is called two'
expect 0 'they are for different GPUs, sm_80 and sm_90a' \
  "$assay" inspect twice.cu 1 --arch 80 --db runs.jsonl --kernels "$tree/kernels/examples"
for times in 1 8; do
  printf '#pragma unroll %s\n  for (int i = 0; i < n; ++i) s += a[i * 256] * b[i];\n' $times |
    { echo 'extern "C" __global__ void dot(float* a, float* b, int n) { float s = 0;' && cat && echo 'a[n] = s; }'; } \
      >unrolled_$times.cu
done
expect 0 '^a turn of the main loop does 8 times the work: unrolled further' \
  inspect unrolled_1.cu unrolled_8.cu
expect 0 '^a turn of the main loop does 1/8 of the work: unrolled less' \
  inspect unrolled_8.cu unrolled_1.cu
document inspect unrolled_8.cu
holds "len(one['functions'][0]['basic_blocks']) == one['functions'][0]['num_blocks']"
holds "any(block['depth'] == 1 and block['instructions']['fma'] == 8 for block in one['functions'][0]['basic_blocks'])"
expect 0 'constants: 2.5 ' inspect twice.cu
# Of two kernels with functions of other names, those that end alike belong together.
echo 'extern "C" __global__ void a(float* x) { x[0] = 1.5f; }
extern "C" __global__ void a_sum(float* x) { x[0] += x[1]; }' >a.cu
echo 'extern "C" __global__ void b_fold(float* x) { x[2] = 0; }
extern "C" __global__ void b_sum(float* x) { x[0] += x[1]; }
extern "C" __global__ void b(float* x) { x[0] = 2.5f; }' >b.cu
expect 0 '^a and b: 0 of 1 and 1 blocks are the same' inspect a.cu b.cu
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
CUDA_HOME=$work/toolkit expect 0 'SASS' inspect twice.cu --sass
has '^other float  *1 ' 'its instruction'
has '^values of 7 registers and 3 uniform ones are alive at once' 'the registers that are alive'

printf '\x7fELF of no GPU' >half.cubin
cp -r toolkit refusing
printf '#!/bin/sh\necho "nvdisasm fatal   : half of it is missing"\nexit 1\n' >refusing/bin/nvdisasm
CUDA_HOME=$work/refusing expect 2 \
  'nvdisasm cannot read half.cubin: exit code 1: nvdisasm fatal .* has made' inspect half.cubin

CUDA_HOME=$work/toolkit expect 0 'FMUL R0, R0, 2.5 .*twice.cu:2' inspect twice.cu --sass --listing
# What the tools of CUDA 13.0 printed of one kernel. Asked for lines, nvdisasm names these instead.
recorded=$tree/harness/tests/fuzz/corpus/code/reduce
sed -E 's| +// [|+].*||; /LDG/i \\t//## File "@assay/common/reduce_partials.cuh", line 27' \
  ${recorded}_alive.sass >lines.sass
for listing in lines.sass ${recorded}_{alive,cuobjdump}.sass; do
  expect 0 '^kernel gemm_mma_reduce: 64 instructions in 6 blocks, 1 loops' inspect $listing
  has 'SASS for sm_90a' "the arch of $listing"
  grep -q 'an instruction that is not known' output && fail "$listing has an unknown instruction"
done
expect 0 '' inspect ${recorded}_alive.sass
has '^values of 14 registers and 2 uniform ones are alive at once' 'as nvdisasm counts them'
expect 0 '' inspect lines.sass --listing
has 'LDG.E.128 R4, desc\[UR4\]\[R4.64\]  .*reduce_partials.cuh:27' 'a source line'
expect 0 '' inspect lines.sass ${recorded}_cuobjdump.sass
has 'gemm_mma_reduce: the same but for the names of registers' 'what both tools print of one code'
printf '.text.twice:\n        /*0000*/                   EXIT ;\n' >twice.sass
expect 0 '' inspect twice.sass
printf '.text.twice:\n.L_x_0:\n  /*0000*/ FROB R1 ;\n  /*0010*/ BRA `(.L_x_0) ;\n' >loop.sass
expect 0 'how many registers are alive is not known' inspect loop.sass
has 'an instruction that is not known: FROB (1x)' 'its name'
expect 2 'compare like with like' inspect twice.sass twice.cu
if ! [ -x /usr/local/cuda/bin/nvdisasm ] && ! command -v nvdisasm >/dev/null; then
  expect 3 'there is no nvdisasm' inspect twice.cu --sass
fi

# A name that is no UTF-8 is still one JSON document.
printf '.version 9.0\n.target sm_90\n.entry k()\n{\nret;\n}\n' >$'x\xff.ptx'
document inspect $'x\xff.ptx'
holds "one"

# Mistakes.
expect 2 "the configuration lacks BLOCK_K" inspect sgemm:TILE=8,THREADS_M=8,THREADS_N=16
expect 2 "sgemm has no parameter SIZE" inspect $large,SIZE=1
expect 2 "there is no kernel nothing" inspect nothing:TILE=8
expect 2 "expected a trial's number" inspect nothing
expect 2 "sgemm: TILE is wide; expected one of 4, 6, 8" inspect "${large/TILE=8/TILE=wide}"
expect 2 "missing.cu: No such file" inspect missing.cu
mkdir -p folder.cu
expect 2 "cannot read folder.cu: Is a directory" inspect folder.cu
: >empty.cu
expect 2 'gemm_wgmma is written for 90a, and --arch is 80' \
  inspect gemm_wgmma:$config,EDGE=whole,STREAMED=0 --arch 80
expect 2 'empty.cu: no code; a kernel begins with' inspect empty.cu
: >empty.cubin
expect 2 'empty.cubin: no machine code; a cubin is an ELF file' inspect empty.cubin
expect 2 'does not compile for architecture 130; it does for 75, ' inspect twice.cu --arch 130
expect 2 'OTHER excludes --listing' inspect $small $large --listing
expect 2 '--listing excludes --json' inspect $small --listing --json
expect 2 "cannot read" inspect missing.ptx
expect 2 "does not compile" inspect "$tree/kernels/sgemm.cu"
printf 'int main() {}\n' >no.ptx
expect 2 "no.ptx:1: expected a directive" inspect no.ptx
expect 2 "no trial 999999 in" inspect 999999 --db runs.jsonl

# `assay profile` says what is wrong before it looks for a GPU.
profile() { "$assay" profile "$@" --db runs.jsonl; }
expect 2 "no trial 999999 in" profile 999999
expect 2 "has changed since trial 1; sweep it again" profile 1 --kernels changed
expect 2 "there is no kernel" profile 1 --kernels "$tree/sweeps"
expect 2 "memory" profile 1 --set nothing
echo "inspect: passed"
