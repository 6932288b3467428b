# Sourced by the tests of what a contract may say, instead of stand_in.sh: they share one contract.
source "$(dirname "${BASH_SOURCE[0]}")/stand_in.sh"

# write_contract: the contract of the shipped vector_add.cu, whose sections those of standard input
# take the place of, or come before the last of.
write_contract() {
  cp "$tree/kernels/vector_add.cu" .
  cat >base.yaml <<'YAML'
kernel: vector_add
op: add_f32
arch: [80]
dims: [N]
params: {BLOCK: [64, 128], VECTOR: [1], ITEMS: [1]}
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
launches: [{grid: [cdiv(N, BLOCK)], block: [BLOCK]}]
work: {flops: N, bytes: 12 * N}
reference: [{add: {a: A, b: B, out: C}}]
smoke: {N: 1000}
YAML
  awk '
    /^[a-z]/ { if (!($1 in text)) keys[++n] = $1; key = $1; text[key] = "" }
    { text[key] = text[key] $0 "\n" }
    END {
      for (i = 1; i <= n; ++i) if (keys[i] != "smoke:") printf "%s", text[keys[i]]
      printf "%s", text["smoke:"]
    }' base.yaml - >vector_add.yaml
  rm base.yaml
}

sweep() { "$assay" sweep vector_add.yaml --db x.db "$@" >output 2>&1; }
