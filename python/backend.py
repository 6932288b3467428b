"""What pip asks to make a wheel of this folder (PEP 517).

    python3 backend.py PREFIX FOLDER

writes a wheel into FOLDER that also holds what `cmake --install` put into PREFIX: the libraries,
the headers and the program. pip installs them beside Python's own: FRESH/bin/assay, FRESH/lib, ...
"""

import base64
import hashlib
import pathlib
import re
import sys
import sysconfig
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r'^version = "(.*)"', (HERE / "pyproject.toml").read_text(), re.M)[1]
NAME = "assay-" + VERSION


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    prefix = (config_settings or {}).get("prefix")
    files = {str(path.relative_to(HERE)): path for path in sorted((HERE / "assay").glob("*.py"))}
    if prefix:
        if not (pathlib.Path(prefix) / "lib/libassay.so.0").exists():
            sys.exit("%s: expected what `cmake --install` made, found no lib/libassay.so.0" % prefix)
        files.update((NAME + ".data/data/" + str(path.relative_to(prefix)), path)
                     for path in sorted(pathlib.Path(prefix).rglob("*")) if path.is_file())
    platform = re.sub("[-.]", "_", sysconfig.get_platform()) if prefix else "any"
    tag = "py3-none-" + platform
    info = NAME + ".dist-info/"
    texts = {
        info + "METADATA":
            "Metadata-Version: 2.1\nName: assay\nVersion: %s\nRequires-Python: >=3.8\n"
            "License: Apache-2.0\nSummary: launches tuned CUDA kernels from a pack\n" % VERSION,
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: %s\nTag: %s\n" % (
            "false" if prefix else "true", tag)}
    wheel = "%s-%s.whl" % (NAME, tag)
    record = ""
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as out:
        def write(name, content, mode=0o644):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16  # pip keeps whether a file is executable
            out.writestr(entry, content)

        for name, source in {**files, **texts}.items():
            is_text = isinstance(source, str)
            content = source.encode() if is_text else source.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += "%s,sha256=%s,%d\n" % (name, digest, len(content))
            write(name, content, 0o644 if is_text else source.stat().st_mode & 0o777)
        write(info + "RECORD", record + info + "RECORD,,\n")
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    archive = NAME + ".tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory) / archive, "w:gz") as out:
        for name in ("pyproject.toml", "backend.py", "assay/__init__.py"):
            out.add(HERE / name, NAME + "/" + name)
    return archive


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python3 backend.py PREFIX FOLDER")
    print(build_wheel(sys.argv[2], {"prefix": sys.argv[1]}))
