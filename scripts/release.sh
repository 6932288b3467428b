#!/usr/bin/env bash
# Packs the program into build/release: assay-VERSION-linux-x86_64.tar.gz, which runs where it is
# unpacked, and packages of the same files, .deb and .rpm, where their tools are installed. A
# container file beside them makes an image. Recordings are left out, so the packages are small.
# Says which glibc the program needs, and fails where it needs a newer one than Ubuntu 22.04 has, or
# a library that a plain system lacks.
# Usage: scripts/release.sh [BUILD]
#   BUILD  the folder of a finished build; default: build, after building it
set -euo pipefail
cd "$(dirname "$0")/.."

newest_glibc=2.35  # of Ubuntu 22.04; Debian 12 has 2.36

build=${1:-build}
[ $# -gt 0 ] || scripts/build.sh assay
version=$("$build/assay" --version | cut -d' ' -f2)
machine=$(uname -m)
release=$build/release
name=assay-$version-linux-$machine
rm -rf "$release"
mkdir -p "$release"
cmake --install "$build" --prefix "$release/$name" --strip >/dev/null
# It needs Google Benchmark, which Debian has as a shared library only.
rm -rf "$release/$name/share/assay/results" "$release/$name/bin/assay_bench"
program=$release/$name/bin/assay

for library in $(objdump -p "$program" | sed -n 's/^ *NEEDED *//p'); do
  case $library in
    libc.so.6 | libm.so.6 | ld-linux*) ;;
    *) echo "release: the program needs $library, which is not everywhere" >&2; exit 1 ;;
  esac
done

# The highest version of GLIBC's symbols that the program needs, with the symbols.
symbols=$(objdump -T "$program" | sed -n 's/.*\*UND\*.*(GLIBC_\([0-9.]*\)) */\1 /p' | sort -V)
needed=$(tail -n 1 <<<"$symbols" | cut -d' ' -f1)
echo "needs glibc $needed, for $(sed -n "s/^$needed //p" <<<"$symbols" | xargs)"
if [ "$(printf '%s\n' "$needed" $newest_glibc | sort -V | tail -n 1)" != $newest_glibc ]; then
  echo "release: glibc $needed is newer than $newest_glibc; build on an older system" >&2
  exit 1
fi

# Files get the date of the commit, so that the same commit gives the same archive.
date=@$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar --directory "$release" --sort=name --owner=0 --group=0 --numeric-owner --mtime="$date" \
  -cf - "$name" | gzip -9n >"$release/$name.tar.gz"
echo "$release/$name.tar.gz: $(du -h "$release/$name.tar.gz" | cut -f1)"

if command -v dpkg-deb >/dev/null; then
  package=$release/assay_${version}_$(dpkg --print-architecture).deb
  mkdir -p "$release/deb/DEBIAN"
  cp -r "$release/$name" "$release/deb/usr"
  gzip -9n "$release/deb/usr/share/man/man1/assay.1"
  cat >"$release/deb/DEBIAN/control" <<CONTROL
Package: assay
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: the authors of Assay <assay@localhost>
Installed-Size: $(du -sk "$release/deb/usr" | cut -f1)
Depends: libc6 (>= $needed)
Section: devel
Priority: optional
Description: finds the fastest way to run a CUDA kernel
 NVRTC, the driver and cuBLAS are loaded when the program runs, where they are.
CONTROL
  dpkg-deb --root-owner-group --build "$release/deb" "$package" >/dev/null
  rm -r "$release/deb"
  echo "$package: $(du -h "$package" | cut -f1)"
else
  echo "no dpkg-deb: no Debian package"
fi

if command -v rpmbuild >/dev/null; then
  folder=$(realpath "$release")
  (cd "$folder/$name" && find . -type f -o -type l) | sed 's|^\.|/usr|' >"$release/files"
  cat >"$release/assay.spec" <<SPEC
Name: assay
Version: $version
Release: 1
Summary: finds the fastest way to run a CUDA kernel
License: Apache-2.0
AutoReqProv: no
Requires: libc.so.6(GLIBC_$needed)(64bit)
%description
NVRTC, the driver and cuBLAS are loaded when the program runs, where they are.
%install
mkdir -p %{buildroot}
cp -r '$folder/$name' %{buildroot}/usr
%files -f $folder/files
%dir /usr/share/assay
%dir /usr/share/doc/assay
SPEC
  SOURCE_DATE_EPOCH=${date#@} rpmbuild -bb --quiet --define "_topdir $folder/rpm" \
    --define '__os_install_post %{nil}' --define '_build_id_links none' \
    --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
    --define 'clamp_mtime_to_source_date_epoch 1' "$release/assay.spec" >/dev/null
  mv "$release"/rpm/RPMS/*/assay-*.rpm "$release"
  rm -r "$release/rpm" "$release/assay.spec" "$release/files"
  package=$(echo "$release"/assay-*.rpm)
  echo "$package: $(du -h "$package" | cut -f1)"
else
  echo "no rpmbuild: no RPM package"
fi

# docker build build/release, or podman build.
cat >"$release/Containerfile" <<CONTAINER
# The image has NVRTC and nvdisasm; the driver comes from the host (--gpus all).
ARG BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04
FROM \$BASE AS program
COPY $name /usr/local
WORKDIR /work
ENTRYPOINT ["assay"]
CMD ["--help"]

# --target judge: for sources of strangers. docs/judging.md says how to run it.
FROM program AS judge
ENV XDG_CACHE_HOME=/tmp
USER 65534:65534
ENTRYPOINT ["assay", "judge"]

FROM program
CONTAINER
ln -sf Containerfile "$release/Dockerfile"
echo "$release/Containerfile: docker build -t assay $release"
