# SPDX-License-Identifier: Apache-2.0
"""Parameters that are frozen, unused, replaced, moved, strided; gradients of unusual kinds."""
import copy
import warnings

import pytest
import torch
from conftest import needs_torch
from nets import equal, loss_of, mlp, train
from torch import nn

import libtrasmuon
from libtrasmuon import AdamW, Dion, Layout, Muon, TrasMuon


def test_frozen_parameters_are_left_out_and_need_no_state():
    model = mlp()
    model[0].requires_grad_(False)
    optimizer = TrasMuon(model)
    assert model[0].weight not in optimizer.state
    train(model, optimizer, 1)
    model[0].requires_grad_(True)
    with pytest.warns(UserWarning, match="0.weight, 0.bias did not require a gradient when TrasMuon was built"):
        train(model, optimizer, 1)
    optimizer.add_param_group({"params": [("0.weight", model[0].weight)]})
    optimizer.add_param_group({"params": [("0.bias", model[0].bias)], "rule": "adamw"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(model, optimizer, 2)


def test_each_parameter_that_is_unfrozen_is_reported():
    model = mlp().requires_grad_(False)
    model[4].requires_grad_(True)
    optimizer = AdamW(model)
    for layer in (2, 0):  # gradual unfreezing
        model[layer].requires_grad_(True)
        with pytest.warns(UserWarning, match=rf"{layer}.weight, {layer}.bias did not require"):
            train(model, optimizer, 1)


def test_parameters_frozen_later_stay_as_they_are():
    model = mlp()
    optimizer = TrasMuon(model)
    train(model, optimizer, 2)
    model[2].requires_grad_(False)
    before = model[2].weight.detach().clone()
    train(model, optimizer, 2)
    assert torch.equal(before, model[2].weight)


def test_unused_parameters_and_their_state_stay_unchanged():
    model = nn.ModuleDict({"used": nn.Linear(4, 4), "unused": nn.Linear(4, 4)})
    optimizer = TrasMuon(model)
    before = copy.deepcopy(model["unused"].state_dict())
    for _ in range(3):
        optimizer.zero_grad()
        model["used"](torch.randn(2, 4)).sum().backward()
        optimizer.step()
    assert all(torch.equal(before[name], value) for name, value in model["unused"].state_dict().items())
    assert optimizer.state[model["unused"].weight]["step"].sum() == 0
    assert optimizer.state[model["used"].weight]["step"].sum() == 3


def test_new_memory_of_the_same_kind_is_followed():
    model, other = mlp(), mlp()
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    for _ in range(3):
        train(model, optimizer, 1)
        train(other, plain, 1)
        for p in model.parameters():
            p.data = p.data.clone()
    assert equal(list(model.parameters()), list(other.parameters()))


def test_swapped_memory_is_followed():
    a, b = (nn.Parameter(torch.randn(8, 8)) for _ in range(2))
    optimizer = Muon([a, b])
    a.data, b.data = b.data, a.data
    before = a.detach().clone(), b.detach().clone()
    a.grad = torch.randn(8, 8)
    optimizer.step()
    assert not torch.equal(before[0], a) and torch.equal(before[1], b)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_model_to_another_dtype(dtype):
    model = mlp()
    optimizer = TrasMuon(model, master_weights=True)
    train(model, optimizer, 3)
    momentum = optimizer.state[model[2].weight]["momentum"].clone()
    model.to(dtype)
    optimizer.zero_grad(set_to_none=True)
    optimizer.step()
    assert torch.equal(optimizer.state[model[2].weight]["momentum"].float(), momentum)
    train(model, optimizer, 3)
    assert ("master" in optimizer.state[model[2].weight]) is (dtype is torch.bfloat16)


@needs_torch(2, 1, "load_state_dict(assign=True)")
def test_parameters_are_followed_after_a_group_was_added():
    model = mlp()
    model[0].requires_grad_(False)
    optimizer = TrasMuon(model)
    model[0].requires_grad_(True)
    optimizer.add_param_group({"params": [("0.weight", model[0].weight)]})
    optimizer.add_param_group({"params": [("0.bias", model[0].bias)], "rule": "adamw"})
    train(model, optimizer, 1)
    del model[2]._parameters["bias"]  # one layer taken apart; the others are followed all the same
    model[2].register_parameter("bias", None)
    train(model, optimizer, 1)
    model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
    before = [p.detach().clone() for p in model.parameters()]
    assert not any(map(torch.equal, before, train(model, optimizer, 1)))


MATRICES = {"overrides": {"*.weight": "matrix"}}


@pytest.mark.parametrize(
    "kind, options",
    [
        (TrasMuon, {**MATRICES, "trigger": 0.5}),
        (Dion, {**MATRICES, "rank_fraction": 0.5}),
        (Dion, {**MATRICES, "rank_fraction": 0.5, "layouts": {"*.weight": Layout(split_sizes=2)}}),
        (AdamW, {}),
    ],
)
def test_model_to_channels_last_and_back(kind, options):
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.Conv2d(8, 6, 3)
    ).double()  # 3 channels, 3 x 3: every order has its shape
    other = copy.deepcopy(model)
    optimizer, plain = kind(model, lr=0.01, **options), kind(other, lr=0.01, **options)
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64)
    for form in (torch.contiguous_format, torch.channels_last, torch.contiguous_format):
        model.to(memory_format=form)
        for _ in range(3):
            for net, steps in ((model, optimizer), (other, plain)):
                steps.zero_grad()
                net(x).square().mean().backward()
                steps.step()
        resumed = kind(other, **options)
        resumed.load_state_dict(optimizer.state_dict())  # from one order into the other
        for mine, its in zip(resumed.state.values(), plain.state.values()):
            assert all(torch.allclose(mine[name], its[name], 1e-9, 1e-12) for name in its)
    assert all(torch.allclose(p, q, 1e-9, 1e-12) for p, q in zip(model.parameters(), other.parameters()))


@pytest.mark.gpu
def test_model_to_the_gpu_and_back():
    model, other = mlp(), mlp()
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    for place in ("cpu", "cuda", "cpu"):
        model.to(place)
        train(model, optimizer, 3)
        train(other, plain, 3)
        assert optimizer.state[model[2].weight]["momentum"].device.type == place
    assert all(torch.allclose(p, q, atol=1e-3) for p, q in zip(model.parameters(), other.parameters()))


@needs_torch(2, 1, "load_state_dict(assign=True)")
@pytest.mark.parametrize("to_none", [True, False])
def test_parameters_replaced_by_load_state_dict(to_none):
    model, other = mlp(), mlp()
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    train(model, optimizer, 3)
    train(other, plain, 3)
    model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
    for net, steps in ((model, optimizer), (other, plain)):
        for _ in range(3):
            steps.zero_grad(set_to_none=to_none)
            net.zero_grad(set_to_none=to_none)
            loss_of(net).backward()
            steps.step()
    assert equal(list(model.parameters()), list(other.parameters()))
    assert model[0].weight in optimizer.state and optimizer.param_groups[0]["params"][0] is model[0].weight


@needs_torch(2, 3, "swap_module_params_on_conversion")
def test_parameters_swapped_on_conversion():
    model = mlp()
    optimizer = TrasMuon(model)
    train(model, optimizer, 1)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        optimizer.zero_grad()
        model.to(torch.float64)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    before = model[2].weight.detach().clone()
    train(model, optimizer, 1)
    assert not torch.equal(before, model[2].weight)


def test_a_changed_shape_is_refused():
    model = nn.Linear(8, 8, bias=False)
    optimizer = Muon([model.weight])
    model.weight.data = torch.randn(4, 8)
    model.weight.grad = torch.randn(4, 8)
    with pytest.raises(libtrasmuon.Error, match="must stay|shape"):
        optimizer.step()


def test_sparse_gradients_are_refused_clearly():
    model = nn.ModuleDict({"embed": nn.Embedding(10, 4, sparse=True), "linear": nn.Linear(4, 4)})
    optimizer = TrasMuon(model)
    model["linear"](model["embed"](torch.tensor([1, 2]))).sum().backward()
    before = model["linear"].weight.detach().clone()
    with pytest.raises(libtrasmuon.Error) as caught:
        optimizer.step()
    assert "gradient of 'embed.weight': must be dense, got layout torch.sparse_coo; use sparse=False" in str(
        caught.value
    )
    assert torch.equal(before, model["linear"].weight)


def test_strided_weights_and_gradients():
    base = torch.randn(8, 12)
    rows = base[:, :8].requires_grad_()  # rows 12 elements apart
    packed = rows.detach().clone().requires_grad_()
    gradient = torch.randn(8, 8)
    rows.grad, packed.grad = gradient.t().contiguous().t(), gradient  # stored by columns
    edge = base[:, 8:].clone()
    for weight in (rows, packed):
        Muon([weight]).step()
    assert torch.equal(rows, packed) and torch.equal(base[:, 8:], edge)
    with pytest.raises(libtrasmuon.Error, match="must be contiguous, or a matrix with contiguous rows"):
        Muon([torch.randn(8, 8).t().requires_grad_()])


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3, 4, 5, 6)])
def test_adamw_takes_any_shape(shape):
    weight = torch.ones(shape, requires_grad=True)
    optimizer = AdamW([weight], lr=0.1)
    weight.grad = torch.ones(shape)
    optimizer.step()
    assert torch.allclose(weight, torch.full(shape, 1 - 0.1 - 0.001), atol=1e-6)


@needs_torch(2, 0, "torch.compile")
def test_compiled_model_and_step():
    model, other = mlp(), mlp()
    compiled = torch.compile(model, backend="eager")
    optimizer, plain = TrasMuon(compiled), TrasMuon(other)
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(compiled).backward()
        optimizer.step()
    train(other, plain, 3)
    assert all(torch.allclose(p, q, atol=1e-6) for p, q in zip(model.parameters(), other.parameters()))


@needs_torch(2, 0, "torch.compile")
def test_step_inside_a_compiled_function():
    model = mlp()
    optimizer = TrasMuon(model)

    @torch.compile(backend="eager")
    def train_step():
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()

    before = model[2].weight.detach().clone()
    train_step()
    assert not torch.equal(before, model[2].weight)


def test_activation_checkpointing():
    from torch.utils.checkpoint import checkpoint

    model, other = mlp(), mlp()
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    x = torch.randn(16, 4)
    for _ in range(3):
        for net, steps, recompute in ((model, optimizer, True), (other, plain, False)):
            steps.zero_grad()
            out = checkpoint(net, x.clone().requires_grad_(), use_reentrant=True) if recompute else net(x)
            out.square().mean().backward()
            steps.step()
    assert equal(list(model.parameters()), list(other.parameters()))
