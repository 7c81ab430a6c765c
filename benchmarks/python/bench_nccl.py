#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a step over ranks on one GPU: one rank through NCCL, beside one process without a group.

    benchmarks/python/bench_nccl.py BUILD/src/libtrasmuon.so [--json FILE]

"copies": the rank has whole weights (DDP). "rows": DTensors sharded by rows (FSDP2). With one rank nothing travels, and
the step is that of one process: so this shows what the drivers add. What phases cost is in bench_step_cuda.
Needs torch 2.6 or later, and one GPU.
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))  # the package of this tree

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libtrasmuon.so, with libtrasmuon_cuda.so beside it")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file")
    arguments = parser.parse_args()
    os.environ["TRASMUON_LIBRARY"] = arguments.library  # read when the package is imported
    from models import MODELS, parameters
    from steps_on_cuda import Report, milliseconds

    from libtrasmuon import TrasMuon
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    mesh = init_device_mesh("cuda", (1,))
    report = Report(arguments.json)
    for name, shapes in MODELS.items():
        report.begin(name, shapes)
        tensors = parameters(shapes, torch.float32, "cuda")
        report.add("one process", milliseconds(TrasMuon(tensors).step))
        report.add("copies", milliseconds(TrasMuon(tensors, process_group=dist.group.WORLD).step))
        rows = []
        for tensor in tensors:
            rows.append(torch.nn.Parameter(distribute_tensor(tensor.detach(), mesh, [Shard(0)])))
            rows[-1].grad = distribute_tensor(tensor.grad, mesh, [Shard(0)])
        report.add("rows", milliseconds(TrasMuon(rows).step))
        del tensors, rows
        torch.cuda.empty_cache()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
