#!/usr/bin/env bash
# Has 16 threads with 4 streams choose, prepare and launch plans of libassay while streams are
# captured: on the stand-in GPU, under ThreadSanitizer. A finding, or a wrong sum, ends with 1.
# Usage: scripts/runtime_threads.sh [SECONDS]     600 by default
set -euo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
seconds=${1:-600}
[[ $seconds =~ ^[0-9]+$ ]] || { sed -n '4s/# //p' "$0" >&2; exit 2; }
"$tree/scripts/build.sh" assay fake_cuda runtime_threads
set -- "$tree/build/assay" "$tree" "$tree/build/fake_cuda"
source "$tree/harness/tests/e2e/contract.sh"
write_contract </dev/null
sweep || fail "the sweep"
"$assay" export --format pack --db x.db --output x.pack
TSAN_OPTIONS=halt_on_error=1:exitcode=1 "$tree/build/runtime_threads" x.pack "$seconds"
