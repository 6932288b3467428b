#!/usr/bin/env bash
# A reference that another program recorded, on the stand-in GPU, which runs vector_add.
source "$(dirname "$0")/contract.sh"

write_contract <<'YAML'
args:
  - {name: A, dtype: f32, shape: [N], role: in, fill: ones}
  - {name: B, dtype: f32, shape: [N], role: in, fill: {file: b.bin}}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
reference: [{file: c.bin, out: C}]
YAML
floats() { for _ in $(seq "$2"); do printf '%b' "$1"; done >"$3"; }
floats '\0\0\x80\x3f' 1000 b.bin # 1
floats '\0\0\0\x40' 1000 c.bin   # 2

expect 0 '2 of 2 trials: 2 now, 0 kept' sweep
expect 0 'reference     file c.bin' "$assay" show 1 --db x.db
expect 0 '2 of 2 trials: 0 now, 2 kept' sweep

printf '\x40' | dd of=c.bin bs=1 seek=$((4 * 999 + 2)) conv=notrunc status=none # the last is 3
sweep && fail "a kernel that disagrees with its recorded output passes"
grep -q '2 of 2 trials: 2 now, 0 kept' output || fail "an edited file leaves old trials"
expect 0 'C\[999\] is 2, expected 3' "$assay" show --failures --db x.db

# A file of another size is a mistake that has a place, also where there is no GPU.
printf 'more' >>c.bin
for device in 0 none; do
  sweep --device $device && fail "a file of another size will do"
  expect 0 'vector_add.yaml:13:20: C has 4000 bytes, \[1000\] of f32, but c.bin has 4004' \
    "$assay" show --failures --db x.db --json
done
echo ok
