#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plain_loop.py on many processes with DistributedDataParallel: torchrun --nproc-per-node 2 examples/python/ddp.py"""
import pathlib
import tempfile

import torch
import torch.distributed as dist
from plain_loop import Model, batch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import libtrasmuon


def main() -> None:
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank, device = dist.get_rank(), torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = DistributedDataParallel(Model().to(device))
    optimizer = libtrasmuon.TrasMuon(model, lr=0.01, adamw={"lr": 3e-3}, process_group=dist.group.WORLD)
    if rank == 0:
        print(optimizer.table())
        print(optimizer.ownership())

    torch.manual_seed(1 + rank)  # each rank has data of its own
    for step in range(120):
        x, y = (tensor.to(device) for tensor in batch(32))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    optimizer.consolidate_state_dict()  # every rank calls it; rank 0 then has the whole state
    if rank == 0:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "checkpoint.pt")
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, path)
            saved = torch.load(path)
        alone = Model()  # one process, or any other number of ranks, goes on with it
        alone.load_state_dict(saved["model"])
        libtrasmuon.TrasMuon(alone).load_state_dict(saved["optimizer"])

    x, y = (tensor.to(device) for tensor in batch(1000))
    share = (model(x).argmax(1) == y).float().mean().item()
    print(f"rank {rank}: right answers: {share:.1%}")
    assert share > 0.9
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
