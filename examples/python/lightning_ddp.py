#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lightning_module.py on many processes, each matrix stepped by one of them:
torchrun --nproc-per-node 2 examples/python/lightning_ddp.py. Needs lightning."""
import logging
import os
import tempfile

import lightning
import torch
import torch.distributed as dist
from lightning_module import Module
from torch.utils.data import DataLoader, TensorDataset

import libtrasmuon


class RankModule(Module):
    def configure_optimizers(self) -> "dict[str, object]":
        assert dist.get_world_size() > 1  # Lightning has started the process group
        optimizer = libtrasmuon.TrasMuon(self, lr=5e-3, adamw={"lr": 1e-3}, process_group=dist.group.WORLD)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)}


def make_trainer(folder: str, epochs: int) -> lightning.Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=epochs,
        default_root_dir=folder,
        **quiet,
    )


def main() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    data = DataLoader(TensorDataset(x, x.sin().sum(1, keepdim=True)), batch_size=16)
    with tempfile.TemporaryDirectory() as own:
        first, trainer = RankModule(), make_trainer(own, 4)
        trainer.fit(first, data)
        path = trainer.strategy.broadcast(os.path.join(own, "last.ckpt"))
        trainer.save_checkpoint(path)  # gathers the state on the first rank by itself
        resumed = RankModule()
        make_trainer(own, 8).fit(resumed, data, ckpt_path=path)
        trainer.strategy.barrier()
    print("losses", first.losses[0], resumed.losses[0], resumed.losses[-1])
    assert resumed.losses[0] < first.losses[0] and resumed.losses[-1] < 0.3 * first.losses[0]


if __name__ == "__main__":
    main()
