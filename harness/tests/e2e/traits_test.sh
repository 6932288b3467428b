#!/usr/bin/env bash
# Numbers of a problem that are no sizes, on the stand-in GPU: in tables, filters, exports,
# recordings and their replay.
source "$(dirname "$0")/stand_in.sh"

mkdir kernels sweeps
cp "$tree/kernels/vector_add.cu" kernels
sed 's/^dims:.*/&\ntraits: {scale: 1, shift: 0.5}/
     s/fill: normal/fill: {name: normal, std: scale + shift}/
     s/BLOCK: .*/BLOCK: [64, 128]/; s/VECTOR: .*/VECTOR: [1]/; s/ITEMS: .*/ITEMS: [1]/
     s/^smoke.*/smoke: {N: 1000}/' "$tree/kernels/vector_add.yaml" >kernels/vector_add.yaml
cat >sweeps/t.yaml <<'YAML'
sweep: t
kernels: [vector_add]
problems:
  - {N: 1000, scale: [0.05, 1e-3], shift: 0}
  - {N: 1000}
YAML
sweep() { "$assay" sweep "$1" --db x.db "${@:2}" >output 2>&1; }

expect 0 '6 of 6 trials: 6 now, 0 kept' sweep sweeps/t.yaml
expect 0 '6 of 6 trials: 0 now, 6 kept' sweep sweeps/t.yaml
expect 0 '2 of 2 trials: 0 now, 2 kept' sweep kernels/vector_add.yaml
sed -i 's/shift: 0.5/shift: 0.75/' kernels/vector_add.yaml
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep kernels/vector_add.yaml
sed -i 's/shift: 0.75/shift: 0.5/' kernels/vector_add.yaml

expect 0 '' "$assay" best --sweep t --db x.db
for problem in scale=0.05,shift=0 scale=0.001,shift=0 scale=1,shift=0.5; do
  grep -q "N=1000,$problem " output || fail "best: no $problem"
done
"$assay" best --sweep t --db x.db --problem scale=0.050 >output 2>&1
[[ $(grep -c 'N=1000' output) -eq 1 ]] || fail "a filter by a trait"
expect 0 '"scale": 0.05,' "$assay" best --sweep t --db x.db --json
expect 0 'scale=0.001,shift=0' "$assay" export --sweep t --format csv --db x.db
"$assay" export --sweep t --format header --db x.db --output t.h >output 2>&1
grep -q 'double scale = 0;' t.h || fail "export --format header: no type"
grep -qF '{/*N=*/1000, /*scale=*/0.001, /*shift=*/0}' t.h || fail "export --format header: no entry"
echo '#include "t.h"' >t.cpp
! command -v c++ >check || c++ -std=c++17 -fsyntax-only -Wall -Wextra -Werror t.cpp >output 2>&1 ||
  fail "the header does not compile"
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep sweeps/t.yaml --problem N=1000,scale=2.5,shift=0
expect 2 '--problem: N=0.5 is no integer of at least 1' \
  sweep sweeps/t.yaml --problem N=0.5,scale=2.5,shift=0

expect 0 '' "$assay" export --sweep t --format recording --db x.db --output t.jsonl
grep -q '"scale":0.001' t.jsonl || fail "a recording without the trait"
expect 0 '' "$assay" import t.jsonl --db y.db
expect 0 "6 of 6 trials: 6 now" "$assay" sweep sweeps/t.yaml --device replay:t.jsonl --db z.db
expect 0 'N=1000,scale=0.001,shift=0' "$assay" best --db y.db --problem scale=0.001
echo ok
