#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times an optimizer step on the GPU: ours beside its peers, with the card's ceilings of the same run.

    benchmarks/gpu/bench.py BUILD/src/libtrasmuon.so [--json FILE] [--no-peers] [--only MODEL ...]
"""
import argparse
import json
import statistics
import sys

import torch

from library import Optimizer
from torch_trasmuon import TorchTrasMuon

MODELS = {
    "GPT-2 small": [((2304, 768), 12), ((768, 768), 12), ((3072, 768), 12), ((768, 3072), 12)],
    "Qwen3-0.6B": [((2048, 1024), 28), ((1024, 1024), 56), ((1024, 2048), 28), ((3072, 1024), 56), ((1024, 3072), 28)],
}
OTHERS = {
    "448 heads of 64 x 1024": [((64, 1024), 448)],
    "64 experts of 256 x 1024": [((256, 1024), 64)],
    "one 8192 x 8192": [((8192, 8192), 1)],
    "7 x 1024 x 1024": [((1024, 1024), 7)],
    "28 x 1024 x 1024": [((1024, 1024), 28)],
    "112 x 1024 x 1024": [((1024, 1024), 112)],
    "7 x 2048 x 2048": [((2048, 2048), 7)],
    "7 x 4096 x 4096": [((4096, 4096), 7)],
}


def parameters(shapes, dtype):
    torch.manual_seed(0)
    tensors = []
    for (rows, cols), count in shapes:
        for _ in range(count):
            p = torch.randn(rows, cols, device="cuda", dtype=dtype).requires_grad_()
            p.grad = torch.randn(rows, cols, device="cuda", dtype=dtype)
            tensors.append(p)
    return tensors


def milliseconds(step, repeats=30):
    """Median and minimum."""
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times), min(times)


def ceilings():
    """TFLOP/s of a large product and TB/s of a large copy."""
    found = {}
    for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
        a, b = (torch.randn(8192, 8192, device="cuda", dtype=dtype) for _ in range(2))
        found[f"{name} product, TFLOP/s"] = 2 * 8192**3 / milliseconds(lambda: a @ b, 20)[0] * 1e-9
    x = torch.randn(2**30, device="cuda")
    y = torch.empty_like(x)
    found["copy, TB/s"] = 2 * 4 * 2**30 / milliseconds(lambda: y.copy_(x), 20)[0] * 1e-9
    return found


def floor(shapes, limits, bytes_per_parameter=26):
    """Gram form with one restart and symmetric products, and every byte once: no version is much faster."""
    flop = sum(count * (6 * max(s) / min(s) + 14) * min(s) ** 3 for s, count in shapes)
    size = sum(count * s[0] * s[1] for s, count in shapes)
    return flop / limits["bf16 product, TFLOP/s"] * 1e-9 + size * bytes_per_parameter / limits["copy, TB/s"] * 1e-9


def ours(library, rule, tensors, **options):
    optimizer = Optimizer(library, rule, tensors, **options)
    stream = torch.cuda.current_stream().cuda_stream
    times = milliseconds(lambda: optimizer.step(stream))
    memory = {"state, MiB": optimizer.bytes("state") / 2**20, "workspace, MiB": optimizer.bytes("workspace") / 2**20}
    optimizer.close()
    return times, memory


def peers(tensors):
    yield "torch AdamW, fused (elementwise, for scale)", torch.optim.AdamW(tensors, fused=True).step
    if hasattr(torch.optim, "Muon"):
        yield "torch.optim.Muon", torch.optim.Muon(tensors).step
    yield "TrasMuon in torch, eager", TorchTrasMuon(tensors).step
    yield "TrasMuon in torch, compiled", TorchTrasMuon(tensors, compiled=True).step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="libtrasmuon.so, with libtrasmuon_cuda.so beside it")
    parser.add_argument("--json", help="write the numbers here")
    parser.add_argument("--no-peers", action="store_true", help="time this library alone")
    parser.add_argument("--only", nargs="+", choices=[*MODELS, *OTHERS], help="TrasMuon alone, on these")
    arguments = parser.parse_args()
    others = {name: shapes for name, shapes in {**MODELS, **OTHERS}.items() if name in arguments.only} \
        if arguments.only else OTHERS

    limits = ceilings()
    result = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "command": " ".join(sys.argv),
              "ceilings": limits, "milliseconds, median and minimum": {}}
    print(f"{result['card']}, torch {torch.__version__}")
    print(", ".join(f"{name} {value:.4g}" for name, value in limits.items()))

    def report(model, name, times, note=""):
        result["milliseconds, median and minimum"][model][name] = times
        print(f"  {name:48} {times[0]:9.3f} ms ({times[1]:.3f}){note}", flush=True)
        if arguments.json:  # each time: compiling a peer may take long, or fail
            with open(arguments.json, "w") as file:
                json.dump(result, file, indent=1)

    def begin(model, shapes):
        result["milliseconds, median and minimum"][model] = {"floor": floor(shapes, limits)}
        print(f"{model}, floor {floor(shapes, limits):.3f} ms")

    for model, shapes in () if arguments.only else MODELS.items():
        begin(model, shapes)
        tensors = parameters(shapes, torch.float32)
        for rule in ("trasmuon", "normuon", "muon", "adamw"):
            times, memory = ours(arguments.path, rule, tensors)
            report(model, f"ours, {rule}", times, f"   state {memory['state, MiB']:.0f} MiB, workspace {memory['workspace, MiB']:.0f} MiB")
        for precision in ("bf16", "tf32", "f32"):
            report(model, f"ours, trasmuon, {precision} iteration",
                   ours(arguments.path, "trasmuon", tensors, ns_precision=precision)[0])
        report(model, "ours, trasmuon, bf16 weights and gradients",
               ours(arguments.path, "trasmuon", parameters(shapes, torch.bfloat16))[0])
        if not arguments.no_peers:
            for name, step in peers(tensors):
                report(model, name, milliseconds(step))
        del tensors
        torch.cuda.empty_cache()
    for model, shapes in others.items():
        begin(model, shapes)
        tensors = parameters(shapes, torch.float32)
        report(model, "ours, trasmuon", ours(arguments.path, "trasmuon", tensors)[0])


if __name__ == "__main__":
    main()
