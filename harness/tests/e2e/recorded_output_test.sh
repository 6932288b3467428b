#!/usr/bin/env bash
# A reference that another program recorded, on the stand-in GPU, which runs vector_add.
# Arguments: the program, the tree, the folder of the stand-in for libcuda.
set -uo pipefail

assay=$1
tree=$2
source "$tree/harness/tests/e2e/stand_in.sh" "$3"

cp "$tree/kernels/vector_add.cu" .
cat >vector_add.yaml <<'YAML'
kernel: vector_add
op: add_f32
arch: [80]
dims: [N]
params: {BLOCK: [64, 128], VECTOR: [1], ITEMS: [1]}
args:
  - {name: A, dtype: f32, shape: [N], role: in, fill: ones}
  - {name: B, dtype: f32, shape: [N], role: in, fill: {file: b.bin}}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
launches: [{grid: [cdiv(N, BLOCK)], block: [BLOCK]}]
work: {flops: N, bytes: 12 * N}
reference: [{file: c.bin, out: C}]
smoke: {N: 1000}
YAML
floats() { for _ in $(seq "$2"); do printf '%b' "$1"; done >"$3"; }
floats '\0\0\x80\x3f' 1000 b.bin # 1
floats '\0\0\0\x40' 1000 c.bin   # 2

sweep() { "$assay" sweep vector_add.yaml --db x.db "$@" >output 2>&1; }

sweep || fail "a kernel that agrees with its recorded output: exit $?"
grep -q '2 of 2 trials: 2 now, 0 kept' output || fail "not every configuration was tried"
"$assay" show 1 --db x.db >output 2>&1
grep -q 'reference     file c.bin' output || fail "show does not name the file"
sweep
grep -q '2 of 2 trials: 0 now, 2 kept' output || fail "the same file makes trials anew"

printf '\x40' | dd of=c.bin bs=1 seek=$((4 * 999 + 2)) conv=notrunc status=none # the last is 3
sweep && fail "a kernel that disagrees with its recorded output passes"
grep -q '2 of 2 trials: 2 now, 0 kept' output || fail "an edited file leaves old trials"
"$assay" show --failures --db x.db >output 2>&1
grep -q 'C\[999\] is 2, expected 3' output || fail "the wrong element is unnamed"

# A file of another size is a mistake that has a place, also where there is no GPU.
printf 'more' >>c.bin
for device in 0 none; do
  sweep --device $device && fail "a file of another size will do"
  "$assay" show --failures --db x.db --json >output 2>&1
  grep -q 'vector_add.yaml:13:20: C has 4000 bytes, \[1000\] of f32, but c.bin has 4004' output ||
    fail "the sizes are unnamed"
done
echo ok
