#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""huggingface_trainer.py on many processes, each matrix stepped by one of them:
torchrun --nproc-per-node 2 examples/python/huggingface_ddp.py. Needs transformers and accelerate."""
import tempfile
from typing import Any

import torch
import torch.distributed as dist
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from huggingface_trainer import Digits
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, get_constant_schedule

import libtrasmuon


class Gather(TrainerCallback):
    """Trainer asks only the first rank for its state dict; all ranks have to gather it before."""

    def on_step_end(self, args: Any, state: Any, control: Any, optimizer: Any = None, **_: Any) -> None:
        if control.should_save:
            optimizer.optimizer.consolidate_state_dict()

    on_epoch_end = on_step_end


def make_trainer(folder: str, steps: int) -> Trainer:
    arguments = TrainingArguments(
        folder,
        max_steps=steps,
        per_device_train_batch_size=16,
        save_steps=10,
        report_to=[],
        use_cpu=not torch.cuda.is_available(),
        logging_steps=10,
    )
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=10, n_positions=8, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config).to(arguments.device)  # before the optimizer is built
    layouts = {"*.attn.c_attn.weight": {"transposed": True, "split_sizes": 3}}
    optimizer = libtrasmuon.TrasMuon(
        model, lr=0.01, adamw={"lr": 3e-3}, layouts=layouts, process_group=dist.group.WORLD
    )
    schedule = get_constant_schedule(optimizer)
    return Trainer(model, arguments, train_dataset=Digits(), optimizers=(optimizer, schedule), callbacks=[Gather()])


def main() -> None:
    PartialState(cpu=not torch.cuda.is_available())  # starts the process group
    folder = broadcast_object_list([tempfile.mkdtemp()])[0]  # every rank has that of the first
    first = make_trainer(folder, 20)
    first.train()
    whole = make_trainer(folder, 40)
    whole.train(resume_from_checkpoint=True)
    losses = [float(entry["loss"]) for entry in whole.state.log_history if "loss" in entry]
    print("losses", losses)
    assert whole.args.world_size > 1 and len(losses) == 4 and losses[-1] < 0.5 < losses[0]
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
