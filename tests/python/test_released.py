# SPDX-License-Identifier: Apache-2.0
"""libtrasmuon.released against trajectories of the authors' package, given by its own arguments."""
import copy
import inspect
import json
import pathlib

import pytest
import torch
from nets import mlp, train

import libtrasmuon
from libtrasmuon.released import TrasMuon

GOLDEN = sorted((pathlib.Path(__file__).parent.parent / "golden" / "released").glob("*.json"))


def _tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_steps_equal_the_package(path):
    record = json.loads(path.read_text())
    weight = _tensor(record["W0"]).requires_grad_()
    optimizer = TrasMuon([weight], **record["release_options"])
    states = {state["i"]: state for state in record["states"]}
    for number, (lr, gradient) in enumerate(zip(record["lr"], record["G"]), 1):
        optimizer.param_groups[0]["lr"] = lr
        weight.grad = _tensor(gradient)
        optimizer.step()
        if number in states:
            assert torch.allclose(weight, _tensor(states[number]["W"]), rtol=0, atol=1e-9)
            assert torch.allclose(optimizer.state[weight]["c_last"], _tensor(states[number]["c_last"]).reshape(1, -1))


def test_there_are_recordings():
    assert len(GOLDEN) >= 6


def test_takes_the_arguments_of_the_package():
    arguments = list(inspect.signature(TrasMuon.__init__).parameters)[1:-1]
    record = json.loads(GOLDEN[0].read_text())["release_options"]
    assert set(record) <= set(arguments) and {"lr", "use_triton", "distributed_mesh"} <= set(arguments)


@pytest.mark.parametrize("make", [lambda m: m, lambda m: m.named_parameters(), lambda m: m.parameters()])
def test_every_matrix_is_whole(make):
    model = torch.nn.MultiheadAttention(8, 2)
    for optimizer in (TrasMuon(make(model)), libtrasmuon.TrasMuon(model, preset="released")):
        found = {tuple(p.shape): l.text(p) for g in optimizer.param_groups for p, l in zip(g["params"], g["layouts"])}
        assert found[24, 8] == "automatic" and (24,) in found
    layouts = {"in_proj_weight": {"split_sizes": 3}}
    optimizer = libtrasmuon.TrasMuon(model, preset="released", layouts=layouts)
    assert "automatic 8 8 8" in optimizer.table()


def test_groups_added_later_have_the_arguments_of_the_package():
    model, other = mlp(), mlp()
    named = [list(layer.named_parameters(str(i))) for i, layer in enumerate(model) if hasattr(layer, "weight")]
    optimizer = TrasMuon(named[0], col_gate_alpha=2.0)
    optimizer.add_param_group({"params": named[1], "col_gate_cmin": 0.5})
    optimizer.add_param_group({"params": [p for _, p in named[2]], "lr": 0.1})
    whole = [("trasmuon", 0.7, 1e-3), ("adamw", None, 1e-3), ("trasmuon", 0.5, 1e-3), ("adamw", None, 1e-3)]
    whole += [("trasmuon", 0.7, 0.1), ("adamw", None, 0.1)]
    assert [(g["rule"], g.get("c_min"), g["lr"]) for g in optimizer.param_groups] == whole
    assert all(g["alpha"] == 2.0 for g in optimizer.param_groups if g["rule"] == "trasmuon")
    twin_model, twin = copy.deepcopy((model, optimizer))
    twin.add_param_group({"params": list(other.parameters()), "col_gate_cmin": 0.4})
    assert twin.param_groups[6]["c_min"] == 0.4 and len(optimizer.param_groups) == 6
    train(twin_model, twin, 1)
    for bad in ({"col_gate_cmin": 2.0}, {"momentum": 0.9}):
        with pytest.raises(libtrasmuon.Error, match=f"released: .*{list(bad)[0]}"):
            optimizer.add_param_group({"params": list(other.parameters()), **bad})
    assert len(optimizer.param_groups) == 6
    before = [p.detach().clone() for p in model.parameters()]
    assert not any(map(torch.equal, before, train(model, optimizer, 1)))
    optimizer.add_param_group({"params": other[0].weight, "rule": "trasmuon", "c_min": 0.4})  # names of this library
    assert optimizer.param_groups[6]["c_min"] == 0.4


def test_frozen_parameters_are_left_out():
    model = mlp()
    for layer in (0, 2, 4):
        model[layer].bias.requires_grad_(False)
    assert [group["rule"] for group in TrasMuon(model).param_groups] == ["trasmuon"]
    with pytest.raises(libtrasmuon.Error, match="params: no parameter requires a gradient"):
        TrasMuon(model.requires_grad_(False))


def test_groups_and_vectors():
    model = mlp()
    optimizer = TrasMuon([{"params": [model[0].weight, model[0].bias], "lr": 0.1}, {"params": model[2].parameters()}])
    found = [(group["rule"], group["lr"], len(group["params"])) for group in optimizer.param_groups]
    assert found == [("trasmuon", 0.1, 1), ("adamw", 0.1, 1), ("trasmuon", 1e-3, 1), ("adamw", 1e-3, 1)]
    assert optimizer.param_groups[1]["betas"] == (0.95, 0.95)
    train(model, optimizer, 3)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"col_gate_use": "x"}, "col_gate_use must be one of m, g, O_base, got 'x'"),
        ({"ns_iters": 0}, "ns_iters must be >= 1, got 0"),
        ({"distributed_mesh": 1}, "distributed_mesh must be None"),
        ({"col_gate_cmin": 2.0}, "released: col_gate_cmin must be in (0, 1], got 2"),
        ({"energy_quantile": 2.0}, "released: energy_quantile must be"),
        ({"scale_factor": -1.0}, "released: scale_factor must be"),
    ],
)
def test_errors(arguments, text):
    with pytest.raises(libtrasmuon.Error) as caught:
        TrasMuon(mlp().parameters(), **arguments)
    assert text in str(caught.value)
    with pytest.raises(libtrasmuon.Error, match="unknown option 'momentum'"):
        TrasMuon([{"params": mlp().parameters(), "momentum": 0.9}])
