# Sourced by the tests on the stand-in GPU: a folder of the test's own to work in, and a way to fail.
source "$(dirname "${BASH_SOURCE[0]}")/work_folder.sh"
stand_ins=$(IFS=:; echo "${*:3}")
unset CUDA_HOME  # the toolkit that it names comes before the stand-ins
export LD_LIBRARY_PATH=$stand_ins${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export TMPDIR=$work  # the files by which sweeps on one GPU take turns

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
