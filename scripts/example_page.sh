#!/usr/bin/env bash
# Makes the example page: recordings of two GPUs, without the code, in one file of less than 1 MB.
# The folder is ready for any web server, such as GitHub Pages: its index.html needs no other file.
# Usage: scripts/example_page.sh [FOLDER [PROGRAM]]    (default: build/example; builds the program)
set -euo pipefail
folder=$(realpath -m "${1:-$(dirname "$0")/../build/example}")
program=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."

if [[ -z $program ]]; then
  scripts/build.sh assay >&2
  program=build/assay
fi
recordings=()
for name in nvidia_h200/{examples,gemm,gemm_h200,gated_h200,moe_few_h200} \
    nvidia_h100_80gb_hbm3/{gemm_h200,gated_h200,moe_few_h200,sparse_h200}; do
  recordings+=("results/recorded/$name.jsonl")
done
"$program" report "${recordings[@]}" --no-code --html "$folder/index.html"
bytes=$(stat -c %s "$folder/index.html")
if ((bytes >= 1000000)); then
  echo "$folder/index.html has $bytes bytes; an example of 1000000 or more loads slowly: name fewer recordings" >&2
  exit 1
fi
