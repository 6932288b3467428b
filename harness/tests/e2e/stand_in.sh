# Sourced by the tests on the stand-in GPU: a folder of the test's own to work in, and a way to fail.
source "$(dirname "${BASH_SOURCE[0]}")/work_folder.sh"
stand_ins=$(IFS=:; echo "${*:3}")
unset CUDA_HOME  # the toolkit that it names comes before the stand-ins
export LD_LIBRARY_PATH=$stand_ins${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export TMPDIR=$work  # the files by which sweeps on one GPU take turns

# The harness's own kernels take seconds to compile, and are the same in all tests. So the first
# test compiles them, and each begins with a copy of them in its cache.
kept=$(dirname "$assay")/e2e_cache
(
  flock 9
  [[ $kept/done -nt $assay ]] && exit
  rm -rf "$kept" && mkdir -p "$kept" && cp "$tree"/kernels/vector_add.* "$kept" || exit
  echo '{sweep: warm, kernels: [vector_add], problems: [{N: 32}],
    params: {BLOCK: [1024], VECTOR: [1], ITEMS: [1]}}' >"$kept/warm.yaml"
  XDG_CACHE_HOME=$kept/cache "$assay" sweep "$kept/warm.yaml" --kernels "$kept" --db "$kept/warm.db" \
    --device 0 >/dev/null 2>&1 && rm -rf "$kept/cache/assay/ceilings" && touch "$kept/done"
) 9>"$kept.lock"
[[ -e $kept/done ]] && cp -a "$kept/cache" "$work/cache"

fail() {
  printf 'FAILED: %s\n' "$1"
  [[ -f output ]] && sed 's/^/  | /' output
  exit 1
}

# expect CODE PATTERN COMMAND...: exit code, and a regular expression that the output must match.
expect() {
  local code=$1 pattern=$2
  shift 2
  "$@" >output 2>&1 </dev/null
  local actual=$?
  [[ $actual -eq $code ]] || fail "$*: exit $actual instead of $code"
  grep -qE -- "$pattern" output || fail "$*: no /$pattern/"
}
