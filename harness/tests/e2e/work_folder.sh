# Sourced by the other files that tests source, and by tests, whose arguments are the program, the
# tree and the folders of stand-ins: a folder of the test's own to work in, and a way to say what is
# expected there.
set -uo pipefail
assay=$1
tree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache

# The tests compile the same kernels again and again. So what one has compiled the others find: by
# its source, options and compiler, and only as long as the program is the same. Everything else that
# is cached is the test's own.
kept=$(dirname "$assay")/e2e_cache
(
  flock 9
  [[ $kept -nt $assay ]] || { rm -rf "$kept" && mkdir "$kept"; }
) 9>"$kept.lock"
mkdir -p cache/assay && ln -s "$kept" cache/assay/cubin

fail() {
  printf 'FAILED: %s\n' "$1"
  [[ -f output ]] && tail -n 40 output | sed 's/^/  | /'
  exit 1
}

# expect CODE PATTERN COMMAND...: exit code, and an extended regular expression that the output
# (stdout and stderr together, left in `output`) must match.
expect() {
  local code=$1 pattern=$2
  shift 2
  "$@" >output 2>&1 </dev/null
  local actual=$?
  [[ $actual == $code ]] || fail "$*: exit $actual instead of $code"
  grep -qE -- "$pattern" <<<"$(<output)" || fail "$*: no /$pattern/"
}
# has TEXT WHAT: the output must have the text.
has() { grep -q -- "$1" output || fail "no \"$1\": $2"; }
# field PATH: a field of the JSON in the output.
field() { sqlite3 :memory: "SELECT json_extract(readfile('output'), '\$.$1')"; }
# stores DATABASE QUERY VALUE: what the database answers.
stores() {
  local found
  found=$(sqlite3 "$1" "$2")
  [[ $found == "$3" ]] || fail "$1: $2: $found instead of $3"
}
