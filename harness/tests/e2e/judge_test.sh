#!/usr/bin/env bash
# A kernel that was handed in is judged on its op's problems, on the stand-in GPU: right, wrong, and
# in ways that are no kernel at all.
source "$(dirname "$0")/stand_in.sh"

mkdir honest
write_add_op '[4000, 2000]'
for folder in kernels honest; do write_submission $folder vector_add '64, 128'; done
for kernel in wrong_value forgets_tail skips_last; do write_submission . $kernel '64, 128'; done
judge() { "$assay" judge add "$@" --kernels kernels --db known.db; }

# Compiled only.
expect 0 '^honest/vector_add.cu for add, on nominal.*: compiled$' \
  judge honest/vector_add.cu --device none

ASSAY_FAKE_CUDA=no_device expect 3 '; --device none only compiles, and assay check runs kernels on' \
  judge honest

# An honest one: its problems with the smallest first, and a quick look by verify.
expect 0 '^honest for add, on .*: correct$' judge honest --device 0
grep -q '^  N=1000 BLOCK=' output || fail "the smoke problem is left out"
judge honest --device 0 --json >output 2>errors || fail "judge --json: exit $?"
[[ $(field verdict) == correct && $(field 'problems[2].problem.N') == 4000 ]] || fail "the verdict"
[[ $(field 'problems[0].time_ns') =~ ^[0-9.]+$ && $(field 'problems[0].rank') == 1 ]] || fail "no time"
[[ $(field 'checks[0].result') == passed ]] || fail "not verified"

# The same as Traces of flashinfer-bench: a line for each public problem. A Trace of a pass must have
# figures of both kinds, one of a wrong output none of speed, and others none at all.
echo 'problems: [{N: 3001}]' >hidden.yaml
judge honest --device 0 --trace --hidden hidden.yaml >traces 2>errors || fail "--trace: exit $?"
[[ $(wc -l <traces) == 3 ]] || fail "expected three traces: $(cat traces)"
# trace N PATH: a field of the trace in line N.
trace() { sed -n "$1p" traces >line && sqlite3 :memory: "SELECT json_extract(readfile('line'), '\$.$2')"; }
[[ $(trace 1 definition)/$(trace 1 solution) == add/honest ]] || fail "the names of a trace"
[[ $(trace 3 workload.axes.N)/$(trace 3 workload.inputs.A.type) == 4000/random ]] || fail "a workload"
[[ $(trace 1 evaluation.status) == PASSED ]] || fail "the status of a trace"
[[ $(trace 1 evaluation.performance.latency_ms) =~ ^[0-9.e-]+$ ]] || fail "no latency"
[[ $(trace 1 evaluation.correctness.max_absolute_error) == NaN ]] || fail "an error nobody measured"

# The best of the database takes part under its own name.
cat >s.yaml <<'YAML'
sweep: s
kernels: [vector_add]
problems: [{N: 1000}, {N: 2000}, {N: 4000}]
YAML
"$assay" sweep s.yaml --kernels kernels --db known.db --device 0 >output 2>&1 || fail "sweep: $?"
mkdir renamed
sed 's/kernel: vector_add/kernel: mine/' honest/vector_add.yaml >renamed/mine.yaml
cp honest/vector_add.cu renamed/mine.cu
judge renamed/mine.yaml --device 0 --json >output 2>errors || fail "with a rival: exit $?"
[[ $(field 'problems[0].rivals[0].kernel') == vector_add ]] || fail "the best is left out"
[[ $(field 'problems[0].rivals[0].speedup') =~ ^[0-9.]+$ ]] || fail "no speed-up"

# Wrong ones: the smallest problem, and where the wrong elements are.
expect 1 'correctness/mismatch on N=1000 with BLOCK=.*; wrong is element 500$' \
  judge wrong_value.cu --device 0
# Of an output with rows it once told the place as if the output had none.
mkdir -p rows/ops
sed 's/op: add/op: rows/; s/shape: \[N\]/shape: [N \/ 10, 10]/' kernels/ops/add.yaml >rows/ops/rows.yaml
sed 's/op: add/op: rows/' wrong_value.yaml >rows/wrong_value.yaml
cp wrong_value.cu rows
expect 1 '; wrong is column 0 of row 50$' "$assay" judge rows rows --kernels rows --device 0
expect 1 'correctness/unwritten on N=1000 .*; wrong is element 999$' judge skips_last.cu --device 0
judge wrong_value.cu --device 0 --json >output 2>errors
[[ $? -eq 1 && $(field failure.kind) == mismatch && $(field failure.problem.N) == 1000 ]] ||
  fail "the JSON of a wrong one"

judge wrong_value.cu --device 0 --trace >traces 2>errors
[[ $? -eq 1 && $(trace 1 evaluation.status) == INCORRECT_NUMERICAL ]] || fail "a wrong trace"
[[ -z $(trace 1 evaluation.performance) && -n $(trace 1 evaluation.correctness) ]] ||
  fail "what a wrong trace has"
expect 2 '^assay: --trace: expected a GPU' judge wrong_value.cu --device none --trace

expect 0 ': correct$' judge forgets_tail.cu --device 0
# It is right on multiples of four. Hidden sizes are told to nobody.
expect 1 'correctness/unwritten on hidden problem 1 ' \
  judge forgets_tail.cu --device 0 --hidden hidden.yaml
! grep -q 300 output || fail "the hidden sizes are told"  # an element that lacks is such a size
judge forgets_tail.cu --device 0 --hidden hidden.yaml --json >output 2>errors
[[ $(field failure.hidden) == 1 && -z $(field failure.problem) ]] || fail "the hidden sizes are told"
! grep -q 300 output || fail "the hidden sizes are told"

# A contract with too many configurations on the hidden size alone was told that size.
write_submission . vast '64, 128' vast 'constraints: ["N == 3001 || X + Y + Z == 3"]'
values='{from: 1, to: 300, step: 1}'
sed -i "s/^params: .*/params: {BLOCK: [64], X: $values, Y: $values, Z: $values}/" vast.yaml
expect 1 'contract on hidden problem 1: no more is told of a hidden problem' \
  judge vast.cu --device none --hidden hidden.yaml
! grep -q 3001 output || fail "the hidden sizes are told"

# A mistake in the hidden problems is not the submission's.
echo 'problems: [{M: 1}]' >mistaken.yaml
expect 2 '^assay: mistaken.yaml:1:13: unknown key "M" in a problem' \
  judge honest --device 0 --hidden mistaken.yaml
expect 2 '^assay: cannot read missing.yaml' judge honest --device 0 --hidden missing.yaml

# A submission has no say in its exam.
write_submission . cheat '64, 128' cheat 'tolerance: {relative: 0.9}'
expect 1 'cheat.yaml:7:1: "tolerance" is the op'"'"'s' judge cheat.cu --device 0
write_submission . broken '64, 128'
sed -i 's/+ b\[i\]/+ d[i]/' broken.cu
expect 1 'compile/error on N=1000.*: ' judge broken.cu --device 0
grep -q 'c\[i\] = a\[i\] + d\[i\];' output || fail "the source line is not shown"

# Solutions in JSON.
cat >solution.json <<'JSON'
{"name": "s", "definition": "add",
 "spec": {"language": "cuda", "entry_point": "main.cu::vector_add"},
 "sources": [{"path": "main.cu", "content": "#define BLOCK 256\nextern \"C\" __global__ void vector_add(const float* a, const float* b, float* c, int n) {\n  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) c[i] = a[i] + b[i];\n}\n"}]}
JSON
expect 0 '^solution.json for add, on .*: compiled$' judge solution.json --device none
sed 's/__global__ //' solution.json >host.json
expect 1 'expected a __global__ function vector_add in main.cu; a kernel is code of the device' \
  judge host.json --device none
sed 's/"main.cu", "content"/"..\/main.cu", "content"/' solution.json >outside.json
expect 1 'expected the path of a source in a folder of its own' judge outside.json --device none
sed 's/"cuda"/"triton"/' solution.json >triton.json
expect 1 'expected the language cuda, found triton' judge triton.json --device none

# Several: the exit code is of the worst.
judge honest wrong_value.cu --device 0 >output 2>&1
[[ $? -eq 1 && $(grep -cE ': (correct|wrong)$' output) == 2 ]] || fail "two submissions"
expect 1 '^  contract: absent.cu: expected a contract, .* found no such file$' \
  judge absent.cu --device none
expect 2 'expected the op ad in .*, found none; known are add$' \
  "$assay" judge ad honest --kernels kernels --device none
echo ok
