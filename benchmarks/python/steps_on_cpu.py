# SPDX-License-Identifier: Apache-2.0
"""A step over GPT-2 small's matrices on the CPU: Muon beside torch.optim.Muon, TrasMuon beside torch operations."""
import json
import os
import re
import statistics
import sys
import time

import torch

import libtrasmuon
from models import MODELS, parameters
from torch_trasmuon import TorchTrasMuon

_SLOWEST_BLAS = 8  # times slower than our products; a reference BLAS is 20 to 100


def usable_cores():
    return len(os.sched_getaffinity(0))


def _seconds(step):
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def _cpu_model():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


def _blas():
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return found.group(1) if found else "unknown BLAS"


def _product_rate(size):
    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2 * size**3 / min(_seconds(lambda: a @ b) for _ in range(3))


def _our_rate(size):
    """Of a Muon step, counted as dense products."""
    optimizer = libtrasmuon.Muon(parameters([[size, size, 1]], torch.float32, "cpu"))
    return 5 * 6 * size**3 / min(_seconds(optimizer.step) for _ in range(3))


def _require_fast_blas(size=768):
    theirs, ours = _product_rate(size), _our_rate(size)
    if theirs < ours / _SLOWEST_BLAS:
        sys.exit(f"bench.py: the BLAS of torch must be an optimized one, got {_blas()} with a product at "
                 f"{theirs / 1e9:.1f} GFLOP/s, where our step does {ours / 1e9:.1f}")


def run(arguments):
    torch.set_num_threads(arguments.threads)
    libtrasmuon.set_num_threads(arguments.threads)
    shapes = [[rows, cols, 1 if arguments.quick else count] for rows, cols, count in MODELS["GPT-2 small"]]
    tensors = parameters(shapes, torch.float32, "cpu")
    print(f"GPT-2 small, {len(tensors)} matrices, {sum(p.numel() for p in tensors) / 1e6:.1f} M parameters, f32")
    print(f"{_cpu_model()}, {arguments.threads} threads of {usable_cores()} cores; torch {torch.__version__}, {_blas()}")
    _require_fast_blas()

    muon, trasmuon = libtrasmuon.Muon(tensors), libtrasmuon.TrasMuon(tensors)
    muon_bf16 = libtrasmuon.Muon(tensors, ns_precision="bf16")
    pairs = [("Muon, this library, bf16 iteration", muon_bf16.step,
              "torch.optim.Muon, bf16 iteration", torch.optim.Muon(tensors).step),
             ("Muon, this library, bf16 iteration", muon_bf16.step, "Muon, this library", muon.step),
             ("TrasMuon, this library", trasmuon.step,
              "TrasMuon with torch operations, f32", TorchTrasMuon(tensors, dtype=torch.float32).step)]
    sides = {name: step for pair in pairs for name, step in (pair[:2], pair[2:])}
    samples = {name: [] for name in sides}
    for step in sides.values():
        step()  # warms up
    for _ in range(arguments.rounds):
        for name, step in sides.items():
            time.sleep(0.1)  # until the threads of the last side are asleep
            samples[name].append(_seconds(step))

    result = {"benchmark": "bench.py --device cpu", "command": " ".join(sys.argv), "torch": torch.__version__,
              "machine": {"cpu": _cpu_model(), "cores": usable_cores(), "threads": arguments.threads, "blas": _blas(),
                          "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY")},
              "seconds": samples, "speedup": {}}
    print(f"\n{'seconds per step':40} median     min     max")
    for name, values in samples.items():
        print(f"{name:40} {statistics.median(values):6.3f}  {min(values):6.3f}  {max(values):6.3f}")
    for our_name, _, peer_name, _ in pairs:
        rounds = [theirs / mine for mine, theirs in zip(samples[our_name], samples[peer_name])]
        ratio = statistics.median(samples[peer_name]) / statistics.median(samples[our_name])
        result["speedup"][peer_name] = {"of_medians": ratio, "per_round": rounds}
        print(f"{our_name}: speedup over {peer_name}: {ratio:.2f} ({min(rounds):.2f} to {max(rounds):.2f} over the rounds)")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(result, file, indent=1)
