# Sourced by the tests on the stand-in GPU, instead of work_folder.sh.
source "$(dirname "${BASH_SOURCE[0]}")/work_folder.sh"
stand_ins=$(IFS=:; echo "${*:3}")
unset CUDA_HOME  # the toolkit that it names comes before the stand-ins
export LD_LIBRARY_PATH=$stand_ins${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export TMPDIR=$work  # the files by which sweeps on one GPU take turns

# write_sweep NAME PROBLEMS PARAMS LINE...: NAME.yaml, a sweep of vector_add with further lines.
write_sweep() {
  printf '%s\n' "sweep: ${1##*/}" 'kernels: [vector_add]' "problems: [$2]" "params: {$3}" "${@:4}" \
    >"$1.yaml"
}

# write_add_op N: the op of submissions that add, judged on problems of these N.
write_add_op() {
  mkdir -p kernels/ops
  cat >kernels/ops/add.yaml <<YAML
op: add
dims: [N]
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in}
  - {name: C, dtype: f32, shape: [N], role: out}
work: {flops: N, bytes: 12 * N}
reference: [{add: {a: A, b: B, out: C}}]
deterministic: true
smoke: {N: 1000}
problems: [{N: $1}]
YAML
}
