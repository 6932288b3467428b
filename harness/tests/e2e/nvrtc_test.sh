#!/usr/bin/env bash
# An NVRTC that cannot list the headers it reads compiles all the same. With the stand-in for it.
plain=${LD_LIBRARY_PATH:-}
source "$(dirname "$0")/stand_in.sh"
rm -rf cache  # what a test compiles is counted

sweep() { "$assay" sweep "$1" --device none --db "$2" --budget-configs 2 >output 2>&1; }
codes() { sqlite3 "$1" "SELECT config.text, cubin_hash FROM trial JOIN config ON config.id = config_id ORDER BY 1"; }

expect 0 '^compiled *2' sweep "$tree/kernels/vector_add.yaml" old.db
(LD_LIBRARY_PATH=$plain; sweep "$tree/kernels/vector_add.yaml" new.db) || fail "NVRTC: exit $?"
[[ $(find cache -name '*.cubin' | wc -l) -eq 4 ]] || fail "the two are taken for one compiler"
[[ $(codes old.db) == "$(codes new.db)" ]] || fail "it compiles to other machine code"
# The toolkit that CUDA_HOME names comes before what the loader finds, and one without NVRTC is told.
# The loader came first, so that a sweep compiled with one toolkit and disassembled with another.
mkdir -p named/lib64 empty
cp "$3"/libnvrtc.so.13 named/lib64/
(LD_LIBRARY_PATH=$plain CUDA_HOME=$work/named sweep "$tree/kernels/vector_add.yaml" named.db) ||
  fail "CUDA_HOME: exit $?"
grep -q 'warning' output && fail "CUDA_HOME is not followed"
CUDA_HOME=$work/empty expect 0 "warning: CUDA_HOME is $work/empty, which has no NVRTC; .*/libnvrtc.so.13 is used" \
  sweep "$tree/kernels/vector_add.yaml" empty.db
sed 's/^kernel: .*/kernel: refused/' "$tree/kernels/vector_add.yaml" >refused.yaml
echo 'int x = nowhere;' >refused.cu
expect 1 '' sweep refused.yaml old.db
expect 0 'refused.cu\([0-9]*\): error' "$assay" show --failures --db old.db

# A limit of the shell's on memory was an error of each kernel, for good.
XDG_CACHE_HOME=$work/empty ASSAY_FAKE_NVRTC=out_of_memory expect 1 'compile/out_of_memory *2' \
  sweep "$tree/kernels/vector_add.yaml" memory.db
grep -q '2 failed because the machine did' output || fail "a full memory: the summary does not say so"
expect 0 '^compiled *2' sweep "$tree/kernels/vector_add.yaml" memory.db
# For the source of a reference it was a mistake of the user's: "expected a source that compiles".
XDG_CACHE_HOME=$work/empty ASSAY_FAKE_NVRTC=out_of_memory expect 3 'the machine failed the compile of' \
  sweep "$tree/kernels/gated_up.yaml" reference.db

# What a sweep waited for was not told: it seemed to hang.
XDG_CACHE_HOME=$work/slow ASSAY_FAKE_NVRTC=slow expect 0 'compiling BLOCK=.* for [0-9]* s' \
  sweep "$tree/kernels/vector_add.yaml" slow.db

# A compiler that crashed once was stored as an error of the kernel's, for good: nobody tried
# whether the source does it.
XDG_CACHE_HOME=$work/crash ASSAY_FAKE_NVRTC=crash:$work/crashed expect 0 '^compiled *2' \
  sweep "$tree/kernels/vector_add.yaml" once.db
[[ -f crashed ]] || fail "the compiler did not crash"
XDG_CACHE_HOME=$work/crash2 ASSAY_FAKE_NVRTC=crash expect 1 \
  'compile/crash *2 *NVRTC crashed on this source, twice: signal 11' \
  sweep "$tree/kernels/vector_add.yaml" crash.db
echo ok
