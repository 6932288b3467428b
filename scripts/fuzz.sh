#!/usr/bin/env bash
# Feeds damaged input to all that reads what somebody else wrote: kernels, sweeps, expressions,
# packs, recordings, other tuners' files, a compiler's log, messages, machine code. Prints a line for
# each target.
# Usage: scripts/fuzz.sh [SECONDS [TARGET...]]    SECONDS for each target: 3600 by default
#        scripts/fuzz.sh --build-only             the targets and what they begin with, and no more
#        scripts/fuzz.sh --once                   what they begin with, as it is and damaged a
#                                                 little, by programs without sanitizers
#
# A target fails on a crash, on an exception that its reader is not documented to throw, on an input
# that takes a minute or 1 GB. The input is then kept under build-fuzz/findings/, and the exit is 1. Add
# it to harness/tests/fuzz/corpus/TARGET/, where every run begins. What reaches new code is kept
# under build-fuzz/corpus/ for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

build_only='' run=run
[ "${1:-}" != --build-only ] || { build_only=yes; shift; }
[ "${1:-}" != --once ] || { run=run_once; shift; }
seconds=${1:-3600}
[[ $seconds =~ ^[0-9]+$ ]] || { sed -n '5,8s/# //p' "$0" >&2; exit 2; }
all=(harness/tests/fuzz/*_fuzz.cpp)
all=("${all[@]##*/}")
all=("${all[@]%_fuzz.cpp}")
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
for target in "${targets[@]}"; do
  [[ " ${all[*]} " == *" $target "* ]] ||
    { echo "fuzz: no target '$target'; there are ${all[*]}" >&2; exit 2; }
done

if [ $run = run_once ]; then
  scripts/build.sh fuzz_once
else
  scripts/build.sh --sanitize "${targets[@]/%/_fuzz}"
fi

# The files of this repository are what mutation begins with.
seeds=build-fuzz/seeds
rm -rf $seeds
for target in "${all[@]}"; do
  mkdir -p $seeds/"$target" build-fuzz/corpus/"$target" build-fuzz/findings
  if [ -d harness/tests/fuzz/corpus/"$target" ]; then
    cp harness/tests/fuzz/corpus/"$target"/* $seeds/"$target"
  fi
done
for path in $seeds/*/*.b64; do  # what is no text
  base64 -d "$path" >"${path%.b64}"
  rm "$path"
done
# Each mistake in the tests of spec/, as a file of its own.
mistakes=build-fuzz/mistakes
rm -rf $mistakes && mkdir -p $mistakes
for path in harness/tests/spec/bad/*/*.txt; do
  awk -v folder=$mistakes '
    function subject(line) {
      match(line, /^( *- [{]name: [^,]*| *[^ :,]*)/)
      return substr(line, 1, RLENGTH)
    }
    function write_rest(form) {
      for (key in patch) {
        if (key !~ form) continue
        printf "%s", patch[key] >file
        delete patch[key]
      }
    }
    function write_file() {
      for (i = 1; i <= n; i++) {
        if (base[i] ~ /^launches/) write_rest("^  - ")  # new arguments
        key = subject(base[i])
        printf "%s", key in patch ? patch[key] : base[i] "\n" >file
        delete patch[key]
      }
      write_rest("")
      close(file)
    }
    NR == FNR { base[n = NR] = $0; next }
    /^# / { if (file) write_file(); file = folder "/" substr($2, 1, length($2) - 1) ".yaml"; next }
    !/^[ \t]*\^$/ { if (!/^ / || /^  - [{]name/) key = subject($0); patch[key] = patch[key] $0 "\n" }
    END { write_file() }' "$(dirname "$path")/base.yaml" "$path"
done
for path in kernels/*.yaml kernels/examples/*.yaml harness/tests/spec/kernels/*.yaml \
    $mistakes/*.yaml; do
  sed 's/^kernel: .*/kernel: fuzz/' "$path" >"$seeds/kernel_file/$(basename "$path")"
  sed -nE 's/^ *(grid|if|flops|bytes|[a-z_]+): *"?(.*[-+*/(<>].*)"?$/\2/p' "$path" |
    split -l 1 - "$seeds/expression/$(basename "$path" .yaml)_"
done
for path in sweeps/*.yaml harness/tests/spec/good/*.yaml; do
  cp "$path" "$seeds/sweep_file/${path//\//_}"
done
for path in results/recorded/*/*.jsonl; do
  name=$(basename "$(dirname "$path")")_$(basename "$path")
  { head -n 12 "$path"; sed -n '/"rank"/{p;q}' "$path"; } >"$seeds/recording/$name"
  head -n 12 "$path" | gzip >"$seeds/recording/$name.gz"
done
[ -z "$build_only" ] || exit 0

run_once() {
  local log=build-fuzz/$1.log
  count=$(build/fuzz_once "$1" build-fuzz/seeds/"$1" 2>"$log") ||
    { printf '%-14s FOUND: %s\n' "$1" "$(tail -n 1 "$log")"; return 1; }
  printf '%-14s %6d inputs  no finding\n' "$1" "$count"
}
run() {
  local target=$1 log=build-fuzz/$1.log failed=0
  TMPDIR=/dev/shm ASAN_OPTIONS=quarantine_size_mb=16 build-sanitize/"$target"_fuzz \
    -max_total_time="$2" -timeout=60 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
    -verbosity=1 -artifact_prefix=build-fuzz/findings/"$target"- \
    build-fuzz/corpus/"$target" build-fuzz/seeds/"$target" >"$log" 2>&1 || failed=$?
  stat() { sed -nE "s/^stat::$1: *//p" "$log"; }
  local verdict='no finding'
  [ $failed -eq 0 ] || verdict="FOUND: $(grep -m 1 -E 'ERROR|SUMMARY|runtime error|terminate' "$log")"
  printf '%-14s %12s runs %6s MB  %s\n' "$target" "$(stat number_of_executed_units)" \
    "$(stat peak_rss_mb)" "$verdict"
  return $failed
}
export -f run run_once
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c "$run {} $seconds" || {
  echo "fuzz: the inputs are under build-fuzz/findings, the logs in build-fuzz/*.log" >&2
  exit 1
}
