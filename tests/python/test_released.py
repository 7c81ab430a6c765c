# SPDX-License-Identifier: Apache-2.0
"""libtrasmuon.released against trajectories of the authors' package, given by its own arguments."""
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
        ({"col_gate_cmin": 2.0}, "c_min must be in (0, 1], got 2"),
    ],
)
def test_errors(arguments, text):
    with pytest.raises(libtrasmuon.Error) as caught:
        TrasMuon(mlp().parameters(), **arguments)
    assert text in str(caught.value)
    with pytest.raises(libtrasmuon.Error, match="unknown option 'momentum'"):
        TrasMuon([{"params": mlp().parameters(), "momentum": 0.9}])
