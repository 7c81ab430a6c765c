# SPDX-License-Identifier: Apache-2.0
"""Options that are changed between steps: refused ones, values that change in place, what cannot change."""
import pytest
import torch

import libtrasmuon
from libtrasmuon import AdamW, Muon, TrasMuon


def _with_gradient(shape=(8, 8)):
    weight = torch.zeros(shape, requires_grad=True)
    weight.grad = torch.randn(shape)
    return weight


def test_a_refused_option_leaves_none_of_the_others_behind():
    weight = _with_gradient()
    optimizer = TrasMuon([weight], lr=0.01, weight_decay=0.0)
    before = dict(optimizer.param_groups[0])  # the same objects
    optimizer.param_groups[0].update(lr=0.5, alpha=-1.0)
    with pytest.raises(libtrasmuon.Error, match="alpha must be > 0, got -1"):
        optimizer.step()
    optimizer.param_groups[0].update(before)
    optimizer.step()
    assert weight.square().mean().sqrt().item() == pytest.approx(0.2 * 0.01, rel=1e-3)


@pytest.mark.parametrize("bad", [{"alpha": -1.0}, {"alpha": None}, {"clip": "medium"}])
def test_a_refused_option_is_refused_again(bad):
    optimizer = TrasMuon([_with_gradient()])
    optimizer.param_groups[0].update(lr=0.5, **bad)
    for _ in range(2):
        with pytest.raises(libtrasmuon.Error, match=list(bad)[0]):
            optimizer.step()


def test_a_refused_group_does_not_stop_the_others_from_being_restored():
    a, b = _with_gradient(), _with_gradient()
    optimizer = AdamW([{"params": [a]}, {"params": [b]}], lr=0.01, weight_decay=0.0)
    before = [dict(group) for group in optimizer.param_groups]
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.param_groups[1].update(lr=0.5, eps=-1.0)
    with pytest.raises(libtrasmuon.Error, match="eps"):
        optimizer.step()
    for group, values in zip(optimizer.param_groups, before):
        group.update(values)
    optimizer.step()
    for weight in (a, b):
        assert weight.abs().max().item() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("make", [list, lambda betas: tuple(map(torch.tensor, betas))])
def test_betas_that_change_in_place(make):
    ours, theirs = torch.zeros(4, 4, requires_grad=True), torch.zeros(4, 4, requires_grad=True)
    optimizer, plain = (AdamW([w], lr=0.1, betas=make([0.9, 0.95])) for w in (ours, theirs))
    for step in range(3):
        for weight, its in ((ours, optimizer), (theirs, plain)):
            weight.grad = torch.full((4, 4), step + 1.0)
            its.step()
        betas = optimizer.param_groups[0]["betas"]
        if isinstance(betas, list):
            betas[0] = 0.1
        else:
            betas[0].fill_(0.1)
        plain.param_groups[0]["betas"] = (0.1, 0.95)
    assert torch.equal(ours, theirs)


def test_coefficients_that_change_in_place():
    ours, theirs = _with_gradient(), _with_gradient()
    theirs.grad = ours.grad.clone()
    optimizer = Muon([ours], coefficients=[[3.4445, -4.775, 2.0315]])
    optimizer.param_groups[0]["coefficients"][0][0] = 3.4
    optimizer.step()
    Muon([theirs], coefficients=[[3.4, -4.775, 2.0315]]).step()
    assert torch.equal(ours, theirs)


def test_a_rule_cannot_change():
    weight = _with_gradient()
    optimizer = Muon([weight])
    optimizer.param_groups[0]["rule"] = "adamw"
    with pytest.raises(libtrasmuon.Error, match="group 0: rule must stay 'muon', got 'adamw'"):
        optimizer.step()
    assert not weight.any()
    optimizer.param_groups[0]["rule"] = "muon"
    optimizer.step()
    assert weight.any()


@pytest.mark.parametrize("option", ["maximize", "amsgrad", "differentiable", "foreach", "fused", "capturable"])
def test_options_of_torch_that_do_not_exist_here(option):
    weight = _with_gradient()
    with pytest.raises(libtrasmuon.Error, match=f"adamw: unknown option '{option}'"):
        AdamW([{"params": [weight], option: True}])
    optimizer = AdamW([weight])
    optimizer.param_groups[0][option] = True
    with pytest.raises(libtrasmuon.Error, match=f"group 0: adamw has no option '{option}'"):
        optimizer.step()
    del optimizer.param_groups[0][option]
    optimizer.param_groups[0]["lr_scale"] = 0.1  # entries of your own are welcome
    optimizer.step()
    assert weight.any()


def test_a_learning_rate_that_cannot_be_read_says_so():
    class OnTheGpu(torch.Tensor):  # while a CUDA graph is captured
        def __float__(self):
            raise RuntimeError("operation not permitted when stream is capturing")

    rate = torch.tensor(0.1).as_subclass(OnTheGpu)
    with pytest.raises(libtrasmuon.Error, match="adamw: lr is a tensor that cannot be read now.*stream is capturing"):
        AdamW([_with_gradient()], lr=rate)
