#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a model train differently if Newton-Schulz iterates in bf16? A small GPT on the bytes of a text, with everything
the same but `ns_precision`. The control iterates in f32 in the other form: it shows how far rounding errors of f32
alone move a run.

    benchmarks/python/iteration_precision.py BUILD/src/libtrasmuon.so [--rule TrasMuon] [--text FILE] [--json FILE]

The text is by default that of Python's help, which every Python has: pydoc_data/topics.py.
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

VARIANTS = {
    "f32": {"ns_precision": "f32"},
    "bf16": {"ns_precision": "bf16"},
    "f32, standard form": {"ns_precision": "f32", "ns_form": "standard"},
}
WIDTH, LAYERS, HEADS, CONTEXT, BATCH = 96, 2, 4, 64, 8
WARMUP = 20


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        shape = (*x.shape[:2], HEADS, WIDTH // HEADS)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(self.before_attention(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class ByteGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.positions = nn.Embedding(256, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def _loss(model, data, starts):
    windows = torch.stack([data[start : start + CONTEXT + 1] for start in starts]).long()
    return F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def _train(options, seed, arguments, train, held_out):
    """Returns the loss on text that was not trained on, after the last step."""
    import libtrasmuon

    torch.manual_seed(seed)
    model = ByteGPT()
    old = {"nesterov": False, "rms_scale": 1.0} if arguments.rule == "TrasMuon" else {}  # its defaults in decision 9
    optimizer = getattr(libtrasmuon, arguments.rule)(model, lr=arguments.lr, adamw={"lr": 1e-3}, **old, **options)
    total = arguments.steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARMUP, max(0.0, (total - step) / (0.4 * total)))
    )
    sampler = torch.Generator().manual_seed(1000 + seed)
    for _ in range(total):
        starts = torch.randint(len(train) - CONTEXT - 1, (BATCH,), generator=sampler)
        optimizer.zero_grad()
        _loss(model, train, starts).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        starts = range(0, len(held_out) - CONTEXT - 1, CONTEXT)
        return statistics.fmean(
            _loss(model, held_out, starts[first : first + 64]).item() for first in range(0, len(starts) - 63, 64)
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rule", default="TrasMuon", choices=["TrasMuon", "NorMuon", "Muon"])
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--text", metavar="FILE")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file")
    arguments = parser.parse_args()
    os.environ["TRASMUON_LIBRARY"] = arguments.library
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
    if arguments.text is None:
        import pydoc_data.topics as topics

        arguments.text = topics.__file__
    text = pathlib.Path(arguments.text).read_bytes()
    data = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    train, held_out = data[: len(data) * 9 // 10], data[len(data) * 9 // 10 :]

    losses = {name: [] for name in VARIANTS}
    for seed in range(arguments.seeds):
        for name, options in VARIANTS.items():
            start = time.perf_counter()
            losses[name].append(_train(options, seed, arguments, train, held_out))
            seconds = time.perf_counter() - start
            print(f"seed {seed}, {name:20} {losses[name][-1]:.4f}   ({seconds:.0f} s)", flush=True)

    result = {
        "benchmark": "iteration_precision.py",
        "command": " ".join(sys.argv),
        "torch": torch.__version__,
        "rule": arguments.rule,
        "steps": arguments.steps,
        "text": {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()},
        "held-out loss in nats per byte, by seed": losses,
        "difference from f32, by seed": {
            name: [mine - reference for mine, reference in zip(values, losses["f32"])]
            for name, values in losses.items()
            if name != "f32"
        },
    }
    for name, values in losses.items():
        print(f"{name:20} mean {statistics.fmean(values):.4f}, over seeds {min(values):.4f} to {max(values):.4f}")
    for name, values in result["difference from f32, by seed"].items():
        print(f"{name:20} minus f32: " + ", ".join(f"{value:+.4f}" for value in values))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
