#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plain training loop: schedule, clipping, diagnostics, checkpoint. Learns to continue sequences of digits."""
import pathlib
import tempfile

import torch
from torch import nn

import libtrasmuon
from libtrasmuon import diagnostics


class Model(nn.Module):
    def __init__(self, symbols: int = 10, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(width, 4, 64, 0.0, batch_first=True) for _ in range(2)])
        self.head = nn.Linear(width, symbols)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


def batch(size: int = 64) -> "tuple[torch.Tensor, torch.Tensor]":
    """Sequences that go up by a constant, modulo ten."""
    start, stride = torch.randint(10, (size, 1)), torch.randint(1, 4, (size, 1))
    sequence = (start + stride * torch.arange(6)) % 10
    return sequence[:, :5], sequence[:, 5]


def main() -> None:
    torch.manual_seed(0)
    model = Model()
    print(libtrasmuon.classify(model))
    optimizer = libtrasmuon.TrasMuon(model, lr=0.01, adamw={"lr": 3e-3}, diagnostics=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=150)
    optimizer.add_callback(
        diagnostics.ToFunction(lambda numbers, step: print(f"  update RMS {numbers['optimizer/update_rms']:.2e}")),
        every=50,
    )
    for step in range(150):
        x, y = batch()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(step, loss.item())

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "checkpoint.pt")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        saved = torch.load(path)
    resumed = Model()
    resumed.load_state_dict(saved["model"])
    again = libtrasmuon.TrasMuon(resumed)
    again.load_state_dict(saved["optimizer"])
    assert again.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]

    x, y = batch(1000)
    share = (resumed(x).argmax(1) == y).float().mean().item()
    print(f"right answers: {share:.1%}")
    assert share > 0.9


if __name__ == "__main__":
    main()
