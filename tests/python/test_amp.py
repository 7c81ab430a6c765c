# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: autocast and GradScaler."""
import math

import pytest
import torch
from conftest import TORCH, needs_torch
from nets import equal, loss_of, mlp, train

import libtrasmuon
from libtrasmuon import AdamW, TrasMuon


def test_autocast(device):
    model = mlp(device)
    optimizer = TrasMuon(model, lr=2e-2)
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
    optimizer = TrasMuon(model, lr=2e-2, master_weights=True)
    before = loss_of(model).item()
    train(model, optimizer, 100)
    assert loss_of(model).item() < 0.4 * before
    master = optimizer.state[model[2].weight]["master"]
    assert torch.equal(master.to(torch.bfloat16), model[2].weight)


def test_the_scaler_of_this_version_of_torch():
    """Protocols differ: torch 1.13 must unscale by itself, later ones leave it to the optimizer."""
    sets_attributes = "found_inf" in torch.cuda.amp.GradScaler.step.__code__.co_names
    assert TrasMuon._step_supports_amp_scaling is sets_attributes is (TORCH >= (2, 0))


@pytest.mark.skipif(TORCH >= (2, 0), reason="torch 1.13: its GradScaler gives itself to the optimizer")
def test_grad_scaler_of_old_versions(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    class OnTheCpu(torch.cuda.amp.GradScaler):
        def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
            for group in optimizer.param_groups:
                for p in group["params"]:
                    p.grad.mul_(inv_scale)
            return {torch.device("cpu"): found_inf}

    model, other = mlp(), mlp()
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    scaler = OnTheCpu(init_scale=2.0**10)
    scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
    for _ in range(3):
        optimizer.zero_grad()
        (loss_of(model) * scaler.get_scale()).backward()
        scaler.step(optimizer)
        scaler._per_optimizer_states.clear()  # update() needs a GPU too
    assert equal(list(model.parameters()), train(other, plain, 3))


def test_scales_with_one_element_of_one_dimension():
    """As torch 1.13's are; parameters may have none."""
    weight = torch.tensor(1.0, requires_grad=True)
    optimizer = AdamW([weight], lr=0.1, weight_decay=0.0)
    weight.grad = torch.tensor(2.0)
    optimizer.found_inf, optimizer.grad_scale = torch.zeros(1), torch.full((1,), 2.0)
    optimizer.step()
    assert weight.item() == pytest.approx(0.9, rel=1e-5) and weight.grad.item() == 1.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_small_gradients_do_not_vanish_when_they_are_unscaled(dtype, device):
    weight = torch.zeros(4, 4, dtype=dtype, device=device, requires_grad=True)
    optimizer = AdamW([weight], lr=1e-2, weight_decay=0.0, master_weights=True, eps=1e-12)
    weight.grad = torch.full_like(weight, 1e-8 * 65536)  # unscaled it is less than f16's least number
    optimizer.found_inf = torch.zeros((), device=device)
    optimizer.grad_scale = torch.full((), 65536.0, device=device)
    optimizer.step()
    assert torch.allclose(weight.float(), torch.full((4, 4), -0.01, device=device), rtol=0.01)


@pytest.mark.parametrize("value", [float("nan"), 1.0])
def test_half_precision_steps_with_found_inf_are_skipped(value, device):
    weight = torch.zeros(4, 4, dtype=torch.float16, device=device, requires_grad=True)
    optimizer = AdamW([weight])
    weight.grad = torch.full_like(weight, value)
    optimizer.found_inf = torch.ones((), device=device)
    optimizer.grad_scale = torch.full((), 2.0, device=device)
    optimizer.step()
    assert not weight.any() and optimizer.state[weight]["skipped"].item() == 1


def test_a_refused_step_leaves_the_gradients_as_they_are():
    weights = [torch.zeros(4, 4, requires_grad=True) for _ in range(2)]
    optimizer = AdamW(weights)
    weights[0].grad, weights[1].grad = torch.ones(4, 4), torch.ones(4, 4).to_sparse()
    optimizer.found_inf, optimizer.grad_scale = torch.zeros(()), torch.tensor(4.0)
    with pytest.raises(libtrasmuon.Error, match="must be dense"):
        optimizer.step()
    assert (weights[0].grad == 1).all()


def test_steps_that_the_host_skips_are_not_applied():
    model, calls = mlp(), []
    optimizer = TrasMuon(model)
    optimizer.add_callback(lambda _, step: calls.append(step))
    for found_inf in (0.0, 1.0, 0.0):
        _scaled_step(model, optimizer, 4.0, found_inf)
    assert optimizer.applied_steps == 2 and calls == [1, 2]
