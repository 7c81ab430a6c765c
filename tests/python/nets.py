# SPDX-License-Identifier: Apache-2.0
"""Small models, gradients and comparisons."""
import torch
from torch import nn


def mlp(device="cpu", dtype=torch.float32):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)).to(device, dtype)


def loss_of(model):
    """A loss on fixed data."""
    first = next(model.parameters())
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(32, 4, generator=generator).to(first.device, first.dtype)
    return (model(x) - x.sum(1, keepdim=True).sin()).square().mean()


def train(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss_of(model).backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def equal(a, b):
    """Whether two lists of tensors are equal to the bit."""
    return len(a) == len(b) and all(torch.equal(x.cpu(), y.cpu()) for x, y in zip(a, b))


def numbers(shape, seed):
    """Numbers in [-0.5, 0.5) that are exact in f32, the same as in adapter_steps.cpp."""
    x, values = seed * 7919 + 1, []
    for _ in range(torch.Size(shape).numel()):
        x = (x * 25214903917 + 11) & 0xFFFFFFFFFFFF
        values.append((x >> 32) / 65536 - 0.5)
    return torch.tensor(values).reshape(shape)
