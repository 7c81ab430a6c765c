# SPDX-License-Identifier: Apache-2.0
"""What auditwheel looks at: which libraries ours need, and which versions of their symbols."""
import platform
import re
import shutil
import subprocess

import pytest

from libtrasmuon import _library

# Libraries that every system has (PEP 600).
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux-[\w-]+)\.so\.\d+")
CUBLAS = re.compile(r"libcublas(Lt)?\.so\.\d+")  # torch brings it


def _libraries():
    core = _library.library_path()
    return [path for path in (core, core.with_name("libtrasmuon_cuda.so")) if path.exists()]


def _read(path, *options):
    if not shutil.which("readelf"):
        pytest.skip("needs readelf (binutils)")
    return subprocess.run(["readelf", "-W", *options, str(path)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", _libraries(), ids=lambda path: path.name)
def test_libraries_need_only_what_every_system_has(path):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", _read(path, "-d"))
    allowed = [SYSTEM, CUBLAS] if "cuda" in path.name else [SYSTEM]
    ours = re.compile(r"libtrasmuon\.so\.\d+\.\d+")
    assert needed and not [name for name in needed if not any(p.fullmatch(name) for p in [*allowed, ours])]


@pytest.mark.parametrize("path", _libraries(), ids=lambda path: path.name)
def test_libraries_fit_manylinux_2_34(path):
    if tuple(map(int, platform.libc_ver()[1].split(".")[:2])) > (2, 36):
        pytest.skip("built on a newer system than Debian 12, so that it needs newer symbols")
    versions = _read(path, "-V")
    assert max((int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", versions)) <= (2, 34)
    assert max(map(int, re.findall(r"GLIBCXX_3\.4\.(\d+)", versions))) <= 29
