#!/usr/bin/env bash
# `assay inspect` knows every instruction of every shipped kernel, for the oldest and the newest GPU
# that it is written for, and of newer GPUs what a source makes use of. Where the toolkit has
# nvdisasm, of the machine code, too, and where it has cuobjdump, as that prints it.
source "$(dirname "$0")/work_folder.sh"

# A configuration of each: here without its source, which is compiled below, and without the
# baselines of examples, some of which CUB makes long to compile.
cp -r "$tree/kernels" empty
for path in empty/examples/*.yaml; do
  awk '/^[a-z]/ {in_baseline = /^baseline:/} !in_baseline' "$path" >kept && mv kept "$path"
done
for path in empty/*.yaml empty/examples/*.yaml; do
  echo '#error' >"${path%.yaml}.cu"
  "$assay" sweep "$path" --kernels empty --device none --arch 90a --budget-configs 1 \
    --db shipped.db >output 2>&1
  grep -q 'compile/error' output || fail "$path has no configuration"
done
cat >small.cu <<'CU'
extern "C" __global__ void k(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += 32) x[i] = x[i] * 2.5f;
}
CU
has_sass=no
if "$assay" inspect small.cu --sass >output 2>&1; then
  has_sass=yes
else
  [ $? -eq 3 ] && grep -q 'there is no nvdisasm' output || fail 'machine code'
  echo 'nvdisasm is not here: the machine code is not looked at'
fi
python3 - "$assay" "$tree" "$has_sass" <<'PYTHON' >output 2>&1 || fail 'what inspect says of a kernel'
import itertools, json, pathlib, re, subprocess, sys
assay, tree, has_sass = sys.argv[1:]
files = [*pathlib.Path(tree, "kernels").glob("*.yaml"), *pathlib.Path(tree, "kernels/examples").glob("*.yaml")]
def arch_of(path):
    text = path.read_text()
    own = re.search(r"^arch: *\[(.*)\]", text, re.M)
    return own[1] if own else arch_of(path.with_stem(re.search(r"^like: *(\w+)", text, re.M)[1]))
archs = {path.stem: arch_of(path) for path in files}
# Newer GPUs take long to compile for, so that where only PTX can be read one kernel stands for all.
newer = ["100", "120"] if has_sass == "yes" else []
unseen = set(archs)
products = looks = machine_codes = most_alive = 0
wrong = []

def look(target, *more):
    """Its title; nothing where there is no such trial."""
    global products, looks, machine_codes, most_alive
    run = subprocess.run([assay, "inspect", target, *more, "--json", "--kernels", tree + "/kernels"],
                         capture_output=True, text=True)
    if run.returncode == 2 and "no trial" in run.stderr: return None
    assert run.returncode == 0, (target, more, run.stderr)
    code = json.loads(run.stdout)
    is_sass = code["set"] == "sass"
    fits = all(launch["occupancy"]["blocks_per_sm"] > 0 for launch in code["launches"])
    if "--db" in more and not fits: wrong.append((code["title"], "does not fit an SM"))
    for function in code["functions"]:
        of = (code["title"], function["name"], *more)
        if function["unknown_instructions"]: wrong.append((*of, function["unknown_instructions"]))
        if not function["instructions"]: wrong.append((*of, "no instructions"))
        products += any(finding["name"] == "products" for finding in function["findings"])
        if is_sass and "main_loop" in function:
            alive = function.get("live_registers", 0)
            most_alive = max(most_alive, alive)
            if not 0 < alive <= 255: wrong.append((*of, "registers alive", alive))
    if is_sass: machine_codes += 1
    else: looks += 1
    if has_sass == "yes" and not is_sass: look(target, *more, "--sass")
    return code["title"]

for trial in itertools.count(1):
    title = look(str(trial), "--db", "shipped.db")
    if title is None: break
    kernel, config = title.split(" ", 1)
    unseen.discard(kernel)
    # Of PTX for older GPUs a twin in f16 has what it has for newer ones.
    if "80" in archs.get(kernel, "") and (has_sass == "yes" or not kernel.endswith("_f16")):
        for arch in ["80", *newer, *(["100", "120"] if kernel == "moe_mma" and not newer else [])]:
            look(f"{kernel}:{config}", "--arch", arch)
for line in wrong: print(*line)
print(looks, "codes in PTX and", machine_codes, "in SASS,", products, "with products of matrices")
if machine_codes: print("of SASS at most", most_alive, "registers are alive in a main loop")
assert not wrong and not unseen, unseen
assert looks > 40 and products > 10 and machine_codes in (0, looks)
assert machine_codes == 0 or most_alive > 50
PYTHON
cat output

# What cuobjdump prints is read as what nvdisasm prints, but for the names of its labels.
cuobjdump=$(command -v "${CUDA_HOME:-/usr/local/cuda}/bin/cuobjdump" cuobjdump | head -1)
if [ $has_sass = yes ] && [ -n "$cuobjdump" ]; then
  mkdir -p toolkit/bin
  printf '#!/bin/sh\nfor cubin; do :; done\ncp "$cubin" "%s/kept.cubin"\nexec "%s" "$@"\n' "$work" \
    "$(command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvdisasm" nvdisasm | head -1)" \
    >toolkit/bin/nvdisasm
  chmod +x toolkit/bin/nvdisasm
  for trial in 1 5 9 13 17 21 25; do
    CUDA_HOME=$work/toolkit "$assay" inspect $trial --sass --json --db shipped.db \
      --kernels "$tree/kernels" >disassembled.json 2>output || fail "trial $trial: exit $?"
    "$cuobjdump" -sass kept.cubin >kept.sass 2>output || fail "cuobjdump of trial $trial"
    "$assay" inspect kept.sass --json >dumped.json 2>output || fail "what cuobjdump prints: exit $?"
    python3 - <<'PYTHON' >output 2>&1 || fail "trial $trial: cuobjdump and nvdisasm differ"
import json
one, other = json.load(open("disassembled.json")), json.load(open("dumped.json"))
counts = [sorted((f["name"], sorted(f["instructions"].items()), len(f["loops"])) for f in code["functions"])
          for code in (one, other)]
assert counts[0] == counts[1], counts
assert one["target"] == other["target"], (one["target"], other["target"])
PYTHON
  done
  echo 'cuobjdump: read as nvdisasm'
fi

cat >newer.cu <<'CU'
extern "C" __global__ void k(unsigned* p, unsigned* out) {
  __shared__ unsigned at;
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(
      (unsigned)__cvta_generic_to_shared(&at)));
  asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, 5, p; }" ::"r"(at),
               "l"((unsigned long long)p), "l"((unsigned long long)out));
  unsigned value;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(value) : "r"(at));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  out[threadIdx.x] = value;
}
CU
expect 0 '^products  *1 tcgen05.mma' "$assay" inspect newer.cu --arch 100a
echo 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2.5f; }' >old.cu
expect 0 'PTX for sm_120' "$assay" inspect old.cu --arch 120
echo "shipped_code: passed"
