# SPDX-License-Identifier: Apache-2.0
"""Parameters that are moved, inserted and removed in param_groups, which torch does not tell an optimizer."""
import pytest
import torch
from nets import mlp, train
from torch import nn

import libtrasmuon
from libtrasmuon import AdamW, Muon, TrasMuon


def _entries(optimizer):
    """Name and layout of each parameter, by group."""
    return [
        [(n, l.text(p)) for n, p, l in zip(g["param_names"], g["params"], g["layouts"])] for g in optimizer.param_groups
    ]


def _convolutions():
    model = nn.Sequential(
        nn.ConvTranspose1d(8, 8, 1, bias=False), nn.Conv1d(8, 8, 3, bias=False), nn.Conv1d(8, 8, 3, bias=False)
    )
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    return model, Muon(model, overrides={"*": "matrix"})


def test_names_and_layouts_stay_with_their_parameters():
    model, optimizer = _convolutions()
    plain = Muon([("1.weight", model[1].weight.detach().clone().requires_grad_())], layouts={"*": {"kind": "flatten"}})
    plain.param_groups[0]["params"][0].grad = model[1].weight.grad.clone()
    optimizer.param_groups[0]["params"] = [model[1].weight, model[2].weight]
    optimizer.step()
    plain.step()
    assert _entries(optimizer) == [[("1.weight", "flatten"), ("2.weight", "flatten")]]
    assert torch.equal(model[1].weight, plain.param_groups[0]["params"][0])


def test_a_parameter_inserted_in_front():
    model, optimizer = _convolutions()
    optimizer.param_groups[0]["params"].insert(0, torch.randn(4, 4).requires_grad_())
    optimizer.step()
    assert _entries(optimizer)[0][:2] == [("group0.0", "automatic"), ("0.weight", "flatten transposed")]


def test_a_parameter_put_in_the_place_of_another_takes_its_name():
    model, optimizer = _convolutions()
    optimizer.param_groups[0]["params"][2] = model[2].weight.detach().clone().requires_grad_()
    optimizer.step()
    assert _entries(optimizer)[0][2] == ("2.weight", "flatten")


def test_names_given_with_the_parameters_are_taken():
    model, optimizer = _convolutions()
    group = optimizer.param_groups[0]
    group["params"].append(torch.randn(4, 4).requires_grad_())
    group["param_names"].append("extra")
    optimizer.step()
    assert _entries(optimizer)[0][3] == ("extra", "automatic")


def test_tables_and_state_dicts_before_the_next_step():
    model, optimizer = _convolutions()
    optimizer.param_groups[0]["params"] = [model[1].weight]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["1.weight"]
    assert optimizer.table().splitlines()[1].split() == ["1.weight", "muon", "[8,", "8,", "3]", "flatten"]


def test_a_parameter_moved_to_another_group():
    a, b, c = (torch.zeros(4, 4, requires_grad=True) for _ in range(3))
    optimizer = AdamW([{"params": [a, b], "lr": 0.0}, {"params": [c], "lr": 0.1}], weight_decay=0.0)
    for tensor in (a, b, c):
        tensor.grad = torch.ones(4, 4)
    optimizer.step()
    first, second = optimizer.param_groups
    second["params"].insert(0, first["params"].pop())  # the parameters in their order are those of before
    optimizer.step()
    assert not a.any() and torch.allclose(b, torch.full((4, 4), -0.1), atol=1e-5)
    assert torch.allclose(c, torch.full((4, 4), -0.2), atol=1e-5)
    assert optimizer.state[b]["step"].item() == 2
    assert [group["param_names"] for group in optimizer.param_groups] == [["group0.0"], ["group0.1", "group1.0"]]


def test_groups_can_be_removed():
    a, b = (torch.zeros(4, 4, requires_grad=True) for _ in range(2))
    optimizer = TrasMuon([{"params": [a], "rule": "muon"}, {"params": [b]}], weight_decay=0.0)
    b.grad = torch.ones(4, 4)
    optimizer.param_groups.pop(0)
    optimizer.step()
    assert b.any() and list(optimizer.state) == [b]


@pytest.mark.parametrize("kind", [TrasMuon, AdamW])
def test_groups_may_be_empty(kind):
    model, other = mlp(), mlp()
    weights, rest = (lambda m: [m[0].weight, m[2].weight]), (lambda m: [m[0].bias, m[4].weight])
    groups = [{"params": []}, {"params": weights(model)}, {"params": [], "rule": "adamw"}]
    optimizer = kind([*groups, {"params": rest(model), "rule": "adamw", "lr": 0.01}])
    plain = kind([{"params": weights(other)}, {"params": rest(other), "rule": "adamw", "lr": 0.01}])
    train(model, optimizer, 2)
    train(other, plain, 2)
    optimizer.param_groups[3]["lr"] = plain.param_groups[1]["lr"] = 0.02
    assert all(map(torch.equal, train(model, optimizer, 2), train(other, plain, 2)))
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.add_param_group({"params": []})
    optimizer.param_groups[0]["params"].append(torch.zeros(4, 4, requires_grad=True))
    assert len(optimizer.param_groups) == 5 and "group0.0" in optimizer.table()
    train(model, optimizer, 1)
    assert optimizer.table().count("\n") == 5


def test_an_optimizer_needs_a_parameter():
    with pytest.raises(libtrasmuon.Error, match="params: there must be a parameter, got empty groups"):
        AdamW([{"params": []}])


def test_reading_the_state_of_another_tensor_changes_nothing():
    weight, other = torch.zeros(4, 4, requires_grad=True), torch.zeros(2)
    optimizer = AdamW([weight])
    weight.grad = torch.ones(4, 4)
    optimizer.step()
    state = optimizer.state[weight]
    assert optimizer.state[other] == {}
    optimizer.step()
    assert optimizer.state[weight] is state and list(optimizer.state) == [weight]
    assert optimizer.state[other] == {} and list(optimizer.state_dict()["state"]) == [0]


def test_entries_of_others_in_the_state_are_left_alone():
    weight = torch.zeros(4, 4, requires_grad=True)
    optimizer = AdamW([weight])
    weight.grad = torch.ones(4, 4)
    state, optimizer.state["calls"] = optimizer.state[weight], 3
    optimizer.step()
    assert optimizer.state[weight] is state and optimizer.state["calls"] == 3
