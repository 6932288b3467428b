#!/usr/bin/env bash
# An NVRTC that cannot list the headers it reads compiles all the same. With the stand-in for it.
# Arguments: the program, the tree, the folder of the stand-in for NVRTC.
set -uo pipefail

assay=$1
tree=$2
plain=${LD_LIBRARY_PATH:-}
source "$tree/harness/tests/e2e/stand_in.sh" "$3"

sweep() { "$assay" sweep "$1" --device none --db "$2" --budget-configs 2 >output 2>&1; }
codes() { sqlite3 "$1" "SELECT config.text, cubin_hash FROM trial JOIN config ON config.id = config_id ORDER BY 1"; }

sweep "$tree/kernels/vector_add.yaml" old.db || fail "the sweep ends with exit $?"
grep -q 'correct/compiled *2' output || fail "nothing is compiled"
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
CUDA_HOME=$work/empty sweep "$tree/kernels/vector_add.yaml" empty.db || fail "an empty CUDA_HOME: exit $?"
grep -q "warning: CUDA_HOME is $work/empty, which has no NVRTC; .*/libnvrtc.so.13 is used" output ||
  fail "a CUDA_HOME without NVRTC is not told"
sweep "$tree/harness/tests/kernels/broken/fails_to_compile.yaml" old.db
[[ $? -eq 1 ]] || fail "a mistake of a kernel: exit $?"
"$assay" show --failures --db old.db >output 2>&1
grep -q 'fails_to_compile.cu([0-9]*): error' output || fail "a mistake of a kernel has no line"

# A limit of the shell's on memory was an error of each kernel, for good.
XDG_CACHE_HOME=$work/empty ASSAY_FAKE_NVRTC=out_of_memory sweep "$tree/kernels/vector_add.yaml" memory.db
grep -q 'compile/out_of_memory *2' output || fail "a full memory is not stored as such"
grep -q '2 failed because the machine did' output || fail "a full memory: the summary does not say so"
sweep "$tree/kernels/vector_add.yaml" memory.db || fail "after a full memory: exit $?"
grep -q 'correct/compiled *2' output || fail "what a full memory failed is not tried again"
echo ok
