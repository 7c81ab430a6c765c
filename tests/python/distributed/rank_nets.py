# SPDX-License-Identifier: Apache-2.0
"""A small model with every kind of parameter, for tests on several ranks."""
import torch
from torch import nn

import libtrasmuon

LAYOUTS = {"qkv.weight": {"num_heads": 2}}  # 10 rows: heads of 5, which ranks cut anywhere
OVERRIDES = {"conv.weight": "matrix"}  # the first convolution would take AdamW


def _with_rule(kind, lr):
    return lambda params, **options: kind(params, lr=lr, layouts=LAYOUTS, overrides=OVERRIDES, **options)


RULES = {
    "trasmuon": _with_rule(libtrasmuon.TrasMuon, 0.01),
    "normuon": _with_rule(libtrasmuon.NorMuon, 0.02),
    "muon": _with_rule(libtrasmuon.Muon, 0.02),
    "dion": _with_rule(libtrasmuon.Dion, 0.02),
    "adamw": lambda params, **options: libtrasmuon.AdamW(params, lr=1e-3, **options),
}


def mixed_groups(named_by_rule):
    """Groups of one optimizer, for parameters of a net per rule: all rules then share the exchanges of a step."""
    groups = []
    for rule, named in named_by_rule.items():
        own = [(f"{rule}.{name}", tensor) for name, tensor in named]
        if rule != "adamw":
            heads = [item for item in own if "qkv" in item[0]]
            groups.append({"params": heads, "rule": rule, "lr": 0.01, "num_heads": 2})
            matrices = [item for item in own if item[1].dim() > 1 and item not in heads and "head" not in item[0]]
            groups.append({"params": matrices, "rule": rule, "lr": 0.01})
            own = [item for item in own if item not in heads and item not in matrices]
        groups.append({"params": own, "rule": "adamw", "lr": 1e-3})
    return groups


class Net(nn.Module):
    """Matrices with few and many rows, heads, experts, a convolution, vectors, a scalar, a parameter never used."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        torch.manual_seed(1)
        self.up = nn.Linear(6, 12)
        self.qkv = nn.Linear(12, 10, bias=False)
        self.few = nn.Linear(10, 3)  # on four ranks the last one has no row
        self.experts = nn.Parameter(0.3 * torch.randn(3, 9, 3))
        self.conv = nn.Conv2d(3, 4, 2, bias=False)
        self.gain = nn.Parameter(torch.ones(1))
        self.unused = nn.Parameter(torch.ones(5, 4))
        self.head = nn.Linear(9, 1)
        self.to(dtype)

    def forward(self, x):
        hidden = self.few(torch.tanh(self.qkv(torch.tanh(self.up(x)))))
        mixed = torch.tanh(hidden @ self.experts.sum(0).t())
        picture = self.conv(hidden.reshape(-1, 3, 1, 1).expand(-1, 3, 2, 2)).mean((1, 2, 3))
        return self.gain * self.head(mixed) + picture.unsqueeze(1)


def batch(seed, size=16):
    return torch.randn(size, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def backward(model, seed=0, scale=1.0):
    """Sets new gradients, of a loss on a batch that the seed determines."""
    for parameter in model.parameters():
        parameter.grad = None
    x = batch(seed).to(next(model.parameters()).dtype)
    ((model(x) - x.sum(1, keepdim=True).sin()).square().mean() * scale).backward()


def pull(tensors, step):
    """Sets gradients that depend on weights and step, and cost less time than a model's: those of a spring to the left
    of each weight, and a push that turns."""
    for index, tensor in enumerate(tensors):
        weight = tensor.detach()
        if index not in _PUSHES:
            generator = torch.Generator().manual_seed(index)
            _PUSHES[index] = [torch.randn(weight.shape, generator=generator, dtype=torch.float64) for _ in range(7)]
        tensor.grad = torch.add(_PUSHES[index][step % 7].to(weight), weight + 0.1, alpha=3.0)


_PUSHES = {}


def weights(model):
    return [p.detach().clone() for p in model.parameters()]
