# SPDX-License-Identifier: Apache-2.0
"""A step over GPT-2 small's matrices on the CPU: Muon beside torch.optim.Muon, TrasMuon beside torch operations. Times
are seconds on the clock, and seconds of CPU time, which other programs on the machine disturb less."""
import json
import os
import re
import statistics
import sys
import time

import torch

import libtrasmuon
import other_packages
from models import MODELS, parameters
from torch_trasmuon import TorchTrasMuon

_SLOWEST_BLAS = 8  # times slower than our products; a reference BLAS is 20 to 100


def usable_cores():
    return len(os.sched_getaffinity(0))


def _seconds(step, clock=time.perf_counter):
    start = clock()
    step()
    return clock() - start


def _both_seconds(step):
    """On the clock, and of CPU time summed over threads."""
    start = time.process_time()
    return _seconds(step), time.process_time() - start


def _cpu_model():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


def _blas():
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return found.group(1) if found else "unknown BLAS"


def _product_rate(size, dtype=torch.float32, clock=time.perf_counter):
    a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
    return 2 * size**3 / min(_seconds(lambda: a @ b, clock) for _ in range(5))


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
    muon_bf16, trasmuon_bf16 = (kind(tensors, ns_precision="bf16") for kind in (libtrasmuon.Muon, libtrasmuon.TrasMuon))
    pairs = [("Muon, this library, bf16 iteration", muon_bf16.step,
              "torch.optim.Muon, bf16 iteration", torch.optim.Muon(tensors).step),
             ("Muon, this library, bf16 iteration", muon_bf16.step, "Muon, this library", muon.step),
             ("TrasMuon, this library", trasmuon.step,
              "TrasMuon with torch operations, f32", TorchTrasMuon(tensors, dtype=torch.float32).step)]
    normuon = libtrasmuon.NorMuon(tensors, ns_precision="bf16")
    for peer, step in other_packages.steps(tensors, arguments):  # they iterate in bf16
        ours = ("TrasMuon, this library, bf16 iteration", trasmuon_bf16.step)
        pairs.append((*(ours if "TrasMuon" in peer else ("NorMuon, this library, bf16 iteration", normuon.step)), peer, step))
    sides = {name: step for pair in pairs for name, step in (pair[:2], pair[2:])}
    samples, cpu_samples = ({name: [] for name in sides} for _ in range(2))
    for step in sides.values():
        step()  # warms up
    for _ in range(arguments.rounds):
        for name, step in sides.items():
            time.sleep(0.1)  # until the threads of the last side are asleep
            wall, cpu = _both_seconds(step)
            samples[name].append(wall)
            cpu_samples[name].append(cpu)

    result = {"benchmark": "bench.py --device cpu", "command": " ".join(sys.argv), "torch": torch.__version__,
              "machine": {"cpu": _cpu_model(), "cores": usable_cores(), "threads": arguments.threads, "blas": _blas(),
                          "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY"),
                          "ONEDNN_MAX_CPU_ISA": os.environ.get("ONEDNN_MAX_CPU_ISA")},
              "torch's products of 768 x 768, GFLOP per CPU second": {
                  name: _product_rate(768, dtype, time.process_time) / 1e9
                  for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16))},
              "seconds": samples, "cpu_seconds": cpu_samples, "speedup": {}, "cpu_speedup": {}}
    for name, rate in result["torch's products of 768 x 768, GFLOP per CPU second"].items():
        print(f"torch's products of 768 x 768 in {name}: {rate:.0f} GFLOP per CPU second")
    for title, speedup, times in (("seconds per step", "speedup", samples),
                                  ("CPU seconds per step", "cpu_speedup", cpu_samples)):
        print(f"\n{title:40} median     min     max")
        for name, values in times.items():
            print(f"{name:40} {statistics.median(values):6.3f}  {min(values):6.3f}  {max(values):6.3f}")
        for our_name, _, peer_name, _ in pairs:
            rounds = [theirs / mine for mine, theirs in zip(times[our_name], times[peer_name])]
            ratio = statistics.median(times[peer_name]) / statistics.median(times[our_name])
            result[speedup][peer_name] = {"of_medians": ratio, "per_round": rounds}
            print(f"{our_name}: speedup over {peer_name}: {ratio:.2f} "
                  f"({min(rounds):.2f} to {max(rounds):.2f} over the rounds)")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(result, file, indent=1)
