#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accelerate: bf16 autocast, gradient accumulation, clipping, checkpoints. Needs accelerate."""
import os
import tempfile

# Some virtual machines announce AMX but stop programs that use it, and oneDNN uses it in bf16 products.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import libtrasmuon


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    data = DataLoader(TensorDataset(x, x.sin().sum(1, keepdim=True)), batch_size=32)
    model = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = libtrasmuon.TrasMuon(model, lr=5e-3, adamw={"lr": 1e-3})
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2, cpu=True)
    model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    losses = []
    for epoch in range(10):
        total = 0.0
        for inputs, targets in data:
            with accelerator.accumulate(model):
                loss = (model(inputs) - targets).square().mean()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 10.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            total += loss.item() / len(data)
        losses.append(total)
        if epoch == 4:
            with tempfile.TemporaryDirectory() as folder:
                accelerator.save_state(folder)
                accelerator.load_state(folder)
    print("losses", [round(value, 3) for value in losses])
    assert losses[-1] < 0.3 * losses[0]


if __name__ == "__main__":
    main()
