# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: autocast and GradScaler."""
import math

import pytest
import torch
from conftest import needs_torch
from nets import equal, loss_of, mlp, train

from libtrasmuon import TrasMuon


def test_autocast(device):
    model = mlp(device)
    optimizer = TrasMuon(model, lr=5e-3)
    before = loss_of(model).item()
    for _ in range(100):
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = loss_of(model)
        loss.backward()
        optimizer.step()
    assert loss_of(model).item() < 0.3 * before


def _scaled_step(model, optimizer, scale, found_inf):
    """A step as GradScaler.step does it with optimizers that support it."""
    optimizer.zero_grad()
    (loss_of(model) * scale).backward()
    first = next(model.parameters())
    optimizer.found_inf = torch.full((), found_inf, device=first.device)
    optimizer.grad_scale = torch.full((), scale, device=first.device)
    optimizer.step()
    del optimizer.found_inf, optimizer.grad_scale


def test_gradients_are_unscaled(device):
    model, other = mlp(device), mlp(device)
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    for _ in range(3):
        _scaled_step(model, optimizer, 1024.0, 0.0)  # a power of two: exact
    assert equal(list(model.parameters()), train(other, plain, 3))


@pytest.mark.parametrize("preset", ["default", "paper"])  # the paper's lets NaN through
def test_found_inf_skips_and_counts(preset, device):
    model = mlp(device)
    optimizer = TrasMuon(model, preset=preset)
    train(model, optimizer, 2)
    before = [p.detach().clone() for p in model.parameters()]
    momentum = optimizer.state[model[2].weight]["momentum"].clone()
    _scaled_step(model, optimizer, 1024.0, 1.0)
    assert equal(before, list(model.parameters()))
    assert torch.equal(momentum, optimizer.state[model[2].weight]["momentum"])
    assert all(state["skipped"].sum() == 1 for state in optimizer.state.values())
    _scaled_step(model, optimizer, 1024.0, 0.0)
    assert not equal(before, list(model.parameters()))


def _scaler(device, **options):
    return torch.amp.GradScaler(device.type, **options)


@needs_torch(2, 3, "GradScaler on the CPU")
@pytest.mark.parametrize("clip", [False, True])
def test_grad_scaler(device, clip):
    model, other = mlp(device), mlp(device)
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    scaler = _scaler(device, init_scale=2.0**10, growth_interval=2)
    for _ in range(6):
        optimizer.zero_grad()
        scaler.scale(loss_of(model)).backward()
        if clip:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), math.inf)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**13
    assert equal(list(model.parameters()), train(other, plain, 6))


@needs_torch(2, 3, "GradScaler on the CPU")
def test_grad_scaler_backs_off(device):
    model = mlp(device)
    optimizer = TrasMuon(model)
    scaler = _scaler(device, init_scale=2.0**10)
    scaler.scale(loss_of(model)).backward()
    model[0].bias.grad[0] = math.inf
    before = [p.detach().clone() for p in model.parameters()]
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**9 and equal(before, list(model.parameters()))


def test_bf16_model_with_masters_learns(device):
    model = mlp(device, torch.bfloat16)
    optimizer = TrasMuon(model, lr=5e-3, master_weights=True)
    before = loss_of(model).item()
    train(model, optimizer, 100)
    assert loss_of(model).item() < 0.4 * before
    master = optimizer.state[model[2].weight]["master"]
    assert torch.equal(master.to(torch.bfloat16), model[2].weight)
