#!/usr/bin/env bash
# A reference of the user's own, on the stand-in GPU, which runs the kernel called vector_add: it is
# named in what is shown, its mistakes have a place, and editing it makes trials anew. The arguments
# of launches have a place, too.
source "$(dirname "$0")/contract.sh"

write_adder ref.cu 256
write_contract <<'YAML'
reference:
  - kernel:
      source: ref.cu
      entry: vector_add
      args: [A, B, C, N]
      grid: [cdiv(N, 256)]
      block: [256]
YAML

expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
expect 0 'reference     kernel vector_add of ref.cu' "$assay" show 1 --db x.db
expect 0 '"reference": "kernel vector_add of ref.cu"' "$assay" best --json --db x.db

expect 0 '2 of 2 trials: 0 now, 2 kept' sweep
echo '// edited' >>ref.cu
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep

# Mistakes have a place, also where there is no GPU.
expect_mistake() {  # the edit, the message
  cp vector_add.yaml good.yaml
  cp ref.cu good.cu
  eval "$1"
  for device in 0 none; do
    sweep --device $device
    [[ $? -eq 2 ]] || fail "$1: not exit 2"
    [[ $(<output) == *"$2"* ]] || fail "$1: another message than $2"
  done
  mv good.yaml vector_add.yaml
  mv good.cu ref.cu
}
expect_mistake "sed -i 's/entry: vector_add/entry: add/' vector_add.yaml" \
  'vector_add.yaml:16:14: expected a kernel of ref.cu, found
the contract: error: identifier "add" is undefined'
expect_mistake "sed -i 's/A, B, C, N\]/A, B, C]/' vector_add.yaml" \
  'vector_add.yaml:17:13: expected arguments of 8, 8, 8, 4 bytes, the parameters of vector_add, found 8, 8, 8'
expect_mistake "sed -i 's/c\[i\]/c[j]/' ref.cu" 'vector_add.yaml:15:15: expected a source that compiles'

expect_mistake "sed -i '/value: N/d; s/, N\]$/]/' vector_add.yaml" \
  'vector_add.yaml:7:3: expected arguments of 8, 8, 8, 4 bytes, the parameters of vector_add, found 8, 8, 8'
expect_mistake "sed -i 's/block: .BLOCK./&, args: [A, B, C, {dtype: i64, value: N}]/' vector_add.yaml" \
  'vector_add.yaml:11:59: expected arguments of 8, 8, 8, 4 bytes, the parameters of vector_add, found 8, 8, 8, 8'
# So has an argument that is copied to a __constant__ variable.
symbol='/name: B/a\  - {name: F, dtype: f32, shape: [N], role: in, symbol: filter}'
expect_mistake "sed -i '$symbol' vector_add.yaml" \
  'vector_add.yaml:9:5: expected a __constant__ or __device__ variable of the source, found "filter"'
cp vector_add.yaml good.yaml
sed -i "$symbol" vector_add.yaml
echo '__constant__ float filter[7];' >>vector_add.cu
sweep --device none && fail "a constant that is too small is good enough"
expect 0 'F has 4000 bytes, but' "$assay" show --failures --db x.db
mv good.yaml vector_add.yaml
# Both may be templates, in a namespace or not, whose parameters have the names of the contract's.
sed -i 's/^extern "C" /template <typename T, int N> /; s/float\*/T*/g; s/i < n/i < N/' ref.cu
sed -i 's/entry: vector_add/entry: "vector_add<float, N>"/' vector_add.yaml
sed -i 's/launches: \[{/&entry: "ns::vector_add<T, BLOCK>", /; s/params: {/&T: [float], /' vector_add.yaml
cat >vector_add.cu <<'CUDA'
namespace ns {
template <typename T, int BLOCK>
__global__ void vector_add(const T* a, const T* b, T* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
}  // namespace ns
CUDA
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
sed -i 's/ns::vector_add</ns::add</' vector_add.yaml
sweep --device none && fail "an entry that is not there compiles"
expect 0 'compile/missing_entry' "$assay" show --failures --db x.db
expect 0 'vector_add.cu has the kernel ns::vector_add' "$assay" show --failures --json --db x.db
sed -i 's/ns::add</ns::vector_add</' vector_add.yaml

echo '__device__ int block = BLOCK;' >>vector_add.cu
sweep --device none
expect 0 'BLOCK stands in an entry, so it is no macro' "$assay" show --failures --json --db x.db
sed -i '$d' vector_add.cu

# A macro that is a size: each problem has code of its own, and so has its reference.
cp vector_add.yaml plain.yaml
echo 'compile: {define: {SIZE: N, BLOCKS: "cdiv(N, BLOCK)"}, fmad: "BLOCK > 128", ptxas: ["-dlcm=cg"]}' >>vector_add.yaml
for source in vector_add.cu ref.cu; do cp $source $source.plain; done
echo 'static_assert(BLOCKS == (SIZE + 63) / 64 || BLOCKS == (SIZE + 127) / 128);' >>vector_add.cu
echo 'static_assert(SIZE > 100);' >>ref.cu
expect 0 'correct *2' sweep
for source in vector_add.cu ref.cu; do mv $source.plain $source; done
mv plain.yaml vector_add.yaml

# Both are compiled with the contract's own folders and macros, and editing a header there makes
# trials anew.
mkdir -p library/detail
echo '#include "detail/one.h"' >library/one.h
echo 'static_assert(ONE == 1);' >library/detail/one.h
echo "compile: {include: [./library], define: {ONE: 1}, maxrregcount: 2 * BLOCK - 100}" >>vector_add.yaml
sed -i '1i #include <one.h>' vector_add.cu ref.cu
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
echo '// edited' >>library/detail/one.h
expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
sed -i 's/- 100/+ 0/' vector_add.yaml
expect 2 'expected a limit from 1 to 255, found 256 with' sweep --device none
sed -i '/^compile:/d' vector_add.yaml
sed -i '1d' vector_add.cu ref.cu
rm -r library

# A reference that changes what it reads cannot be believed.
sed -i 's/vector_add(/changes_input(/' ref.cu
sed -i 's/entry: "vector_add</entry: "changes_input</' vector_add.yaml
sweep
expect 0 'runtime/oracle' "$assay" show --failures --db x.db
echo ok
