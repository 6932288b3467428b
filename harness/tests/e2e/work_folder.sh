# Sourced by the other files that tests source, and by tests: a folder of the test's own to work in.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache
