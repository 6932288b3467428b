#!/usr/bin/env bash
# An installed program finds what was installed with it from whatever folder, and what a sweep found
# is found again from another folder: `inspect 1` looked for the folder `kernels` here and nowhere
# else, and a sweep for contracts in `../kernels` only.
source "$(dirname "$0")/stand_in.sh"

build=$(dirname "$assay")
expect 0 '' cmake -DCMAKE_INSTALL_PREFIX="$work/prefix" -P "$build/cmake_install.cmake"
program=$work/prefix/bin/assay
# The stand-in verifies on fewer elements in less time.
sed -i 's/N: 100003/N: 1003/' prefix/share/assay/kernels/vector_add.yaml
mkdir empty && cd empty || exit 1

# What is installed, by the names that it has in a project.
expect 0 '^gemm_mma ' "$program" list
expect 0 '^moe_wgmma ' "$program" list sweeps/moe_h200.yaml
expect 0 'compiled +[1-9]' "$program" sweep sweeps/gemm.yaml --device none --budget-configs 1 \
  --problem M=1,N=4096,K=4096
expect 0 'instructions' "$program" inspect vector_add:BLOCK=128,VECTOR=1,ITEMS=1
expect '[03]' 'kernels +ok +[0-9]+ in .*/prefix/share/assay/kernels' "$program" doctor
expect 0 '^vector_add$' "$program" completion words -- best --kernel ''

# A sweep of contracts that stand beside it, with one that is installed.
mkdir ../mine && cd ../mine || exit 1
sed 's/^kernel: .*/kernel: my_add/; s/{grid/{entry: vector_add, grid/' \
  ../prefix/share/assay/kernels/vector_add.yaml >my_add.yaml
cp "$tree/kernels/vector_add.cu" my_add.cu
printf 'sweep: mine\nkernels: [my_add]\nproblems: [{N: 1000}]\nparams: {BLOCK: [128], ITEMS: [1]}\n' \
  >mine.yaml
printf 'sweep: theirs\nkernels: [vector_add]\nproblems: [{N: 1000}]\nparams: {BLOCK: [128], ITEMS: [1]}\n' \
  >theirs.yaml
expect 0 'my_add' "$program" list mine.yaml
cd ../empty || exit 1
expect 0 'correct +[1-9]' "$program" sweep ../mine/mine.yaml --db mine.db
expect 0 'correct +[1-9]' "$program" sweep ../mine/theirs.yaml --db theirs.db

# Each question about a trial is answered from a third folder.
mkdir ../third && cd ../third || exit 1
expect 0 'my_add' "$program" inspect 1 --db ../empty/mine.db
! grep -q 'has changed' output || fail "inspect found another kernel"
expect 0 'my_add' "$program" explain 1 --db ../empty/mine.db
! grep -q 'there is no kernel' output || fail "explain found no kernel"
expect 0 'passed' "$program" verify --db ../empty/mine.db --seeds 1 --launches 20
expect 0 'passed' "$program" verify --db ../empty/theirs.db --seeds 1 --launches 20
# What the user says comes first.
expect 2 'there is no kernel my_add in .*empty' "$program" inspect 1 --db ../empty/mine.db --kernels ../empty
# A folder that is gone is asked no more.
mv ../mine ../moved
expect 2 'there is no kernel my_add in .*name its folder with --kernels' "$program" inspect 1 \
  --db ../empty/mine.db
expect 0 'my_add' "$program" inspect 1 --db ../empty/mine.db --kernels ../moved
echo ok
