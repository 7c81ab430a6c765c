# SPDX-License-Identifier: Apache-2.0
"""State whose memory moves: programs that put it on another device, and torch.multiprocessing, which shares it."""
import copy

import pytest
import torch
from nets import equal, mlp, train

from libtrasmuon import AdamW, TrasMuon


def _through_data(optimizer):
    for state in optimizer.state.values():
        for name in state:
            state[name].data = state[name].data.clone()


def _through_values(optimizer):  # as programs do that move an optimizer to a device
    for state in optimizer.state.values():
        for value in state.values():
            value.data = value.data.clone()


def _through_sharing(optimizer):
    for state in optimizer.state.values():
        for value in dict(state).values():
            value.share_memory_()


def _through_a_shared_state_dict(optimizer):  # as torch.multiprocessing.Queue.put() does
    for state in optimizer.state_dict()["state"].values():
        for value in state.values():
            value.share_memory_()


MOVES = [_through_data, _through_values, _through_sharing, _through_a_shared_state_dict]


@pytest.mark.parametrize("kind", [TrasMuon, AdamW])
@pytest.mark.parametrize("move", MOVES)
def test_moved_state_is_followed(move, kind, device):
    model, other = mlp(device), mlp(device)
    optimizer, plain = kind(model), kind(other)
    for _ in range(4):
        train(model, optimizer, 2)
        train(other, plain, 2)
        move(optimizer)
    assert equal(train(model, optimizer, 1), train(other, plain, 1))
    for ours, theirs in zip(optimizer.state.values(), plain.state.values()):
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_new_values_come_with_new_memory():
    weight = torch.zeros(8, 8, requires_grad=True)
    optimizer = AdamW([weight])
    state = optimizer.state[weight]
    state["step"].data = state["step"].data + 10
    weight.grad = torch.ones(8, 8)
    optimizer.step()
    assert optimizer.state[weight]["step"].item() == 11


def test_state_that_was_moved_is_never_written_again():
    weight = torch.zeros(8, 8, requires_grad=True)
    optimizer = AdamW([weight])
    kept = optimizer.state[weight]["exp_avg"]
    kept.data = torch.zeros(8, 8)
    weight.grad = torch.ones(8, 8)
    optimizer.step()
    assert not kept.any() and optimizer.state[weight]["exp_avg"].any()


@pytest.mark.parametrize(
    "read",
    [
        lambda state: state["step"],
        lambda state: state.get("step"),
        lambda state: dict(state)["step"],
        lambda state: {**state}["step"],
        lambda state: state.copy()["step"],
        lambda state: copy.copy(state)["step"],
        lambda state: dict(state.items())["step"],
        lambda state: list(state.values())[-2],
        lambda state: state.setdefault("step"),
    ],
)
def test_every_way_to_read_state_is_noted(read):
    weight = torch.zeros(4, 4, requires_grad=True)
    optimizer = AdamW([weight])
    weight.grad = torch.ones(4, 4)
    tensor = read(optimizer.state[weight])
    tensor.data = tensor.data.clone()
    optimizer.step()
    optimizer.step()
    assert optimizer.state[weight]["step"].item() == 2


def test_state_that_was_only_looked_at_is_forgotten():
    """Looking at every state tensor in every step would take longer than the rest of a step."""
    model = mlp()
    optimizer = TrasMuon(model)
    norms = [value.float().norm() for state in optimizer.state.values() for value in state.values()]
    held = optimizer.state[model[0].weight]["momentum"]
    saved = optimizer.state_dict()
    assert optimizer._states._read == set(range(6)) and len(norms) > 6
    train(model, optimizer, 1)
    assert optimizer._states._read == {0}
    held.data = torch.full_like(held, 3.0)
    optimizer.zero_grad(set_to_none=True)
    optimizer.step()
    assert (optimizer.state[model[0].weight]["momentum"] == 3).all() and saved


def test_state_dicts_refer_to_the_state():
    weight = torch.zeros(4, 4, requires_grad=True)
    optimizer = AdamW([weight])
    weight.grad = torch.ones(4, 4)
    saved = optimizer.state_dict()["state"][0]
    optimizer.step()
    assert saved["step"].item() == 1
    saved["step"].zero_()
    optimizer.step()
    assert saved["step"].item() == 1
    saved = {name: value.clone() for name, value in saved.items()}
    del optimizer
    assert saved["step"].item() == 1


def test_state_dicts_outlive_the_optimizer():
    weight = torch.zeros(64, 64, requires_grad=True)
    optimizer = AdamW([weight])
    weight.grad = torch.ones(64, 64)
    optimizer.step()
    saved, expected = optimizer.state_dict()["state"][0], optimizer.state[weight]["exp_avg"].clone()
    optimizer.state[weight]["exp_avg"].share_memory_()
    optimizer.step()
    del optimizer
    torch.zeros(64, 64).fill_(7)  # takes memory that was freed
    assert torch.equal(saved["exp_avg"], expected)
