#!/usr/bin/env bash
# Winners are verified, on the stand-in GPU.
source "$(dirname "$0")/stand_in.sh"

mkdir kernels
cp "$tree"/kernels/vector_add.* kernels
sed -i 's/N: 100003/N: 1003/' kernels/vector_add.yaml
# It is right on sizes that are multiples of four; those of its smoke problem are not.
for part in yaml cu; do
  sed 's/vector_add/forgets_tail/g' kernels/vector_add.$part >kernels/forgets_tail.$part
done
for kernel in vector_add forgets_tail; do
  cat >$kernel.yaml <<YAML
sweep: $kernel
kernels: [$kernel]
problems: [{N: 1000}]
params: {BLOCK: [128, 256], VECTOR: [1], ITEMS: [1]}
measure: {precision: 1%, max_seconds_per_config: 0.1}
rerank: {rounds: 6}
YAML
done
sweep() { "$assay" sweep "$1.yaml" --kernels kernels --db "$1.db" --device 0 >output 2>&1 || fail "sweep $1: exit $?"; }
# verify EXIT DATABASE PATTERN [OPTION...]
verify() { expect "$1" "$3" "$assay" verify --db "$2" --seeds 2 --launches 20 "${@:4}"; }
says() { grep -qE "$1" output || fail "nothing says '$1'"; }

# compute-sanitizer is looked for like NVRTC; this one says what a real one would.
mkdir -p toolkit/bin
cat >toolkit/bin/compute-sanitizer <<'SH'
#!/usr/bin/env bash
[[ $1 == --tool && $3 == --error-exitcode ]] || exit 9
tool=$2 found=$4
shift 6
"$@" || exit
echo "$tool" >>"$TOOLS"
echo '========= COMPUTE-SANITIZER'
[[ $tool == "${BROKEN:-}" ]] && { echo 'cannot attach'; exit 1; }
if [[ $tool == "${FINDS:-}" ]]; then
  echo '========= Invalid __global__ read of size 4 bytes'
  echo '=========     at vector_add+0x90'
  echo '========= ERROR SUMMARY: 1 error'
  exit "$found"
fi
echo '========= ERROR SUMMARY: 0 errors'
SH
chmod +x toolkit/bin/compute-sanitizer
export TOOLS=$work/tools
export CUDA_HOME=$work/toolkit

sweep vector_add
"$assay" best --db vector_add.db >output 2>&1
grep -q verified output && fail "verified without verify"

# A sweep does so in its end, once.
cp vector_add.db full.db
full() { "$assay" sweep vector_add.yaml --kernels kernels --verify full "$@"; }
expect 0 '^  smoke streams +passed +([0-9]+ of )?1000 pairs of launches' full --db full.db --device 0
expect 0 'verified' "$assay" best --db full.db
full --db full.db --device 0 --json >output 2>errors || fail "sweep --verify full --json: exit $?"
[[ $(sqlite3 :memory: "SELECT json_array_length(readfile('output'), '\$.devices[0].verification.winners')") == 0 ]] ||
  fail "what was verified was verified again"
expect 2 'verify full: there is no GPU to verify on' full --db none.db --device none
rm -f none.db tools
verify 0 vector_add.db '^N=1000 vector_add BLOCK=256,VECTOR=1,ITEMS=1$'
says '^  data +passed +2 seeds$'
says '^  launches +passed +20 launches$'
says '^  streams +passed +20 pairs of launches$'
grep -q 'run once more' output && fail "nothing failed, and a sweep is asked for"
says '^  smoke data +passed +2 seeds$'
says '^  synccheck +passed'
[[ $(tr '\n' ' ' <tools) == 'memcheck racecheck initcheck synccheck ' ]] || fail "not all tools ran"
expect 0 'verified' "$assay" best --db vector_add.db
says "$(date -u +%Y-%m-%d)  "
"$assay" export --format json --db vector_add.db >output || fail "export: exit $?"
[[ $(field 'tables[0].entries[0].verified.passed') == 1 ]] ||
  fail "the export does not say that the winner was verified"

# What the tools of compute-sanitizer say, and where they cannot say anything.
FINDS=memcheck BROKEN=initcheck verify 1 vector_add.db \
  '^  memcheck +failed +Invalid __global__ read of size 4 bytes at vector_add[+]0x90$'
check="assay check 'vector_add:BLOCK=256,VECTOR=1,ITEMS=1' --kernels '$work/kernels'"
says "^to look for the same on the emulator, which names lines of the source: $check$"
says '^  racecheck +passed'
says '^  initcheck +skipped +compute-sanitizer cannot work here: exit code 1: cannot attach'
expect 0 '1 of 60 .*: all correct' bash -c "${check/#assay/$assay}"
ls cache/assay | grep -q launch- && fail "the request for a launch is left"
expect 0 'no: memcheck' "$assay" best --db vector_add.db
if [[ ! -x /usr/local/cuda/bin/compute-sanitizer ]] && ! command -v compute-sanitizer >/dev/null; then
  CUDA_HOME='' verify 0 vector_add.db '^  memcheck +skipped +there is no compute-sanitizer'
  expect 0 ', 8 of 12 checks' "$assay" best --db vector_add.db
fi
verify 0 vector_add.db ''

# A winner that cannot run on its kernel's smoke problem is checked on one that is a little larger.
# Once, seven of its ten checks were skipped.
cp kernels/vector_add.cu kernels/needs_many.cu
sed -e 's/vector_add/needs_many/' -e 's/{grid/{entry: vector_add, grid/' \
  -e 's/^args:/constraints: [N >= 2000]\n&/' kernels/vector_add.yaml >kernels/needs_many.yaml
sed 's/vector_add/needs_many/g; s/N: 1000/N: 4000/' vector_add.yaml >needs_many.yaml
sweep needs_many
verify 0 needs_many.db '^  data +passed +2 seeds$'
says '^  smoke data +passed +2 seeds; on N=2006$'
says '^  racecheck +passed +on N=2006$'
FINDS=memcheck verify 1 needs_many.db '^  memcheck +failed +Invalid .*; on N=2006$'
sed -i 's/N >= 2000/N >= 3000/; s/N: 1003/N: 1500/' kernels/needs_many.yaml
verify 0 needs_many.db '^  smoke data +passed +2 seeds; on N=3000$'
sed -i 's/N >= 3000/N > 3000/' kernels/needs_many.yaml
verify 0 needs_many.db '^  smoke data +skipped +N=1500 breaks N > 3000$'
says '^  synccheck +skipped +N=1500 breaks N > 3000$'

# What a sweep on even sizes does not see.
sweep forgets_tail
verify 1 forgets_tail.db '^  data +passed'
says '^  smoke data +failed +correctness/unwritten: '
says 'what failed does not win again; the same sweep, run once more, ranks the others'
expect 0 'no: smoke data' "$assay" best --db forgets_tail.db
expect 0 '' "$assay" export --format recording --sweep forgets_tail --db forgets_tail.db \
  --output forgets.jsonl
expect 0 'no: smoke data' "$assay" best --db forgets.jsonl
# A table whose reader launches what it finds there has no winner that is known to be wrong.
for format in header wisdom; do
  "$assay" export --format $format --db forgets_tail.db >output 2>&1 && fail "$format: exit 0"
  says 'warning: .* forgets_tail .* is left out: it fails its verification, smoke data: '
  says '^no re-ranked winner'
done
expect 0 ',failed' "$assay" export --format csv --db forgets_tail.db

# Nor can it win again: the next best takes its place, until that has failed, too.
winner() { "$assay" best --json --db again.db | sed -nE 's/.*"BLOCK": ([0-9]+).*/BLOCK=\1/p' | head -1; }
cp forgets_tail.db again.db
first=$(winner)
again() { "$assay" sweep forgets_tail.yaml --kernels kernels --db again.db --device 0; }
expect 0 "warning: N=1000 forgets_tail $first,.* cannot win: it failed its verification, smoke data" \
  again
second=$(winner)
[[ -n $second && $second != "$first" ]] || fail "what failed its verification won again: $second"
verify 1 again.db ''
expect 0 "warning: N=1000 forgets_tail $second,.* cannot win" again
expect 0 'no: smoke data' "$assay" best --db again.db

# A verification that passes takes its place, and one that faults does not end the others.
sed -i 's/N: 1003/N: 1004/' kernels/forgets_tail.yaml
verify 0 forgets_tail.db ''
expect 0 '' "$assay" best --db forgets_tail.db
grep -q 'no:' output && fail "an old verification stayed"
document() { "$assay" verify --db vector_add.db --seeds 2 --launches 20 --json >output 2>errors; }
ASSAY_FAKE_CUDA=illegal_address@30 document
[[ $? -eq 1 && $(field 'winners[0].verified.checks[2].result') == failed ]] ||
  fail "a fault is no failure"
says '"passed": false'
says 'ILLEGAL_ADDRESS'

# A verdict is of all kernels that competed. Once `--kernel` found none where several did.
sed 's/^sweep: .*/sweep: both/; s/^kernels: .*/kernels: [vector_add, forgets_tail]/' vector_add.yaml \
  >both.yaml
sweep both
"$assay" best --json --db both.db >output || fail "best of two kernels: exit $?"
winner=$(field 'best[0].kernel')
for kernel in vector_add forgets_tail; do
  "$assay" verify --db both.db --seeds 2 --launches 20 --kernel $kernel >output 2>&1
  if [[ $kernel == "$winner" ]]; then
    says "^N=1000 $kernel BLOCK"
  else
    says "no winner of kernel $kernel in both.db"
  fi
done

# What cannot be verified, and why.
verify 2 none.db 'there is no database none.db'
verify 1 vector_add.db 'no winner of problem N=7 in vector_add.db' --problem N=7
verify 2 forgets.jsonl 'expected the name of a database'
verify 2 vector_add.db 'kernels: .*not exist: elsewhere' --kernels elsewhere
mkdir elsewhere
verify 1 vector_add.db 'there is no kernel vector_add in elsewhere' --kernels elsewhere
cp vector_add.db other.db
sqlite3 other.db "UPDATE device SET uuid = 'GPU-other'"
verify 1 other.db 'it won on another device: .* GPU-other'
"$assay" import forgets.jsonl --db imported.db >output 2>&1 || fail "import: exit $?"
# Winners that were recorded elsewhere are verified on a GPU of the same model, and on no other.
verify 0 imported.db '^  smoke data +passed +2 seeds$'
expect 0 'verified' "$assay" best --db imported.db
sqlite3 imported.db "UPDATE device SET name = 'NVIDIA Other'"
verify 1 imported.db 'it won on another device: NVIDIA Other'
echo '// edited' >>kernels/vector_add.cu
verify 1 vector_add.db 'vector_add.yaml has changed since; sweep it again'
document
[[ $? -eq 1 && $(field 'skipped[0].kernel') == vector_add ]] ||
  fail "the JSON does not name the winner that was skipped"
echo ok
