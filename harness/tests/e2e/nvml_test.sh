#!/usr/bin/env bash
# What NVML tells of a GPU reaches its user: neighbours, throttling, energy. On the stand-in GPU.
source "$(dirname "$0")/stand_in.sh"

# On the stand-in, the values of ITEMS take the same time.
write_sweep nvml '{N: 1000}' 'BLOCK: [256], VECTOR: [1], ITEMS: [1, 2]' 'rerank: {rounds: 6}'
sweep() { "$assay" sweep nvml.yaml --kernels "$tree/kernels" --device 0 "$@" >output 2>&1; }

sweep --db a.db || fail "the sweep ends with exit $?"
grep -q 'other processes' output && fail "a neighbour is named that is not there"
ASSAY_FAKE_NVML=shared expect 0 'warning: other processes \(1\) use Fake GPU' sweep --db b.db
ASSAY_FAKE_NVML=shared expect 3 '1 other processes' env -C "$tree" "$assay" doctor

ASSAY_FAKE_NVML=power_cap sweep --db c.db || fail "a power cap ends the sweep with exit $?"
expect 0 'power cap' "$assay" show 1 --db c.db

expect 0 ' 0 now, 2 kept' sweep --db a.db --objective energy
expect 0 'protocol cold, least energy' "$assay" best --db a.db
grep -qE '[0-9] [mun]?J' output || fail "no energy is shown"
stores a.db "SELECT count(*) FROM rank_entry WHERE energy_j > 0" 2
stores a.db "SELECT count(*) FROM rank WHERE objective = 'time'" 1

# A slower configuration may need less energy. It had dropped out of the rounds before its energy
# was measured.
sed -i 's/BLOCK: .256./BLOCK: [64, 256]/; s/ITEMS: .1, 2./ITEMS: [1]/' nvml.yaml
expect 0 '' sweep --db d.db --objective energy
stores d.db "SELECT count(*) FROM rank_entry WHERE energy_j > 0" 2

# A metric of the user's chooses another winner than the time, among the same trials.
expect 0 ' 0 now, 2 kept' sweep --db d.db --objective 'minimize BLOCK / 64 * max(1, registers)'
expect 0 'protocol cold, minimize BLOCK / 64 \* max\(1, registers\), measured here, ' "$assay" best --db d.db
winner() { "$assay" best --db d.db --json | python3 -c "
import json, sys
print(*[one['config']['BLOCK'] for one in json.load(sys.stdin)['best'] if one['objective'] == '$1'])"; }
[[ $(winner 'minimize BLOCK / 64 * max(1, registers)') == 64 ]] || fail "the metric did not choose the winner"
# Several objectives make a Pareto list: on the stand-in the larger block is the faster one.
expect 0 '' sweep --db d.db --objective time --objective 'minimize BLOCK' --objective energy
[[ $(winner 'time; minimize BLOCK; energy') == 256 ]] || fail "the first objective did not choose the winner"
expect 0 'least time and minimize BLOCK and least energy' "$assay" best --db d.db
grep -A5 'Pareto list of N=1000' output | grep -q '0.25x' || fail "the Pareto list lacks the small block"
"$assay" db check --db d.db >output 2>&1 || fail "the verdicts by metrics are not sound"
# The recording of them says as much, and so does a replay.
expect 0 '' "$assay" export --format recording --sweep nvml --db d.db --output d.jsonl
"$assay" best --db d.jsonl --json >recorded.json 2>output || fail "the recording is refused"
expect 0 '' "$assay" sweep nvml.yaml --kernels "$tree/kernels" --device replay:d.jsonl --db e.db \
  --objective 'maximize 1 / BLOCK'
expect 0 'protocol cold, maximize 1 / BLOCK, recorded on' "$assay" best --db e.db
expect 0 '' "$assay" export --format json --objective 'time; minimize BLOCK; energy' --db d.db
[[ $(grep -c '"objective": "time; minimize BLOCK; energy"' output) -eq 1 ]] || fail "the export does not name them"
# Mistakes are shown where they are.
expect 2 '--objective:1:10: unknown name "BLOK"; did you mean "BLOCK"?' \
  sweep --db d.db --objective 'minimize BLOK * time_ns'
grep -q '^  minimize BLOK' output || fail "the mistake is not shown"
echo ok
