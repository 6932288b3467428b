"""What pip asks to make a wheel of this folder (PEP 517)."""

import base64
import hashlib
import pathlib
import re
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r'^version = "(.*)"', (HERE / "pyproject.toml").read_text(), re.M)[1]
NAME = "assay-" + VERSION


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {str(path.relative_to(HERE)): path.read_bytes()
             for path in sorted((HERE / "assay").glob("*.py"))}
    info = NAME + ".dist-info/"
    files[info + "METADATA"] = (
        "Metadata-Version: 2.1\nName: assay\nVersion: %s\nRequires-Python: >=3.8\n"
        "License: Apache-2.0\nSummary: launches tuned CUDA kernels from a pack\n"
        % VERSION).encode()
    files[info + "WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(content))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    wheel = NAME + "-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    archive = NAME + ".tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory) / archive, "w:gz") as out:
        for name in ("pyproject.toml", "backend.py", "assay/__init__.py"):
            out.add(HERE / name, NAME + "/" + name)
    return archive
