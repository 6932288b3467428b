#!/usr/bin/env bash
# `assay bench`: winners under Google Benchmark, replayed from a recording and measured on the
# stand-in GPU; and Google Benchmark's own compare.py on what it writes.
source "$(dirname "$0")/stand_in.sh"
gemm=$tree/results/recorded/nvidia_h200/gemm.jsonl

# value FILE NAME KEY: a figure of a benchmark.
value() {
  python3 -c 'import json, sys
rows = json.load(open(sys.argv[1]))["benchmarks"]
print(next(row for row in rows if row["name"] == sys.argv[2]).get(sys.argv[3]))' "$@"
}

# Without a GPU the recording answers, and the context says so.
export ASSAY_FAKE_CUDA=no_device
best='gemm_bf16/best/M:16/N:4096/K:4096/iterations:1/manual_time'
expect 0 "^$best +12064 ns .*MHz=1\.[0-9]+k roofline=" "$assay" bench --db "$gemm" \
  --kernels "$tree/kernels"
expect 0 'assay_times: replayed, nothing is measured now \(.*\): measured on NVIDIA H200, 2026-' \
  "$assay" bench --db "$gemm" --benchmark_filter=M:16/
[[ $(grep -c manual_time output) -eq $(grep -c M:16/ output) ]] || fail "the filter is not passed on"
grep -q 'cublaslt_best/M:16' output || fail "there is no baseline"
"$assay" bench --db "$gemm" --kernels "$tree/kernels" --benchmark_format=json \
  --benchmark_out=a.json >b.json 2>output || fail "JSON: exit $?"
for file in a.json b.json; do
  [[ $(value $file "$best" real_time) == 12064* ]] || fail "$file has another time than best shows"
  [[ $(value $file "$best" FLOP/s) == 44501* ]] || fail "$file: rate $(value $file "$best" FLOP/s)"
done
grep -q '"assay_times": "replayed' a.json || fail "the JSON's context does not say that it replays"
expect 0 "best/M:16/.*_median" "$assay" bench --db "$gemm" --benchmark_repetitions=4 \
  --benchmark_filter=M:16/ --benchmark_out=c.json
[[ $(grep -oP '"real_time": \K[0-9.e+]+' c.json | sort -u | wc -l) -gt 4 ]] ||
  fail "each repetition has the same time"

# Google Benchmark's own tool, where its Debian package and scipy are.
compare=/usr/share/benchmark/compare.py
if /usr/bin/python3 -c 'import scipy' 2>/dev/null && [[ -f $compare ]]; then
  sed 's/"real_time": /&9/' a.json >slower.json
  expect 0 'best/M:16/N:4096/K:4096.* \+0\.0000 ' /usr/bin/python3 $compare --no-color benchmarks a.json b.json
  expect 0 'best/M:16/N:4096/K:4096.* \+[1-9]' /usr/bin/python3 $compare --no-color benchmarks a.json slower.json
  "$assay" export --format google-benchmark --db "$gemm" >exported.json
  expect 0 'best/M:16/N:4096/K:4096.* \+0\.0000 ' \
    /usr/bin/python3 $compare --no-color benchmarks exported.json a.json
  expect 0 '\[gemm_bf16/best vs. gemm_bf16/cublaslt_best\]/M:16/' /usr/bin/python3 $compare --no-color filters a.json gemm_bf16/best \
    gemm_bf16/cublaslt_best
else
  echo "skipped: compare.py (install libbenchmark-tools and python3-scipy)"
fi

expect 2 'unrecognized command-line flag: --benchmark_nonsense' "$assay" bench --db "$gemm" \
  --benchmark_nonsense
expect 2 'unknown option --nonsense' "$assay" bench --db "$gemm" --nonsense
expect 2 'no database nowhere.db' "$assay" bench --db nowhere.db
expect 2 'no result of op softmax' "$assay" bench --db "$gemm" --op softmax
expect 1 'Failed to match any' "$assay" bench --db "$gemm" --benchmark_filter=nothing_like_it

# On a GPU it measures.
unset ASSAY_FAKE_CUDA
cp -r "$tree/kernels" kernels
write_sweep s '{N: [1000, 5000]}' 'BLOCK: [64, 1024], VECTOR: [1], ITEMS: [1]' \
  'measure: {precision: 1%, max_seconds_per_config: 0.1}'
"$assay" sweep s.yaml --kernels kernels --db s.db --device 0 >output 2>&1 || fail "the sweep"
expect 0 'add_f32/best/N:5000/.*B/s=' "$assay" bench --db s.db --benchmark_repetitions=2
grep -q 'assay_times: measured now' output || fail "it does not measure"
expect 0 'replayed, nothing is measured now \(--replay\)' "$assay" bench --db s.db --replay
expect 1 'ERROR OCCURRED: .not measured: it was measured on NVIDIA H200, and this is Fake GPU' \
  "$assay" bench --db "$gemm" --benchmark_filter=best/M:16/
ASSAY_FAKE_CUDA=illegal_address expect 1 'ERROR OCCURRED: .*1 of 1 trials failed: runtime' \
  "$assay" bench --db s.db
sed -i 's/^extern/\n&/' kernels/vector_add.cu
expect 1 'vector_add.yaml has changed since' "$assay" bench --db s.db
echo ok
