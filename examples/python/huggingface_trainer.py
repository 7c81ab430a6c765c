#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with a small GPT-2, whose Conv1D weights are stored [in, out]: the optimizer notices.
Saves checkpoints and resumes from one. Needs transformers and accelerate."""
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, get_constant_schedule

import libtrasmuon


class Digits(torch.utils.data.Dataset):
    """Digits that go up by one, modulo ten."""

    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> "dict[str, torch.Tensor]":
        sequence = (index + torch.arange(8)) % 10
        return {"input_ids": sequence, "labels": sequence}


def make_trainer(folder: str, steps: int) -> Trainer:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=10, n_positions=8, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    # c_attn is Q, K and V side by side.
    optimizer = libtrasmuon.TrasMuon(
        model, lr=0.01, adamw={"lr": 3e-3}, layouts={"*.attn.c_attn.weight": {"transposed": True, "split_sizes": 3}}
    )
    arguments = TrainingArguments(
        folder,
        max_steps=steps,
        per_device_train_batch_size=32,
        save_steps=10,
        report_to=[],
        use_cpu=True,
        logging_steps=10,
    )
    schedule = get_constant_schedule(optimizer)
    return Trainer(model, arguments, train_dataset=Digits(), optimizers=(optimizer, schedule))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = make_trainer(folder, 20)
        first.train()
        whole = make_trainer(folder, 40)
        whole.train(resume_from_checkpoint=True)
        table = whole.optimizer.optimizer.table() if hasattr(whole.optimizer, "optimizer") else whole.optimizer.table()
    print("\n".join(line for line in table.splitlines() if "h.0" in line))
    assert "automatic transposed 32 32 32" in table
    losses = [entry["loss"] for entry in whole.state.log_history if "loss" in entry]
    print("losses", losses)
    assert len(losses) == 4 and losses[-1] < 0.5 < losses[0]


if __name__ == "__main__":
    main()
