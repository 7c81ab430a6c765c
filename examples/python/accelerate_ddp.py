#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accelerate_loop.py on many processes, each matrix stepped by one of them:
torchrun --nproc-per-node 2 examples/python/accelerate_ddp.py. Needs accelerate."""
import tempfile

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import libtrasmuon


def main() -> None:
    accelerator = Accelerator(cpu=not torch.cuda.is_available())  # starts the process group
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    data = DataLoader(TensorDataset(x, x.sin().sum(1, keepdim=True)), batch_size=16)
    model = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    model.to(accelerator.device)  # before the optimizer is built
    optimizer = libtrasmuon.TrasMuon(model, lr=5e-3, adamw={"lr": 1e-3}, process_group=dist.group.WORLD)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    # Accelerate asks every rank for its state dict when it saves.
    accelerator.register_save_state_pre_hook(lambda *_: optimizer.consolidate_state_dict(to=None))
    model, prepared, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    losses = []
    for epoch in range(10):
        total = 0.0
        for inputs, targets in data:
            loss = (model(inputs) - targets).square().mean()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 10.0)
            prepared.step()
            schedule.step()
            prepared.zero_grad()
            total += loss.item() / len(data)
        losses.append(total)
        if epoch == 4:
            folder = broadcast_object_list([tempfile.mkdtemp()])[0]
            accelerator.save_state(folder)
            accelerator.wait_for_everyone()
            accelerator.load_state(folder)
    accelerator.print("losses", [round(value, 3) for value in losses])
    assert accelerator.num_processes > 1 and losses[-1] < 0.3 * losses[0]
    accelerator.end_training()


if __name__ == "__main__":
    main()
