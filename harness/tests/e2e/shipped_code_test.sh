#!/usr/bin/env bash
# `assay inspect` knows every instruction of every shipped kernel, for the oldest and the newest GPU
# that it is written for, and of newer GPUs what a source makes use of.
# Arguments: the program, the tree.
set -uo pipefail

assay=$1
tree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work" || exit 1

fail() {
  echo "FAILED: $1" >&2
  tail -n 20 output >&2
  exit 1
}

for path in "$tree"/kernels/*.yaml "$tree"/kernels/examples/*.yaml; do
  "$assay" sweep "$path" --kernels "$tree/kernels" --device none --arch 90a --budget-configs 1 \
    --db shipped.db >output 2>&1 || fail "$path does not compile"
done
python3 - "$assay" "$tree" <<'PYTHON' >output 2>&1 || fail 'an instruction without a class'
import itertools, json, pathlib, re, subprocess, sys
assay, tree = sys.argv[1:]
files = [*pathlib.Path(tree, "kernels").glob("*.yaml"), *pathlib.Path(tree, "kernels/examples").glob("*.yaml")]
archs = {path.stem: re.search(r"^arch: *\[(.*)\]", path.read_text(), re.M).group(1) for path in files}
products = looks = 0

def look(target, *more):
    """Its title; nothing where there is no such trial."""
    global products, looks
    run = subprocess.run([assay, "inspect", target, *more, "--json", "--kernels", tree + "/kernels"],
                         capture_output=True, text=True)
    if run.returncode == 2 and "no trial" in run.stderr: return None
    assert run.returncode == 0, (target, more, run.stderr)
    code = json.loads(run.stdout)
    for function in code["functions"]:
        assert function["instructions"] and "other" not in function["instructions"], (target, more)
        products += any(finding["name"] == "products" for finding in function["findings"])
    looks += 1
    return code["title"]

for trial in itertools.count(1):
    title = look(str(trial), "--db", "shipped.db")
    if title is None: break
    kernel, config = title.split(" ", 1)
    if "80" in archs.get(kernel, ""): look(f"{kernel}:{config}", "--arch", "80")
print(looks, "codes,", products, "with products of matrices")
assert looks > 40 and products > 10
PYTHON
cat output

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
"$assay" inspect newer.cu --arch 100a >output 2>&1 || fail "sm_100a: exit $?"
grep -q '^products  *1 tcgen05.mma' output || fail 'the product of sm_100a is not seen'
echo 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2.5f; }' >old.cu
"$assay" inspect old.cu --arch 120 >output 2>&1 || fail "sm_120: exit $?"
grep -q 'PTX for sm_120' output || fail 'another arch was compiled for'
echo "shipped_code: passed"
