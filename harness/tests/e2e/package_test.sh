#!/usr/bin/env bash
# What scripts/release.sh packs: unpacked anywhere, the program finds its kernels and headers, and
# works on a kernel of another project. Recordings made the package large.
source "$(dirname "$0")/stand_in.sh"

if ! command -v dpkg-deb >/dev/null; then
  echo "skipped: no dpkg-deb"
  exit 0
fi
expect 0 '^needs glibc 2\.[0-9]*, for ' env -C "$tree" scripts/release.sh "$(dirname "$assay")"
release=$(dirname "$assay")/release
package=$(echo "$release"/assay_*.deb)
[[ -s $package ]] || fail "there is no package"
expect 0 '^Package: assay$' dpkg-deb --field "$package" Package Depends
grep -q '^Depends: libc6 (>= 2\.[0-9]*)$' output || fail "the package depends on more than glibc"
dpkg-deb -x "$package" root || fail "the package cannot be unpacked"
mkdir unpacked
tar -xzf "$release"/assay-*.tar.gz -C unpacked --strip-components=1 || fail "no archive"
gunzip -c root/usr/share/man/man1/assay.1.gz >root/usr/share/man/man1/assay.1
rm root/usr/share/man/man1/assay.1.gz
diff -r root/usr unpacked >output || fail "the package and the archive differ"
if command -v rpmbuild >/dev/null && command -v rpm2cpio >/dev/null && command -v cpio >/dev/null; then
  package=$(echo "$release"/assay-*.rpm)
  mkdir from_rpm
  rpm2cpio "$package" | (cd from_rpm && cpio -idm --quiet) || fail "the RPM package cannot be unpacked"
  diff -r from_rpm/usr unpacked >output || fail "the RPM package and the archive differ"
  expect 0 '^libc.so.6\(GLIBC_2\.[0-9]*\)\(64bit\)$' rpm -qp --requires "$package"
  rpm -qpl "$package" | grep -qx /usr/bin && fail "the RPM package owns /usr/bin"
fi
# The image has the files of the archive.
copied=$(sed -n 's/^COPY \([^ ]*\) .*/\1/p' "$release/Containerfile")
[[ -x $release/$copied/bin/assay ]] || fail "the container file copies no program: $copied"
program=$work/root/usr/bin/assay
share=$work/root/usr/share

# A kernel of another project, from another folder.
mkdir -p project/my
cp "$tree/kernels/vector_add.cu" "$tree/kernels/vector_add.yaml" project/my
sed -i '1i #include <assay/ptx/cvt.cuh>' project/my/vector_add.cu
expect 0 '2 of 2 trials' env -C project "$program" sweep my/vector_add.yaml --device none \
  --budget-configs 2

[[ ! -e $share/assay/results ]] || fail "the package has recordings"
for kernel in gemm_wgmma vector_add examples/softmax; do
  expect 0 '' "$program" list "$share/assay/kernels/$kernel.yaml"
done
for text in LICENSE NOTICE; do
  cmp -s "$tree/$text" "$share/doc/assay/$text" || fail "$text is not in the package"
done
# A draft names the schema by which an editor checks it.
printf '__global__ void draft(float* out, int n) { out[n] = 0; }\n' >draft.cu
"$program" new draft.cu >output 2>&1 || fail "no draft: exit $?"
schema=$(sed -n '1s/^# yaml-language-server: $schema=//p' draft.yaml)
for kind in kernel op sweep; do
  cmp -s <("$assay" schema $kind) "$share/assay/schema/$kind.json" || fail "no schema of a $kind"
done
cmp -s "$schema" "$share/assay/schema/kernel.json" || fail "the draft names no schema: $schema"
for script in bash-completion/completions/assay zsh/site-functions/_assay \
  fish/vendor_completions.d/assay.fish; do
  [[ -s $share/$script ]] || fail "there is no completion $script"
done
expect 0 '' bash -c "source '$share/bash-completion/completions/assay' && declare -F _assay"

# The man page has what --help prints, and no line that the formatter warns about.
if command -v man >/dev/null; then
  MANWIDTH=200 man --warnings -l "$share/man/man1/assay.1" >page.txt 2>output || fail "no man page"
  [[ ! -s output ]] || fail "the formatter warns"
  for verb in sweep 'db merge'; do
    for line in "Usage: assay $verb" "--json"; do
      grep -qF -- "$line" page.txt || fail "the man page lacks: $line"
    done
  done
else
  [[ -s $share/man/man1/assay.1 ]] || fail "there is no man page"
fi

# scripts/sweep.sh builds the program and nothing else, and `cmake --install` failed after it: there
# was no assay_bench.
build=$(dirname "$assay")
sed "s|\"$build/assay_bench\"|\"$work/not_built/assay_bench\"|" "$build/cmake_install.cmake" >install.cmake
grep -q not_built install.cmake || fail "cmake_install.cmake does not name assay_bench"
expect 0 '' cmake -DCMAKE_INSTALL_PREFIX="$work/prefix" -P install.cmake
[[ -x prefix/bin/assay ]] || fail "the program is not installed"

# An installed tree has the recordings.
expect '[01]' 'gemm.jsonl .* current' env -C prefix/share/assay ../../bin/assay list --recordings
echo ok
