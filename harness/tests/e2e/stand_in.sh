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

# write_adder FILE SIZE [ENTRY]: a kernel that adds in blocks of this size, or is said to: the
# stand-in runs what has the name of the entry.
write_adder() {
  cat >"$1" <<CUDA
extern "C" __global__ void ${3:-vector_add}(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * $2 + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
CUDA
}

# write_submission FOLDER NAME BLOCKS [ENTRY [LINE]]: such a kernel with its contract, for that op.
write_submission() {
  write_adder "$1/$2.cu" BLOCK "${4:-$2}"
  cat >"$1/$2.yaml" <<YAML
kernel: $2
op: add
arch: [80]
params: {BLOCK: [$3]}
args: [N]
launches: [{entry: ${4:-$2}, grid: ["cdiv(N, BLOCK)"], block: [BLOCK]}]
${5:-}
YAML
}
