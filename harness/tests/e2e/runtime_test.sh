#!/usr/bin/env bash
# From a sweep to launches in a program of the user's own, on the stand-in GPU: the pack, what lists
# it, the installed library with its examples, threads that share a pack, and Python.
source "$(dirname "$0")/contract.sh"

build=$(dirname "$assay")
write_contract </dev/null
sweep || fail "the sweep"

# The pack.
expect 2 '--format pack needs --output' "$assay" export --format pack --db x.db
expect 0 'x.pack: 1 problems, 1 pieces of machine code' \
  "$assay" export --format pack --db x.db --output x.pack
expect 0 'add_f32 +Fake GPU +protocol cold' "$assay" list x.pack
grep -Eq 'vector_add +add_f32 +not stated' output || fail "list names no kernel"
grep -Eq 'sm_90a +1' output || fail "list names no machine code"
expect 0 '"contract_hash"' "$assay" list x.pack --json
expect 0 '2 pieces' "$assay" export --format pack --db x.db --arch 80 --arch 90a --output two.pack
head -c 1000 x.pack >cut.pack
expect 2 'cut.pack: the pack is damaged' "$assay" list cut.pack
cp x.db changed.db
echo '// changed' >>vector_add.cu
expect 2 'no winner is left' "$assay" export --format pack --db changed.db --output none.pack
expect 2 'vector_add are left out: its source has changed' \
  "$assay" export --format pack --db changed.db --output none.pack

# What is installed, wherever the folder is moved to.
expect 0 '' cmake -DCMAKE_INSTALL_PREFIX="$work/first" -P "$build/cmake_install.cmake"
mv first prefix
if [[ ! -e prefix/lib/libassay.so ]]; then
  echo "skipped: libassay is not built"
  exit 0
fi
nm -D --defined-only prefix/lib/libassay.so | grep -v ' assay_\| ASSAY_0$' >output &&
  fail "the shared library shows other symbols"
nm -g --defined-only prefix/lib/libassay.a 2>/dev/null | grep ' [A-Z] ' | grep -v ' assay_' >output &&
  fail "the static library shows other symbols"
strip -o stripped.so prefix/lib/libassay.so
[[ $(stat -c %s stripped.so) -lt 1000000 ]] || fail "the library has 1 MB or more"
expect 0 '' cmake -S "$tree/examples/runtime" -B examples -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror'
cmake --build examples >output 2>&1 || fail "the examples"
expect 0 'vector_add BLOCK=[0-9]+,VECTOR=1,ITEMS=1, tuned for N=1000 on Fake GPU; factor 1\.' \
  examples/launch_c x.pack add_f32 N=1000
grep -q '^launched' output || fail "launch_c launched nothing"
expect 0 'factor 2\. the nearest problem that fits is N=1000' examples/launch_c x.pack add_f32 N=500
expect 1 'ASSAY_INVALID_ARGUMENT: add_f32 needs the sizes N' examples/launch_c x.pack add_f32
expect 0 'op add_f32' examples/launch_cpp x.pack
expect 1 'ASSAY_BAD_PACK: cut.pack: the pack is damaged' examples/launch_cpp cut.pack
# What a program used, as a sweep.
for n in 1000 700 700; do
  ASSAY_LOG_SIZES=sizes.txt examples/launch_c x.pack add_f32 N=$n >output || fail "with a log"
done
expect 0 '4 of 4 trials' "$assay" sweep vector_add.yaml --sizes sizes.txt --db sizes.db
expect 0 'N=700' "$assay" best --db sizes.db
expect 0 'add_f32 on Fake GPU, protocol cold: 1 configurations for 2 problems' \
  "$assay" cover --db sizes.db --slow-down 90% --output cover.pack
grep -q 'cover.pack: 2 problems, 1 pieces of machine code' output || fail "cover wrote no pack"
expect 0 'factor 1\.' examples/launch_c cover.pack add_f32 N=700
expect 0 'cover.pack of add_f32 on .*: slower than the fastest of 2 problems by .*; 0 problems were not' \
  "$assay" cover --db sizes.db --pack cover.pack
expect 1 'no re-ranked winner of protocol hot' "$assay" cover --db sizes.db --protocol hot
expect 2 "^assay: --slow-down '3x': expected more than 0" "$assay" cover --db sizes.db --slow-down 3x
echo 'add_f32 M=1' >>sizes.txt
expect 2 'sizes.txt:4: expected N=1000' "$assay" sweep vector_add.yaml --sizes sizes.txt --db y.db
expect 2 '--sizes x.yaml: no line is of add_f32' bash -c \
  "echo 'sub_f32 N=1' >x.yaml; '$assay' sweep vector_add.yaml --sizes x.yaml --db y.db"
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
  gcc "$tree/examples/runtime/launch.c" -o by_pkg_config $(pkg-config --cflags --libs assay) -ldl \
    >output 2>&1 || fail "pkg-config"
fi

# Threads that share a pack. A test of an hour: build/runtime_threads x.pack 3600
if [[ -x $build/runtime_threads ]]; then
  expect 0 '[1-9][0-9]* launches' "$build/runtime_threads" x.pack 2
fi

# Python, without a compiler. The stand-in's memory is the host's.
python3 -m pip --version >/dev/null 2>&1 || { echo "skipped: no pip"; exit 0; }
cp -r "$tree/python" python
python3 -m pip install --quiet --no-index --no-deps --target site \
  ./python >output 2>&1 || fail "pip install"
export ASSAY_LIBRARY=$work/prefix/lib/libassay.so PYTHONPATH=$work/site
cat >use.py <<'PYTHON'
import ctypes, math
import assay

class Tensor:
    """1000 numbers where the driver would put them."""
    def __init__(self, value, strides=None):
        self.memory = (ctypes.c_float * 1256)(*[value] * 1256)
        begin = ctypes.addressof(self.memory)
        self.offset = -begin % 256 // 4
        self.__cuda_array_interface__ = {
            "shape": (1000,), "typestr": "<f4", "strides": strides, "version": 3,
            "data": (begin + 4 * self.offset, False)}
    def __getitem__(self, i):
        return self.memory[self.offset + i]

pack = assay.Pack("x.pack")
assert pack.ops == ["add_f32"]
plan = pack.plan("add_f32", N=1000)
assert plan.how()["match"] == "exact", plan.how()
assert [each["name"] for each in plan.arguments] == ["A", "B", "C"]
a, b, c = Tensor(1), Tensor(2), Tensor(0)
try:
    plan.launch(a, b, c)
    assert False
except assay.CallError as error:
    assert error.status == "ASSAY_NOT_PREPARED"
plan.prepare()
plan.launch(a, b, c, stream=None)
assert c[0] == 3 and c[999] == 3, c[0]
for wrong, text in ((Tensor(0, (8,)), "not dense"),):
    try:
        plan.launch(a, b, wrong)
        assert False
    except ValueError as error:
        assert text in str(error), error
try:
    pack.plan("add_f32", N=1000, M=2)
    assert False
except assay.CallError as error:
    assert "no size and no trait M" in str(error)
del pack
plan.launch(a, b, c)
print("python", assay.version())
PYTHON
expect 0 '^python 0\.1' python3 use.py
# What was thrown within std::call_once aborted a program without a driver: the library brings its
# own unwinder, and the frames of pthread_once are of another.
mkdir no_driver
echo 'no library' >no_driver/libcuda.so.1
cat >no_driver.py <<'PYTHON'
import assay

for _ in range(2):
    try:
        assay.Pack("x.pack").plan("add_f32", N=1000)
        assert False
    except assay.CallError as error:
        assert error.status == "ASSAY_NO_DRIVER", error
print("no driver")
PYTHON
expect 0 '^no driver' env LD_LIBRARY_PATH="$PWD/no_driver" python3 no_driver.py

# A wheel with the library, the headers and the program, in an environment that has nothing else.
unset ASSAY_LIBRARY PYTHONPATH
expect 1 'none: expected what `cmake --install` made' python3 python/backend.py none .
expect 0 '^assay-0.1.0-py3-none-linux' python3 python/backend.py prefix .
wheel=(assay-*.whl)
python3 -m venv --without-pip fresh >output 2>&1 || { echo "skipped: no venv"; exit 0; }
python3 -m pip --python fresh/bin/python install --quiet --no-index --no-deps "${wheel[0]}" \
  >output 2>&1 || fail "pip install of the wheel"
rm -r prefix
expect 0 '^python 0\.1' fresh/bin/python use.py
[[ -e fresh/include/assay/assay.h ]] || fail "the wheel has no header"
expect 0 'vector_add' fresh/bin/assay list x.pack
echo ok
