# Sourced by the tests of the program: a folder to work in, and a way to say what is expected.
source "$(dirname "${BASH_SOURCE[0]}")/work_folder.sh"

failures=0

# expect CODE PATTERN COMMAND...: the command's exit code, and an extended regular expression that
# its output (stdout and stderr together) must match.
expect() {
  local code=$1 pattern=$2
  shift 2
  local output actual
  output=$("$@" 2>&1 </dev/null)
  actual=$?
  if [[ $actual != $code ]] || ! grep -qE -- "$pattern" <<<"$output"; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n  expected exit %s and /%s/, got exit %s and:\n%s\n' \
      "$*" "$code" "$pattern" "$actual" "$(sed 's/^/  | /' <<<"$output")"
  fi
}

# Waits until process $1 handles Ctrl-C. What a shell starts in the background ignores it until then.
until_it_handles_interrupts() {
  local i caught
  for ((i = 0; i < 6000; ++i)); do
    caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
    [[ -n $caught ]] && ((16#$caught & 2)) && return
    [[ -e /proc/$1 ]] || return
    sleep 0.01
  done
}

# The last line of a test: how it went.
finish() {
  if [[ $failures -gt 0 ]]; then
    echo "$failures failed"
    exit 1
  fi
  echo "all passed"
}
