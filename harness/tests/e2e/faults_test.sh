#!/usr/bin/env bash
# Faults of the machine are tried again, and several GPUs are swept together or not at all. On the
# stand-in GPU.
source "$(dirname "$0")/stand_in.sh"

write_sweep faults '{N: 1000}' 'BLOCK: [128, 256, 512], VECTOR: [1], ITEMS: [1]' \
  'rerank: {rounds: 6}'
sweep() { "$assay" sweep faults.yaml --kernels "$tree/kernels" "$@" >output 2>&1; }

# A full memory is the machine's: said, and tried again by the same command.
ASSAY_FAKE_CUDA=out_of_memory,block=256 expect 0 'runtime/out_of_memory *1' sweep --device 0 --db full.db
grep -q '1 failed because the machine did' output || fail "the summary does not say so"
expect 0 ' 1 now, 2 kept' sweep --device 0 --db full.db

# A crash is the configuration's, and tried again only when asked for.
ASSAY_FAKE_CUDA=crash,block=256 sweep --device 0 --db crash.db || fail "a crash: exit $?"
expect 0 ' 0 now, 3 kept' sweep --device 0 --db crash.db
expect 0 ' 1 now, 2 kept' sweep --device 0 --db crash.db --retry-failed
grep -q 'correct *3' output || fail "--retry-failed does not store what it found"

# A few launches of the fastest are wrong, in the rounds of the re-rank. Where its A/A duplicate was
# the one to see them, the fastest won all the same. Each time it is the one by half. On a busy
# machine fewer samples are checked, and once none of ten wrong launches was.
sed 's/rounds: 6/rounds: 30/' faults.yaml >long.yaml
for launches in 50-79 60-89 70-99 80-109; do
  ASSAY_FAKE_CUDA=wrong=$launches,block=512 expect 0 'BLOCK=512.* was dropped by the re-rank' \
    "$assay" sweep long.yaml --kernels "$tree/kernels" --device 0 --db "wrong$launches.db"
  grep -q 'correctness/mismatch *1' output || fail "launches $launches: the summary calls it correct"
  "$assay" best --db "wrong$launches.db" --json >output || fail "best: exit $?"
  [ "$(field 'best[0].config.BLOCK')" = 256 ] || fail "launches $launches: a wrong kernel wins"
done

# Several GPUs: one JSON document, and none is swept where one of them is not there.
export ASSAY_FAKE_CUDA=gpus=2
sed -i 's/N: 1000/N: [1000, 2000, 3000]/' faults.yaml
for device in all 0,1; do
  sweep --device $device --db gpus.db --json || fail "--device $device: exit $?"
  [[ $(field 'error') == '' && $(field 'devices[2]') == '' ]] ||
    fail "--device $device --json is no document of two"
  (( $(field 'devices[0].num_trials') + $(field 'devices[1].num_trials') == 9 )) ||
    fail "--device $device: two GPUs do not share the problems"
done
# Both times each problem stayed on its GPU.
stores gpus.db 'SELECT count(*) FROM trial' 9
# Each GPU's trials are a recording of their own, and the first says how the other is written. It
# once said nothing, and half of the sweep was not in the file.
expect 0 '' "$assay" export --format recording --sweep faults --db gpus.db --output 0.jsonl
other=$(grep -o 'export again with --device [^ ]*' output) || fail "the other GPU's half is not named"
"$assay" export --format recording --sweep faults --db gpus.db --device "${other##* }" \
  --output 1.jsonl >output 2>&1 || fail "export of the other GPU: exit $?"
for i in 0 1; do "$assay" import $i.jsonl --db both.db >output || fail "import $i: exit $?"; done
stores both.db 'SELECT count(*) FROM trial' 9
# Files of other tuners name GPUs that tell no UUID: these were taken for one.
sed '1s/"uuid":"[^"]*"/"uuid":""/' 0.jsonl >unnamed.jsonl
sed '1s/"uuid":"[^"]*"/"uuid":""/; 1s/Fake GPU/Other GPU/' 1.jsonl >other.jsonl
for name in unnamed other; do
  "$assay" import $name.jsonl --db unnamed.db >output 2>&1 || fail "import $name: exit $?"
done
expect 0 'export again with --device fake_gpu' \
  "$assay" export --format recording --sweep faults --db unnamed.db --output 3.jsonl
expect 2 'is of a whole sweep' \
  "$assay" export --format recording --sweep faults --db gpus.db --op vector_add --output 2.jsonl
[[ ! -e 2.jsonl ]] || fail "a recording of one op is no sweep's"
sweep --device 1 --db gpu1.db --json || fail "--device 1: exit $?"
[[ $(field 'devices[0].num_trials') == 9 ]] || fail "--device 1 --json has not the trials"
expect '[03]' 'GPUs .* 2 of Fake GPU: memory rates within' env -C "$tree" "$assay" doctor
expect 2 '' env -C "$tree" "$assay" doctor --device x
ASSAY_FAKE_CUDA=mps expect 0 'warning: Fake GPU is shared by CUDA.s multi-process service' \
  sweep --device 0 --db mps.db
ASSAY_FAKE_CUDA=slice expect 0 'warning: Fake GPU MIG 1g.18gb is a slice of a GPU' \
  sweep --device 0 --db slice.db
# A driver that cannot run what NVRTC makes failed with its own error, in the first module.
ASSAY_FAKE_CUDA=cuda=11080 expect 3 'NVRTC is of CUDA [0-9.]*, and the driver runs what CUDA 11.8 makes; update the driver' \
  sweep --device 0 --db old.db
# The cache was believed by the name of a file: one with other kernels ran as the judge's own.
for file in cache/assay/support-*.cu; do echo '// not these' >"$file"; done
ASSAY_FAKE_CUDA=gpus=1 sweep --device 0 --db support.db --no-cache || fail "a planted support: exit $?"
grep -q 'not these' cache/assay/support-*.cu && fail "a planted support source is believed"
sed -i 's/"hash": "/&0/' cache/assay/ceilings/*.json
cp -r cache/assay/ceilings planted
sweep --device 0 --db ceilings.db || fail "planted ceilings: exit $?"
diff -r cache/assay/ceilings planted >/dev/null && fail "planted ceilings are believed"
expect 3 'no GPU 99: the driver reports 2 of them' sweep --device 0,99 --db none.db
[[ ! -e none.db ]] || fail "GPU 0 was swept before GPU 99 was refused"
expect 2 'GPU 0 is named twice' sweep --device 0,0 --db none.db
echo ok
