#!/usr/bin/env bash
# Formats the sources, new ones too. With --check it changes nothing and says which lines differ.
set -euo pipefail
cd "$(dirname "$0")/.."

options=(-i)
if [ "${1:-}" = --check ]; then options=(--dry-run -Werror); fi
git ls-files --cached --others --exclude-standard -z -- \
  'harness/*.h' 'harness/*.cpp' 'include/*' 'kernels/*.cu' 'kernels/*.cuh' |
  xargs -0 clang-format "${options[@]}"
