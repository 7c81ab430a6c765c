# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the Python tests. Tests marked `gpu` are skipped where there is no GPU, unless TRASMUON_REQUIRE_GPU is
set: `make test-gpu-python` sets it."""
import os

# Some virtual machines announce AMX but stop programs that use it, and oneDNN uses it in bf16 products.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

import pytest
import torch

import libtrasmuon

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU that torch and the library can use")


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu") and not os.environ.get("TRASMUON_REQUIRE_GPU"):
        if not torch.cuda.is_available() or libtrasmuon.why_unusable(1):
            pytest.skip("no usable GPU")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    return torch.device(request.param)


def needs_torch(major, minor, why):
    """Skips a test on older versions of torch, which lack the feature."""
    return pytest.mark.skipif(TORCH < (major, minor), reason=f"torch {major}.{minor} and later: {why}")
