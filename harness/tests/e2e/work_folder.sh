# Sourced by the other files that tests source, and by tests, whose arguments are the program, the
# tree and the folders of stand-ins: a folder of the test's own to work in.
set -uo pipefail
assay=$1
tree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache
