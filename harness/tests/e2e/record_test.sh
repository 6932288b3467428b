#!/usr/bin/env bash
# scripts/record.sh on the stand-in GPU: the recording lies where a machine without a GPU looks for
# it. It once named a folder where the program wants a file, and a long sweep ended without one.
# Arguments: the program, the tree, the folder of the stand-in for libcuda.
set -uo pipefail

assay=$1
tree=$2
source "$tree/harness/tests/e2e/stand_in.sh" "$3"

# A tree of its own, in which nothing is to be built.
mkdir scripts sweeps build
cp "$tree/scripts/record.sh" scripts/
printf '#!/bin/sh\n' >scripts/build.sh
chmod +x scripts/build.sh
ln -s "$assay" build/assay
ln -s "$tree/kernels" kernels
cat >sweeps/small.yaml <<YAML
sweep: small
kernels: [vector_add]
problems: [{N: 1000}]
params: {VECTOR: [1], ITEMS: [1]}
YAML

scripts/record.sh sweeps/small.yaml >output 2>&1 || fail "record.sh ends with exit $?"
recording=$(echo results/recorded/*/small.jsonl)
[[ -s $recording ]] || fail "there is no recording in results/recorded"
build/assay sweep sweeps/small.yaml --device "replay:$recording" --db replay.db >output 2>&1 ||
  fail "the recording cannot be replayed: exit $?"
grep -q 'recorded on Fake GPU' output || fail "a replayed time does not say whose it is"

build/assay export --format recording --sweep small --db replay.db --output results >output 2>&1
[[ $? -eq 2 ]] || fail "a folder is taken for a file"
grep -q 'results is a folder' output || fail "the message does not name the folder"
echo ok
