#!/usr/bin/env bash
# Inputs that come from a file, from another input and from a kernel of the user's own, on the
# stand-in GPU, which runs the kernels called vector_add.
source "$(dirname "$0")/contract.sh"

write_adder gen.cu 256
write_contract <<'YAML'
args:
  - {name: A, dtype: f32, shape: [N], role: in, fill: {column: {of: X, index: 2}}}
  - name: B
    dtype: f32
    shape: [N]
    role: in
    fill:
      kernel:
        source: gen.cu
        entry: vector_add
        args: [A, F, B, N]
        grid: [cdiv(N, 256)]
        block: [256]
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
  - {name: X, dtype: f32, shape: [N, 3], role: in}
  - {name: F, dtype: f32, shape: [N], role: in, fill: {file: data/f.bin}}
  - {name: S, dtype: i32, shape: [N], role: in, fill: {order: F}}
  - {name: I, dtype: i32, shape: [N, 2], role: in, fill: {choices: {file: data/c.txt, of: N}}}
  - {name: T, dtype: i32, shape: [N + 1], role: in, fill: {starts: I}}
launches: [{grid: [cdiv(N, BLOCK)], block: [BLOCK], args: [A, B, C, N]}]
YAML
mkdir data
printf '\1\2\3\4%.0s' {1..1000} >data/f.bin

for ((i = 0; i < 1000; ++i)); do echo "$i $((i * 7 % 1000 == i ? 999 - i : i * 7 % 1000))"; done >data/c.txt

expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
expect 0 '2 of 2 trials: 0 now, 2 kept' sweep
printf '\5' | dd of=data/f.bin conv=notrunc status=none
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
echo '// edited' >>gen.cu
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep

# Mistakes show where there is no GPU, too.
sed -i 's/float\* a, const float\* b/float* a/; s/ + b.i.//' gen.cu
expect 2 'vector_add.yaml:16:15: expected arguments of 8, 8, 4 bytes, the parameters of vector_add' \
  sweep --device none

# A generator that writes beside its input, or changes another one, cannot be believed.
sed -i '/^extern/s/float\* a/float* a, const float* b/' gen.cu
for mistake in writes_outside changes_input; do
  sed "s/vector_add/$mistake/" -i gen.cu
  sed "s/entry: .*/entry: $mistake/" -i vector_add.yaml
  sweep
  expect 0 "the kernel $mistake of gen.cu, which fills B, " \
    "$assay" show --failures --json --db x.db
  sed "s/$mistake/vector_add/" -i gen.cu
done
echo ok
