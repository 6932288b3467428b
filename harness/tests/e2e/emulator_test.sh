#!/usr/bin/env bash
# Kernels are checked without a GPU, on the emulator: right ones, and one of each way to be wrong.
source "$(dirname "$0")/work_folder.sh"
export TMPDIR=$work
# A process that holds the emulator's turn keeps nobody waiting: nobody's times are disturbed. Two
# checks at once once waited for each other, as on a GPU.
exec 9>"$work/assay-turn-GPU-eeeeeeee-eeee-eeee-eeee-eeeeeeeeeeee.lock"
flock 9

# kernel NAME SED: vector_add under another name, with its source changed so.
kernel() {
  sed "s/vector_add/$1/g; s/N: 100003/N: 4003/" "$tree/kernels/vector_add.yaml" >"kernels/$1.yaml"
  sed "s/vector_add/$1/g; $2" "$tree/kernels/vector_add.cu" >"kernels/$1.cu"
  ! cmp -s <(sed "s/vector_add/$1/g" "$tree/kernels/vector_add.cu") "kernels/$1.cu" || [[ -z $2 ]] ||
    fail "$1 is vector_add: its source no longer has what is changed"
}
mkdir kernels

kernel right ''
expect 0 'right N=4003' "$assay" check kernels/right.yaml --sample 2
expect 0 '2 of [0-9]+ configurations were run on the emulator: all correct' \
  "$assay" check kernels/right.yaml --sample 2
[[ $(grep -c '^  correct ' output) -eq 2 ]] || fail 'two configurations are not two lines'
[[ $(grep -c 'Nothing is timed' output) -eq 1 ]] || fail 'nothing says once that nothing is timed'
expect 0 'all correct' "$assay" sweep kernels/right.yaml --device emulate --sample 1
expect 0 '1 of [0-9]+ configurations were run on the emulator: all correct' \
  "$assay" check right:BLOCK=128,VECTOR=2,ITEMS=4
grep -q '^  correct  *BLOCK=128,VECTOR=2,ITEMS=4' output || fail 'another configuration was run'
expect 2 'without --problem' "$assay" sweep kernels/right.yaml --device emulate --problem N=5
[[ ! -e results ]] || fail 'what was emulated is kept'

kernel wrong 's/x.lane\[i\] + y/x.lane[i] - y/'
expect 1 'correctness/mismatch' "$assay" check kernels/wrong.yaml --sample 1
expect 1 '1 of [0-9]+ configurations were run on the emulator: 1 wrong' \
  "$assay" check kernels/wrong.yaml --sample 1
expect 1 'all correct' "$assay" check kernels/right.yaml kernels/wrong.yaml --sample 1

# A kernel that adds to what its output holds was right on the emulator, where every launch found
# poison there.
kernel over 's/Pack sum;/Pack sum, old = *reinterpret_cast<const Pack*>(c + first);/
  s/+ y.lane.i.;/+ y.lane[i] + (isfinite(old.lane[i]) ? old.lane[i] : 0.0f);/'
expect 1 'correctness/mismatch' "$assay" check kernels/over.yaml --sample 1

kernel far 's/(c + first) = sum/(c + first + 500000000) = sum/'
expect 1 'runtime/illegal_address' "$assay" check kernels/far.yaml --sample 1
grep -qE 'kernel far, far.cu:[0-9]+, block' output || fail 'no source line of the access'

# "0 of 60 configurations were run" was all that was said of it.
kernel unlaunched ''
sed -i 's/grid: .blocks./grid: [blocks - N]/' kernels/unlaunched.yaml
expect 1 'runtime/launch' "$assay" check kernels/unlaunched.yaml --sample 1
grep -q 'grid.x "blocks - N" is -' output || fail 'nothing says why it cannot be launched'

# Shipped kernels of each kind: on CUDA cores, on tensor cores by mma and by wgmma, and blocks of a
# cluster that add up by st.async. Reports of races that were none once kept `check` out of the
# workflows.
expect 0 'sgemm .*' "$assay" check "$tree/kernels/sgemm.yaml" "$tree/kernels/gemv_bf16.yaml" \
  "$tree/kernels/gemm_mma.yaml" --sample 1
[[ $(grep -c '^  correct ' output) -eq 4 ]] || fail 'not all of them ran'
sums=SWAP_AB=0,MODE=single,BLOCK_M=64,BLOCK_N=96,BLOCK_K=64,STAGES=9,CLUSTER_M=2,CLUSTER_N=1
sums+=,CLUSTER_K=4,SPLIT_K=1,PERSISTENT=0,SCHEDULE=column,GROUP_M=1,STREAM_K=0,OVERLAP=0
sums+=,STORE=lanes,STREAMED=0
expect 0 'all correct' "$assay" check "gated_up:$sums" --kernels "$tree/kernels"

# A sweep asks of configurations what holds for its own problems, not for the smoke problem. None of
# them was run there.
expect 0 '2 of [0-9]+ configurations were run on the emulator: all correct' \
  "$assay" sweep "$tree/sweeps/gemm.yaml" --device emulate --sample 2
grep -q '^  correct .* on M=1,N=396,K=2056' output || fail 'no row for configurations of one row'

# Without a GPU the times are replayed, and a sample of the configurations is run for real.
mkdir -p replayed/{sweeps,results/recorded/nvidia_h200}
cp -r "$tree/kernels" replayed/kernels
cp "$tree/results/recorded/nvidia_h200/examples.jsonl" replayed/results/recorded/nvidia_h200
cat >replayed/sweeps/mine.yaml <<'YAML'
sweep: examples
kernels: [examples/convolution]
problems: [{M: 8192, N: 4096}]
params: {HEIGHT: [4, 8], ROWS: [2, 4, 8]}
YAML
replay() { CUDA_VISIBLE_DEVICES='' "$assay" sweep replayed/sweeps/mine.yaml --db mine.db "$@"; }
sampled='^[1-6] of 18 configurations were run on the emulator: all correct'
expect 0 "$sampled" replay
expect 0 '18 of 18 trials: 0 now' replay
! grep -q emulator output || fail 'the sample is run again where nothing is replayed'
sed -i 's/sums.r. += /sums[r] -= /' replayed/kernels/examples/convolution.cu
cmp -s {"$tree",replayed}/kernels/examples/convolution.cu && fail 'convolution.cu has no sums to change'
rm mine.db
expect 1 'correctness/mismatch convolution: WIDTH=' replay
grep -qE '^[1-6] of 18 configurations were run on the emulator: [1-6] wrong' output ||
  fail 'nothing says how many are wrong'

expect 2 '--sample goes with --device emulate' "$assay" sweep kernels/right.yaml --device none --sample 1
expect 2 'no JSON' "$assay" sweep kernels/right.yaml --device emulate --json
expect 2 'cannot read|no such file|nothing' "$assay" check kernels/none.yaml
