#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lightning: configure_optimizers, a schedule, clipping, a checkpoint that is resumed. Needs lightning."""
import logging
import pathlib
import tempfile

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import libtrasmuon


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
        self.losses: "list[float]" = []

    def training_step(self, batch: "tuple[torch.Tensor, torch.Tensor]", index: int) -> torch.Tensor:
        loss = (self.net(batch[0]) - batch[1]).square().mean()
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self) -> "dict[str, object]":
        optimizer = libtrasmuon.TrasMuon(self, lr=5e-3, adamw={"lr": 1e-3})
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)}


def make_trainer(folder: str, epochs: int) -> lightning.Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lightning.Trainer(
        accelerator="cpu", max_epochs=epochs, gradient_clip_val=10.0, default_root_dir=folder, **quiet
    )


def main() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    data = DataLoader(TensorDataset(x, x.sin().sum(1, keepdim=True)), batch_size=32)
    with tempfile.TemporaryDirectory() as folder:
        first, trainer = Module(), make_trainer(folder, 4)
        trainer.fit(first, data)
        path = pathlib.Path(folder, "last.ckpt")
        trainer.save_checkpoint(path)
        resumed = Module()
        make_trainer(folder, 8).fit(resumed, data, ckpt_path=str(path))
    print("losses", first.losses[0], resumed.losses[0], resumed.losses[-1])
    assert resumed.losses[0] < 0.5 * first.losses[0] and resumed.losses[-1] < 0.1 * first.losses[0]


if __name__ == "__main__":
    main()
