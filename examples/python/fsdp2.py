#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plain_loop.py on many processes with FSDP2: torchrun --nproc-per-node 2 examples/python/fsdp2.py"""
import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from plain_loop import Model, batch
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

import libtrasmuon


def sharded_model(device: torch.device) -> nn.Module:
    model = Model().to(device)
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def main() -> None:
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank, device = dist.get_rank(), torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = sharded_model(device)
    optimizer = libtrasmuon.TrasMuon(model, lr=0.01, adamw={"lr": 3e-3})
    if rank == 0:
        print(optimizer.table())
        print(optimizer.ownership())

    torch.manual_seed(1 + rank)  # each rank has data of its own
    for step in range(120):
        x, y = (tensor.to(device) for tensor in batch(32))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder)  # all ranks write to that of rank 0
    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder[0])

    resumed = sharded_model(device)  # this could be another number of ranks
    again = libtrasmuon.TrasMuon(resumed)
    model_state, optimizer_state = get_state_dict(resumed, again)
    dcp.load({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder[0])
    set_state_dict(resumed, again, model_state_dict=model_state, optim_state_dict=optimizer_state)
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder[0])

    x, y = (tensor.to(device) for tensor in batch(1000))
    share = (resumed(x).argmax(1) == y).float().mean().item()
    print(f"rank {rank}: right answers: {share:.1%}")
    assert share > 0.9 and again.param_groups[0]["lr"] == 0.01
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
