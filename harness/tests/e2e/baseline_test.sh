#!/usr/bin/env bash
# Baselines of several steps on the stand-in GPU, which runs vector_add: the fastest that is right
# counts, a wrong one is named, and a verdict is of what they are.
source "$(dirname "$0")/contract.sh"

write_adder old.cu SIZE
write_contract <<'YAML'
baseline:
  - old: [{kernel: {source: old.cu, entry: vector_add, args: [A, B, C, N], grid: [cdiv(N, 256)],
                    block: [256], define: {SIZE: 256}}}]
  - chain: [{add: {a: A, b: B, out: X}}, {relu: {x: X, out: C}}]
  - wrong: [{mul: {a: A, b: B, out: C}}]
YAML
sed -i 's/role: in}/role: in, fill: {name: uniform, low: 0, high: 1}}/' vector_add.yaml  # for relu

expect 0 'N=1000: the baseline wrong does not count: C\[0\] is' sweep
stores x.db "SELECT group_concat(name, ' ') FROM (SELECT name FROM baseline ORDER BY name)" \
  'chain chain_graph old'
stores x.db "SELECT group_concat(config, ' ') FROM (SELECT config FROM rank_entry WHERE kernel = ''
  ORDER BY config)" 'chain chain_graph old'
expect 0 '"name": "chain_graph"' "$assay" best --db x.db --json
grep -qE '"detail": "add [0-9.]+ us, relu [0-9.]+ us"' output || fail "its parts are not shown"
expect 0 'vs chain_graph' "$assay" best --db x.db

# A stored verdict is of these baselines.
sweep || fail "again: exit $?"
stores x.db 'SELECT count(*) FROM rank' 1
echo '// edited' >>old.cu
expect 0 '2 of 2 trials: 0 now, 2 kept' sweep
stores x.db 'SELECT count(*) FROM rank' 2
sed -i 's/block: \[256\]/block: [128]/; s/cdiv(N, 256)/cdiv(N, 128)/' vector_add.yaml
sweep || fail "with another configuration: exit $?"
stores x.db 'SELECT count(*) FROM rank' 3
stores x.db "SELECT count(*) FROM baseline WHERE name = 'old'" 3

# Mistakes have a place, also where there is no GPU.
sed -i 's/\bentry: vector_add/entry: add/' vector_add.yaml
for device in 0 none; do
  expect 2 'vector_add.yaml:15:44: expected a kernel of old.cu, found' sweep --device $device
done
echo ok
