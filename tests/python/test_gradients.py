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
