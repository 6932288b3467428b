#!/usr/bin/env bash
# Launches that prepare, on the stand-in GPU, which runs the kernels called vector_add.
source "$(dirname "$0")/contract.sh"

# C = (A + Z) + B, where A + Z is prepared.
write_contract <<'YAML'
let: {blocks: cdiv(N, BLOCK)}
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in}
  - {name: Z, dtype: f32, shape: [N], role: in, fill: zeros}
  - {name: P, dtype: f32, shape: [N], role: prepared}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: n, dtype: i32, value: N}
prepare: [{grid: [blocks], block: [BLOCK], args: [A, Z, P, n]}]
launches: [{grid: [blocks], block: [BLOCK], args: [P, B, C, n]}]
YAML

expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
"$assay" show 1 --db x.db >output
grep -Eq 'prepared +3.9 KiB in .*, ahead of what is timed' output || fail "show names no preparation"
expect 0 '"bytes": 4000' "$assay" show 1 --json --db x.db
expect 0 '3.9 KiB in ' "$assay" best --db x.db
expect 0 '"bytes": 4000' "$assay" best --json --db x.db
"$assay" export --format csv --db x.db >output
tail -1 output | grep -q ',4000' || fail "the table has no bytes"

expect 0 '2 of 2 trials: 0 now, 2 kept' sweep
sed -i '/^prepare/s/\[A, Z, P/[Z, A, P/' vector_add.yaml
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
"$assay" sweep vector_add.yaml --db none.db --device none >output 2>&1 || fail "--device none"
echo ok
