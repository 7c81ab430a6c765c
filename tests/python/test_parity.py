# SPDX-License-Identifier: Apache-2.0
"""The package against the C++ adapter, bit for bit, and against torch's own optimizers."""
import os
import subprocess

import pytest
import torch
from conftest import needs_torch
from nets import loss_of, mlp, numbers

import libtrasmuon
from libtrasmuon import Layout

SHAPES = [(24, 16), (16, 40), (3, 8, 12), (8, 4, 3, 3), (48, 16), (16, 32)]


def _python_steps(rule):
    tensors = [numbers(shape, i).requires_grad_() for i, shape in enumerate(SHAPES)]
    bias = numbers((24,), 99).requires_grad_()
    layouts = [Layout()] * 4 + [Layout(split_sizes=(16, 16, 16)), Layout(transposed=True)]
    group = {"params": tensors, "rule": rule}
    if rule != "adamw":
        group["layouts"] = layouts
    optimizer = libtrasmuon.TrasMuon([group, {"params": bias, "rule": "adamw", "lr": 1e-3}])
    for t in range(200):
        for i, tensor in enumerate([*tensors, bias]):
            tensor.grad = numbers(tensor.shape, 1000 * (t + 1) + i)
        optimizer.param_groups[0]["lr"] = 0.01 * (1 - t / 400)
        optimizer.step()
    return torch.cat([tensor.detach().reshape(-1) for tensor in [*tensors, bias]])


@pytest.mark.parametrize("rule", ["trasmuon", "normuon", "muon", "dion", "adamw"])
def test_200_steps_equal_the_cpp_adapter_to_the_bit(rule, tmp_path):
    program = os.environ.get("TRASMUON_ADAPTER_STEPS")
    if not program:
        pytest.skip("TRASMUON_ADAPTER_STEPS does not name the program adapter_steps; make test sets it")
    subprocess.run([program, rule, str(tmp_path / "weights")], check=True)
    theirs = torch.frombuffer(bytearray((tmp_path / "weights").read_bytes()), dtype=torch.float32)
    ours = _python_steps(rule)
    assert torch.isfinite(ours).all() and torch.equal(ours, theirs)


@torch.no_grad()
def _distance(a, b):
    return max((p - q).abs().max().item() for p, q in zip(a, b))


def _compare(ours, theirs, make_ours, make_theirs, steps=200):
    """Trains both models and returns the largest difference of a weight, relative to the largest change."""
    start = [p.detach().clone() for p in ours.parameters()]
    mine, other = make_ours(ours), make_theirs(theirs)
    for _ in range(steps):
        for model, optimizer in ((ours, mine), (theirs, other)):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()
    return _distance(ours.parameters(), theirs.parameters()) / _distance(ours.parameters(), start)


@pytest.mark.parametrize("dtype, bound", [(torch.float64, 1e-12), (torch.float32, 1e-4)])
def test_adamw_equals_torch(dtype, bound, device):
    # f32: the same formula in another order of operations; the rounding passes through 200 steps of training.
    options = {"lr": 1e-2, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.1}
    difference = _compare(
        mlp(device, dtype),
        mlp(device, dtype),
        lambda model: libtrasmuon.AdamW(model, **options),
        lambda model: torch.optim.AdamW(model.parameters(), **options),
    )
    assert difference < bound


def _muon_step(weight, gradient, momentum, lr, decay):
    """torch.optim.Muon's algebra (lerp momentum, Nesterov, Keller's coefficients) without its rounding to bf16."""
    momentum.lerp_(gradient, 0.05)
    x = gradient.lerp(momentum, 0.95)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    weight.mul_(1 - lr * decay)
    weight.sub_(x.T if tall else x, alpha=lr * max(1, weight.size(0) / weight.size(1)) ** 0.5)


@pytest.mark.parametrize("shape", [(8, 24), (24, 8), (16, 16), (7, 5)])
def test_muon_equals_its_algebra(shape):
    ours = torch.randn(shape, dtype=torch.float64).requires_grad_()
    theirs, momentum = ours.detach().clone(), torch.zeros(shape, dtype=torch.float64)
    optimizer = libtrasmuon.Muon([ours], lr=0.02, weight_decay=0.1)
    for _ in range(100):
        ours.grad = torch.randn(shape, dtype=torch.float64)
        _muon_step(theirs, ours.grad, momentum, 0.02, 0.1)
        optimizer.step()
    # The difference that remains is deliberate: eps is scaled with the matrix here, so tiny gradients step as well.
    assert (ours - theirs).abs().max() < 1e-6


@needs_torch(2, 9, "torch.optim.Muon")
@pytest.mark.parametrize("adjust, scaling", [("original", "original"), ("match_rms_adamw", "match_rms_adamw")])
def test_muon_equals_torch_up_to_its_bf16_iteration(adjust, scaling):
    shape = (32, 48)
    ours = torch.randn(shape).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    mine = libtrasmuon.Muon([ours], lr=0.02, weight_decay=0.1, scaling=scaling)
    other = torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1, adjust_lr_fn=adjust)
    start = ours.detach().clone()
    for _ in range(50):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        mine.step()
        other.step()
    # bf16 has 8 bits: 2^-9 per product; five steps of the iteration multiply errors by up to 3.4 each.
    assert (ours - theirs).norm() < 0.02 * (ours - start).norm()
