# SPDX-License-Identifier: Apache-2.0
"""What users of torch.optim rely on: schedulers, groups, closures, hooks, zero_grad, clipping, accumulation."""
import math

import pytest
import torch
from conftest import needs_torch
from nets import equal, loss_of, mlp, train
from torch.optim import lr_scheduler

import libtrasmuon
from libtrasmuon import AdamW, Muon, TrasMuon

SCHEDULERS = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda t: 1 / (1 + t)),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda t: 0.9),
    "StepLR": lambda o: lr_scheduler.StepLR(o, 1, 0.5),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [1, 2]),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, 0.5, 2),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o, 0.5, total_iters=4),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 1e-4, 1e-2, 2, cycle_momentum="momentum" in o.defaults),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 1e-2, 10),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, 5),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.9)], [2]
    ),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0),
}


@pytest.mark.parametrize("kind", [TrasMuon, Muon])
@pytest.mark.parametrize("name", list(SCHEDULERS))
def test_schedulers_set_the_learning_rate_of_the_step(name, kind):
    model, other = mlp(), mlp()
    optimizer, by_hand = kind(model, lr=0.01), kind(other, lr=0.01)
    schedule, rates = SCHEDULERS[name](optimizer), set()
    for _ in range(5):
        rates.add(optimizer.param_groups[0]["lr"])
        for ours, theirs in zip(optimizer.param_groups, by_hand.param_groups):
            theirs.update({key: value for key, value in ours.items() if key in theirs and key[0:5] != "param"})
        assert equal(train(model, optimizer, 1), train(other, by_hand, 1))
        schedule.step(*([1.0] if name == "ReduceLROnPlateau" else []))
    assert len(rates) > 1


def test_one_cycle_moves_the_momentum():
    model, other = mlp(), mlp()
    optimizer, by_hand = TrasMuon(model), TrasMuon(other)
    schedule = lr_scheduler.OneCycleLR(optimizer, 1e-2, 10, base_momentum=0.8, max_momentum=0.9)
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.95)
    seen = set()
    for _ in range(8):
        for ours, theirs in zip(optimizer.param_groups, by_hand.param_groups):
            theirs.update(lr=ours["lr"], betas=ours["betas"])
        seen.add(optimizer.param_groups[0]["betas"])
        assert equal(train(model, optimizer, 1), train(other, by_hand, 1))
        schedule.step()
    assert len(seen) == 8 and min(seen) == (pytest.approx(0.8, abs=0.01), 0.95)


def test_one_cycle_over_rules_with_and_without_betas():
    """torch looks only at the options of the optimizer's own rule."""
    model = mlp()
    optimizer = TrasMuon([{"params": model[0].weight}, {"params": model[2].weight, "rule": "muon"}])
    schedule = lr_scheduler.OneCycleLR(optimizer, 1e-2, 10, cycle_momentum=False)
    train(model, optimizer, 1)
    schedule.step()
    with pytest.raises(KeyError, match="betas"):
        lr_scheduler.OneCycleLR(optimizer, 1e-2, 10)


def test_learning_rate_as_a_tensor():
    model, other = mlp(), mlp()
    rate = torch.tensor(0.01, dtype=torch.float64)
    optimizer, plain = TrasMuon(model, lr=rate), TrasMuon(other, lr=0.01)
    assert equal(train(model, optimizer, 2), train(other, plain, 2))
    rate.mul_(0.5)  # in place: the group still holds the same object
    plain.param_groups[0]["lr"] = 0.005
    assert equal(train(model, optimizer, 2), train(other, plain, 2))
    optimizer.load_state_dict(optimizer.state_dict())


def test_any_option_can_be_changed_between_steps():
    model = mlp()
    optimizer = TrasMuon(model, lr=1e-3, weight_decay=0.0)
    optimizer.param_groups[0].update(lr=0.5, weight_decay=2.0, clip="hard", ns_steps=3, betas=[0.9, 0.9])
    train(model, optimizer, 1)
    optimizer.param_groups[0].update(lr=2.0, weight_decay=0.5)  # in the other order lr * weight_decay would be 4
    train(model, optimizer, 1)
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.param_groups[0]["lr"] = -1.0
    with pytest.raises(libtrasmuon.Error, match="lr must be in"):
        train(model, optimizer, 1)
    assert equal(before, [p.detach() for p in model.parameters()])
    optimizer.param_groups[0].update(lr=0.1, momentum_dtype="bf16")
    with pytest.raises(libtrasmuon.Error, match="momentum_dtype cannot change"):
        train(model, optimizer, 1)


def test_add_param_group_keeps_the_state():
    model = mlp()
    optimizer = TrasMuon([("2.weight", model[2].weight)], lr=5e-3)
    train(model, optimizer, 3)
    momentum = optimizer.state[model[2].weight]["momentum"].clone()
    optimizer.add_param_group({"params": model[0].named_parameters(), "rule": "adamw", "lr": 1e-2})
    assert torch.equal(optimizer.state[model[2].weight]["momentum"], momentum)
    optimizer.add_param_group({"params": model[4].weight, "rule": "adamw"})
    assert [group["param_names"] for group in optimizer.param_groups] == [
        ["2.weight"],
        ["weight", "bias"],
        ["group2.0"],
    ]
    before = model[4].weight.detach().clone()
    train(model, optimizer, 2)
    assert not torch.equal(before, model[4].weight)


def test_a_refused_group_is_not_added():
    model = mlp()
    optimizer = TrasMuon([("w", model[2].weight)])
    for bad in ({"params": model[2].bias}, {"params": [model[0].weight], "alpha": -1}, {"params": model[2].weight}):
        with pytest.raises(ValueError):
            optimizer.add_param_group(bad)
    assert len(optimizer.param_groups) == 1
    train(model, optimizer, 1)


def test_groups_edited_in_place():
    model = mlp()
    optimizer = AdamW([model[0].weight])
    optimizer.param_groups[0]["params"].append(model[2].weight)
    before = model[2].weight.detach().clone()
    train(model, optimizer, 1)
    assert not torch.equal(before, model[2].weight) and model[2].weight in optimizer.state
    optimizer.param_groups[0]["params"].pop(0)
    train(model, optimizer, 1)
    assert len(optimizer.state) == 1


def test_closure():
    model, other = mlp(), mlp()
    optimizer, plain = TrasMuon(model), TrasMuon(other)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == pytest.approx(loss_of(mlp()).item())
    train(other, plain, 1)
    assert equal(list(model.parameters()), list(other.parameters()))


@pytest.mark.parametrize("to_none", [True, False])
def test_zero_grad(to_none):
    model = mlp()
    optimizer = TrasMuon(model, weight_decay=0.0)
    loss_of(model).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=to_none)
    assert all((p.grad is None) if to_none else (p.grad == 0).all() for p in model.parameters())
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.step()  # zeros still carry the momentum on, None leaves everything
    assert equal(before, list(model.parameters())) is to_none


@needs_torch(2, 0, "step hooks")
def test_step_hooks():
    model, calls = mlp(), []
    optimizer = TrasMuon(model)
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    train(model, optimizer, 2)
    assert calls == ["before", "after"] * 2


def test_callbacks_of_our_own():
    model, calls = mlp(), []
    optimizer = TrasMuon(model)
    optimizer.add_callback(lambda o, step: calls.append((o is optimizer, step)), every=2)
    train(model, optimizer, 5)
    assert calls == [(True, 2), (True, 4)]


@pytest.mark.parametrize("kind", [TrasMuon, AdamW])
def test_accumulated_gradients_are_their_sum(kind):
    """Parts of a batch, of which no one has the direction of the whole."""
    x = torch.randn(5, 32, 4, dtype=torch.float64)
    nets = {parts: mlp(dtype=torch.float64) for parts in (1, 4)}
    start = [p.detach().clone() for p in nets[1].parameters()]
    for parts, net in nets.items():
        optimizer = kind(net, lr=5e-3)
        for batch in x:
            optimizer.zero_grad()
            for part in batch.chunk(parts):
                ((net(part) - part.sum(1, keepdim=True).sin()).square().mean() / parts).backward()
            optimizer.step()
    for p, q, before in zip(nets[1].parameters(), nets[4].parameters(), start):
        assert torch.allclose(p, q, rtol=0, atol=1e-9) and not torch.allclose(p, before, rtol=0, atol=1e-4)


def test_clipping_by_a_constant_factor_changes_nothing_but_the_first_steps():
    """The direction does not depend on the gradient's scale, so clipping that always binds by the same factor has no
    effect on the matrix rules; under AdamW it has none either, up to eps."""
    model, other = mlp(), mlp()
    ours, clipped = TrasMuon(model), TrasMuon(other)
    for _ in range(10):
        for net, optimizer, factor in ((model, ours, 1.0), (other, clipped, 1 / 64)):
            optimizer.zero_grad()
            loss_of(net).backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), math.inf)
            torch.nn.utils.clip_grad_norm_(net.parameters(), norm.item() * factor)
            optimizer.step()
    for p, q in zip(model.parameters(), other.parameters()):
        assert torch.allclose(p, q, atol=2e-4)


def test_clipping_of_a_burst_changes_the_step():
    model, other = mlp(), mlp()
    for net, bound in ((model, math.inf), (other, 1.0)):
        optimizer = TrasMuon(net)
        for step in range(5):
            optimizer.zero_grad()
            (loss_of(net) * (1000 if step == 3 else 1)).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), bound)
            optimizer.step()
    assert not torch.allclose(model[2].weight, other[2].weight, atol=1e-4)


def test_autograd_notices_that_weights_were_written():
    model = mlp()
    optimizer = TrasMuon(model)
    loss = loss_of(model)
    loss.backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_non_finite_gradients_are_skipped_and_counted():
    model = mlp()
    optimizer = TrasMuon(model)
    loss_of(model).backward()
    model[2].weight.grad[0, 0] = math.nan
    before = [model[2].weight.detach().clone(), model[0].weight.detach().clone()]
    optimizer.step()
    assert torch.equal(before[0], model[2].weight) and not torch.equal(before[1], model[0].weight)
    assert optimizer.state[model[2].weight]["skipped"].sum() == 1


def test_repr_and_sizes():
    model = mlp()
    optimizer = TrasMuon(model)
    states = [tensor for state in optimizer.state.values() for tensor in state.values()]
    assert "rule: trasmuon" in repr(optimizer)
    assert optimizer.state_bytes() == sum(tensor.numel() * tensor.element_size() for tensor in states) > 4 * 16 * 20
    assert optimizer.workspace_bytes() == 0
    train(model, optimizer, 1)
    assert optimizer.workspace_bytes() > 4 * 16 * 16  # O at least
