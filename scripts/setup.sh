#!/usr/bin/env bash
# Installs what building and testing need, if it is missing (Debian 12, as root or with sudo).
# Silent and quick when nothing is missing. Exits with 3 when there is no CUDA toolkit.
# Usage: scripts/setup.sh [--sanitize] [--browser] [--slurm]
#   --sanitize  with what the build with sanitizers needs, too
#   --browser   with Chromium without its windows, in which the page is tested
#   --slurm     with Slurm, on which scripts/slurm_sweep.sh is tested
set -euo pipefail

# The versions that the results in this repository were made with.
packages=(
  clang-format=1:14.0-55.7~deb12u1
  cmake=3.25.1-1
  'g++=4:12.2.0-3'
  libbenchmark-dev=1.7.1-1
  libbenchmark-tools=1.7.1-1
  libcli11-dev=2.1.2+ds-1
  libfmt-dev=9.1.0+ds1-2
  libgmock-dev=1.12.1-0.2
  libgtest-dev=1.12.1-0.2
  libsqlite3-dev=3.40.1-2+deb12u2
  libsqlitecpp-dev=3.2.1-1
  libxxhash-dev=0.8.1-1
  libyaml-cpp-dev=0.7.0+dfsg-8+b1
  ninja-build=1.11.1-2~deb12u1
  nlohmann-json3-dev=3.11.2-2
  python3-jsonschema=4.10.3-1
  python3-scipy=1.10.1-2
  python3-yaml=6.0-3+b2
  sqlite3=3.40.1-2+deb12u2
  zlib1g-dev=1:1.2.13.dfsg-1
)

browser=
for option in "$@"; do
  case $option in
    --sanitize) packages+=(clang-19=1:19.1.7-3~deb12u1 libclang-rt-19-dev=1:19.1.7-3~deb12u1) ;;
    --browser) browser=yes ;;
    --slurm) packages+=(munge=0.5.15-2+deb12u1 slurm-client=22.05.8-4+deb12u3
      slurmctld=22.05.8-4+deb12u3 slurmd=22.05.8-4+deb12u3) ;;
    *) echo "setup: unknown option $option: --sanitize, --browser or --slurm" >&2; exit 2 ;;
  esac
done

# Node.js puts the page of `assay report` together. Any that is there will do.
command -v node >/dev/null || packages+=(nodejs=18.20.4+dfsg-1~deb12u3)
command -v npm >/dev/null || packages+=(npm=9.2.0~ds1-1)

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    installed "${package%%=*}" || missing+=("$package")
  done
else
  echo "setup: this is not Debian: install these yourself: ${packages[*]%%=*}" >&2
fi

# A point release of Debian replaces versions, so a pinned version may be gone. Then the version
# that the distribution has is better than none. A warning says so.
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}" >&2
  if ! install "${missing[@]}" 2>/dev/null; then
    as_root apt-get update -qq
    if ! install "${missing[@]}"; then
      echo "setup: warning: not in these versions; taking the distribution's own" >&2
      install "${missing[@]%%=*}"
    fi
  fi
fi

# What the page is made of, in the versions of page/package-lock.json. The program can be built
# without it, and says so where it is asked for a page.
page=$(dirname "$0")/../page
if [ "$page/package-lock.json" -nt "$page/node_modules/.package-lock.json" ]; then
  echo "setup: installing the packages of page/package-lock.json" >&2
  if npm ci --prefix "$page" --ignore-scripts --no-audit --no-fund --silent >/dev/null; then
    touch "$page/node_modules/.package-lock.json"
  else
    echo "setup: warning: npm cannot install them; assay report will have no page" >&2
  fi
fi

# It is large, and only one test needs it, which says that it is skipped where there is none.
shell=chromium-headless-shell
if [ -n "$browser" ] && command -v dpkg-query >/dev/null && ! installed $shell; then
  echo "setup: installing $shell" >&2
  install $shell || { as_root apt-get update -qq && install $shell; } ||
    echo "setup: warning: $shell cannot be installed; the test of the page will be skipped" >&2
fi

for include in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda/include; do
  if [ -e "$include/nvrtc.h" ] && [ -e "$include/cublasLt.h" ]; then exit 0; fi
done
echo "setup: no CUDA toolkit: looked for nvrtc.h and cublasLt.h in ${CUDA_HOME:+$CUDA_HOME/include and }/usr/local/cuda/include; install the CUDA toolkit 13.0 (12.8 or later works), or set CUDA_HOME" >&2
exit 3
