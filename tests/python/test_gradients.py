# SPDX-License-Identifier: Apache-2.0
"""Gradients that are not as their weights are: they are copied, or refused, and never read as something else."""
import pytest
import torch
from nets import loss_of, mlp, train
from torch import nn

import libtrasmuon
from libtrasmuon import AdamW, Muon, TrasMuon


def _stepped(weight):
    """An optimizer over a weight that has had a step, with the gradient still there."""
    optimizer = AdamW([weight], lr=0.1, weight_decay=0.0)
    weight.grad = torch.ones_like(weight)
    optimizer.step()
    return optimizer


def test_weights_cut_in_place_are_refused():
    """Pruning: the memory begins where it did, and the new gradient is smaller than what the library would read."""
    model = nn.Linear(8, 8, bias=False)
    optimizer = Muon(model, overrides={"weight": "matrix"})
    for rows in (8, 4):
        model.weight.data = model.weight.data[:rows]
        model.weight.grad = None
        model(torch.randn(2, 8)).sum().backward()
        if rows == 8:
            optimizer.step()
    before = model.weight.detach().clone()
    with pytest.raises(libtrasmuon.Error, match=r"state .momentum. must stay \[4, 8\], got \[8, 8\]"):
        optimizer.step()
    assert torch.equal(before, model.weight)


@pytest.mark.parametrize("rows", [2, 8])
def test_gradients_of_another_size_are_refused(rows):
    weight = torch.zeros(4, 8, requires_grad=True)
    optimizer = _stepped(weight)
    weight.grad.data = torch.ones(rows, 8)
    with pytest.raises(libtrasmuon.Error, match=rf"gradient of 'group0.0': shape must be \[4, 8\], got \[{rows}, 8\]"):
        optimizer.step()


def test_gradients_of_another_dtype_at_the_same_address():
    weight = torch.zeros(4, 8, requires_grad=True)
    optimizer = _stepped(weight)
    weight.grad.data = weight.grad.data.view(torch.float64)  # half as many, in the same memory
    with pytest.raises(libtrasmuon.Error, match="shape must be"):
        optimizer.step()
    weight.grad = torch.ones(4, 8)
    optimizer.step()
    assert torch.allclose(weight, torch.full((4, 8), -0.2), atol=1e-5)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,)])
def test_negated_views_as_gradients(shape):
    """The imaginary part of a conjugate: torch changes the sign when it reads. One element is contiguous all the same."""
    weight = torch.zeros(shape, requires_grad=True)
    optimizer = AdamW([weight], lr=0.1, weight_decay=0.0)
    weight.grad = torch.full(shape, 1 + 2j).conj().imag
    assert weight.grad.is_neg()
    optimizer.step()
    assert torch.allclose(weight, torch.full(shape, 0.1), atol=1e-5)


def test_views_and_broadcasts_as_gradients():
    weight, other = torch.zeros(4, 8, requires_grad=True), torch.zeros(4, 8, requires_grad=True)
    ours, plain = AdamW([weight], lr=0.1), AdamW([other], lr=0.1)
    for gradient in (torch.ones(1, 1).expand(4, 8), torch.randn(8, 4).t(), torch.randn(5, 9)[1:, 1:]):
        weight.grad, other.grad = gradient, gradient.contiguous()
        ours.step()
        plain.step()
        assert torch.equal(weight, other)


def test_a_model_converted_twice_between_steps():
    """The second conversion may take the memory that the first has left."""
    for _ in range(20):
        model = mlp()
        optimizer = TrasMuon(model)
        train(model, optimizer, 2)
        model.to(torch.float64).to(torch.bfloat16)
        before = model[2].weight.detach().clone()
        train(model, optimizer, 1)
        assert torch.isfinite(loss_of(model)) and not torch.equal(before, model[2].weight)


def test_gradients_without_memory_are_refused():
    weight = torch.zeros(4, 8, requires_grad=True)
    optimizer = _stepped(weight)
    before = weight.detach().clone()
    weight.grad.storage().resize_(0)  # as programs do that free gradients by hand
    with pytest.raises(libtrasmuon.Error, match=r"gradient of 'group0.0': must have memory, got a storage of 0 bytes"):
        optimizer.step()
    assert torch.equal(before, weight)


@pytest.mark.gpu
def test_gradients_left_on_another_device_are_refused():
    weight, other = torch.zeros(4, 8, requires_grad=True), torch.zeros(4, 8, requires_grad=True)
    optimizer = AdamW([weight, other])
    other.grad = torch.ones_like(other)
    optimizer.step()
    weight.grad = torch.ones_like(weight)
    weight.data = weight.data.cuda()
    with pytest.raises(libtrasmuon.Error, match="gradient of 'group0.0': must be on cuda:0, as the weight, got device"):
        optimizer.step()
    weight.grad = torch.ones_like(weight)
    optimizer.step()
    weight.grad.data = weight.grad.data.cpu()
    with pytest.raises(libtrasmuon.Error, match="gradient of 'group0.0': must be on cuda:0, as the weight, got device"):
        optimizer.step()


def test_the_device_of_new_gradients_is_checked(monkeypatch):
    """Without a GPU: the check alone."""
    from libtrasmuon import _gradients

    weight = torch.zeros(4, 8, requires_grad=True)
    optimizer = _stepped(weight)
    looked = []
    monkeypatch.setattr(_gradients, "_device_of", lambda tensor: looked.append(tensor) or -1)
    optimizer.step()
    assert not looked  # the same memory as before
    weight.grad = torch.ones_like(weight)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    optimizer.step()
    assert looked == [weight.grad]
    monkeypatch.setattr(_gradients, "_device_of", lambda tensor: 0)
    weight.grad = torch.ones_like(weight)
    optimizer.step()  # usable_gradient() looks at it, and finds it on the CPU
