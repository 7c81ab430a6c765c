# SPDX-License-Identifier: Apache-2.0
"""Steps on the GPU: every rule and its peers, with the card's ceilings of the same run."""
import json
import statistics
import sys

import torch

import libtrasmuon
import other_packages
from libtrasmuon import TrasMuon
from models import MODELS, SHAPES, parameters
from torch_trasmuon import TorchTrasMuon


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


def _ceilings():
    """TFLOP/s of a large product and TB/s of a large copy."""
    found = {}
    for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
        a, b = (torch.randn(8192, 8192, device="cuda", dtype=dtype) for _ in range(2))
        found[f"{name} product, TFLOP/s"] = 2 * 8192**3 / milliseconds(lambda: a @ b, 20)[0] * 1e-9
    x = torch.randn(2**30, device="cuda")
    y = torch.empty_like(x)
    found["copy, TB/s"] = 2 * 4 * 2**30 / milliseconds(lambda: y.copy_(x), 20)[0] * 1e-9
    return found


def _floor(shapes, limits, bytes_per_parameter=26):
    """Milliseconds that no version of a step beats by much: Newton-Schulz in the Gram form with one restart and
    symmetric products, and every byte read and written once."""
    operations = sum(count * (6 * max(m, n) / min(m, n) + 14) * min(m, n) ** 3 for m, n, count in shapes)
    elements = sum(m * n * count for m, n, count in shapes)
    return (operations / limits["bf16 product, TFLOP/s"] + elements * bytes_per_parameter / limits["copy, TB/s"]) * 1e-9


def _ours(kind, tensors, **options):
    """The whole step as a user of the package has it, with what Python adds."""
    optimizer = kind(tensors, **options)
    times = milliseconds(optimizer.step)
    return times, [optimizer.state_bytes() / 2**20, optimizer.workspace_bytes() / 2**20]


def _peers(tensors, arguments):
    yield "torch AdamW, fused (elementwise, for scale)", torch.optim.AdamW(tensors, fused=True).step
    if hasattr(torch.optim, "Muon"):
        yield "torch.optim.Muon", torch.optim.Muon(tensors).step
    yield "TrasMuon in torch, eager", TorchTrasMuon(tensors).step
    yield "TrasMuon in torch, compiled", TorchTrasMuon(tensors, compiled=True).step
    yield from other_packages.steps(tensors, arguments)


class Report:
    def __init__(self, path):
        self._path, self.limits = path, _ceilings()
        self._result = {"card": torch.cuda.get_device_name(), "torch": torch.__version__,
                        "command": " ".join(sys.argv), "ceilings": self.limits, "milliseconds, median and minimum": {}}
        print(f"{self._result['card']}, torch {torch.__version__}")
        print(", ".join(f"{name} {value:.4g}" for name, value in self.limits.items()))

    def begin(self, name, shapes):
        floor = _floor(shapes, self.limits)
        self._times = self._result["milliseconds, median and minimum"][name] = {"floor": floor}
        print(f"{name}, floor {floor:.3f} ms")

    def add(self, name, times, memory=None):
        self._times[name] = times
        note = f"   state {memory[0]:.0f} MiB, workspace {memory[1]:.0f} MiB" if memory else ""
        print(f"  {name:48} {times[0]:9.3f} ms ({times[1]:.3f}){note}", flush=True)
        if self._path:  # after each row: compiling a peer may take long, or fail
            with open(self._path, "w") as file:
                json.dump(self._result, file, indent=1)


def _time_model(name, shapes, arguments, report):
    report.begin(name, shapes)
    tensors = parameters(shapes, torch.float32, "cuda")
    for kind in (TrasMuon, libtrasmuon.NorMuon, libtrasmuon.Muon, libtrasmuon.AdamW):
        report.add(f"ours, {kind.rule}", *_ours(kind, tensors))
    for precision in ("bf16", "tf32", "f32"):
        report.add(f"ours, trasmuon, {precision} iteration",
                   *_ours(TrasMuon, tensors, ns_precision=precision))
    report.add("ours, trasmuon, bf16 weights and gradients",
               *_ours(TrasMuon, parameters(shapes, torch.bfloat16, "cuda")))
    if arguments.dion:
        report.add("ours, dion, rank 1/4", *_ours(libtrasmuon.Dion, tensors, rank_fraction=0.25))
    found = arguments.no_peers
    for peer, step in () if arguments.no_peers else _peers(tensors, arguments):
        if arguments.peers in peer:
            found = True
            report.add(peer, milliseconds(step))
    if not found:
        sys.exit(f"bench.py: --peers must be part of a peer's name, got {arguments.peers!r}")


def run(arguments):
    if not torch.cuda.is_available():
        sys.exit("bench.py: --device cuda needs a GPU that torch can use")
    report = Report(arguments.json)
    alone = SHAPES
    if arguments.only:
        alone = {name: shapes for name, shapes in {**MODELS, **SHAPES}.items() if name in arguments.only}
    else:
        for name, shapes in MODELS.items():
            _time_model(name, shapes, arguments, report)
            torch.cuda.empty_cache()
    for name, shapes in alone.items():
        report.begin(name, shapes)
        report.add("ours, trasmuon", *_ours(TrasMuon, parameters(shapes, torch.float32, "cuda")))
