# SPDX-License-Identifier: Apache-2.0
"""State of optimizers over ranks: saved by some number of ranks, loaded by another."""
import io

import pytest
import torch
import torch.distributed as dist
from conftest import needs_torch
from nets import equal
from rank_nets import RULES, Net, backward, pull, weights
from rank_processes import error_of, run_ranks

from libtrasmuon import Error

fsdp2 = needs_torch(2, 6, "fully_shard")


def _trained(net, optimizer, first, last):
    for step in range(first, last):
        pull(net.parameters(), step)
        optimizer.step()


def _states(optimizer):
    return [value for state in optimizer.state_dict()["state"].values() for value in state.values()]


# ---- Replicated --------------------------------------------------------------------------------------------------


def _save_whole(rank, file):
    for rule, build in RULES.items():
        net, alone = Net(), Net()
        optimizer = build(net, process_group=dist.group.WORLD)
        reference = build(alone)
        _trained(net, optimizer, 0, 5)
        _trained(alone, reference, 0, 5)
        optimizer.consolidate_state_dict()
        if rank.rank != 0:
            assert "consolidate_state_dict()" in error_of(Error, optimizer.state_dict)
            continue
        saved, expected = optimizer.state_dict(), reference.state_dict()
        assert saved["param_groups"] == expected["param_groups"]
        assert [list(state) for state in saved["state"].values()] == [list(s) for s in expected["state"].values()]
        assert equal(_states(optimizer), _states(reference)), rule
        torch.save({"model": net.state_dict(), "optimizer": saved}, f"{file}.{rule}")
    _trained(net, optimizer, 5, 6)
    assert "after the last step" in error_of(Error, optimizer.state_dict)  # what was gathered is out of date


def _load_whole(rank, file):
    for rule, build in RULES.items():
        saved = torch.load(f"{file}.{rule}")
        net, alone = Net(), Net()
        optimizer, reference = build(net, process_group=dist.group.WORLD), build(alone)
        for model, its in ((net, optimizer), (alone, reference)):
            model.load_state_dict(saved["model"])
            its.load_state_dict(saved["optimizer"])
            _trained(model, its, 5, 8)
        assert equal(weights(net), weights(alone)), rule
        optimizer.consolidate_state_dict(to=None)
        assert equal(_states(optimizer), _states(reference)), rule


def test_replicated_state_is_saved_whole_and_loaded_by_any_number_of_ranks(tmp_path):
    file = str(tmp_path / "state")
    run_ranks(3, _save_whole, file)
    run_ranks(2, _load_whole, file)
    run_ranks(1, _load_whole, file)


def _save_before_the_first_step(rank):
    """Trainers save and load when they take an optimizer over, to move its state."""
    net, alone = Net(), Net()
    build = RULES["trasmuon"]
    optimizer, reference = build(net, process_group=dist.group.WORLD), build(alone)
    saved = optimizer.state_dict()
    assert saved["state"] == {}
    optimizer.load_state_dict(saved)
    _trained(net, optimizer, 0, 3)
    assert "after the last step" in error_of(Error, optimizer.state_dict)
    build(Net()).load_state_dict(saved)
    with torch.no_grad():
        for mine, other in zip(net.parameters(), alone.parameters()):
            mine.copy_(other)
    optimizer.load_state_dict(saved)  # back to the beginning
    assert optimizer.state_dict()["state"] == {}
    for model, its in ((net, optimizer), (alone, reference)):
        _trained(model, its, 0, 3)
    assert equal(weights(net), weights(alone))
    optimizer.consolidate_state_dict(to=None)
    assert equal(_states(optimizer), _states(reference))


def test_replicated_state_before_the_first_step_is_empty():
    run_ranks(2, _save_before_the_first_step)


# ---- Sharded -----------------------------------------------------------------------------------------------------


def _whole_into_shards(rank, mesh_shape):
    """A state dict of one process, and the way back."""
    from test_sharded import Shards, _mesh
    from torch.distributed.tensor import Replicate, Shard

    for rule in ("trasmuon", "dion", "adamw"):
        placements = [Replicate(), Shard(0)] if len(mesh_shape) == 2 else [Shard(0)]
        shards = Shards(mesh=_mesh(*mesh_shape), placements=placements)
        optimizer, reference = RULES[rule](shards.named), RULES[rule](shards.net.named_parameters())
        _trained(shards.net, reference, 0, 5)
        file = io.BytesIO()
        torch.save(reference.state_dict(), file)
        file.seek(0)
        optimizer.load_state_dict(torch.load(file))
        for mine, whole in zip(_states(optimizer), _states(reference)):
            assert torch.equal(mine.full_tensor(), whole)
        for _, tensor in shards.named:
            local = optimizer.state[tensor]
            assert all(value.device_mesh == shards.mesh for value in local.values())
        optimizer.consolidate_state_dict(to=rank.count - 1 if len(mesh_shape) == 1 else None)
        if rank.rank == rank.count - 1:
            assert equal(_states(optimizer), _states(reference))
            RULES[rule](Net().named_parameters()).load_state_dict(optimizer.state_dict())
        wrong = reference.state_dict()
        wrong["state"][0] = {name: value[:1] for name, value in wrong["state"][0].items()}
        assert "must be" in error_of(Error, lambda: optimizer.load_state_dict(wrong))


@fsdp2
def test_state_of_one_process_goes_into_shards_and_back():
    run_ranks(4, _whole_into_shards, (4,))
    run_ranks(4, _whole_into_shards, (2, 2))


def _fsdp(rank, rule):
    from test_sharded import _mesh
    from torch.distributed.fsdp import fully_shard

    net = Net()
    fully_shard(net, mesh=_mesh(rank.count))
    return net, RULES[rule](net)


def _dcp_save(rank, folder, rule):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict

    net, optimizer = _fsdp(rank, rule)
    for step in range(4):
        backward(net, step)
        optimizer.step()
    model, state = get_state_dict(net, optimizer)
    dcp.save({"model": model, "optimizer": state}, checkpoint_id=folder)


def _dcp_load(rank, folder, rule):
    """Loads, and compares with one process before and after more steps."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict

    net, optimizer = _fsdp(rank, rule)
    optimizer.param_groups[0]["lr"] = 99.0
    model, state = get_state_dict(net, optimizer)
    saved = {"model": model, "optimizer": state}
    dcp.load(saved, checkpoint_id=folder)
    set_state_dict(net, optimizer, model_state_dict=saved["model"], optim_state_dict=saved["optimizer"])
    assert optimizer.param_groups[0]["lr"] != 99.0

    alone = Net()
    reference = RULES[rule](alone)
    for step in range(4):
        backward(alone, step)
        reference.step()
    for own, mine in ((alone, net), (reference, optimizer)):
        for a, b in zip(own.state_dict().values() if own is alone else _states(own), _tensors(mine)):
            assert torch.allclose(a.double(), b.double(), 1e-9, 1e-10)
    for step in range(4, 7):
        for its, model in ((optimizer, net), (reference, alone)):
            backward(model, step)
            its.step()
    for a, b in zip(alone.state_dict().values(), _tensors(net)):
        assert torch.allclose(a, b, 1e-8, 1e-9)

    # Whole tensors, as one file for one process, and back from rank 0 alone.
    whole = get_optimizer_state_dict(net, optimizer, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    kept = _tensors(optimizer)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_optimizer_state_dict(net, optimizer, whole if rank.rank == 0 else {}, options=options)
    assert equal(kept, _tensors(optimizer))
    # One level of keys, for pipelines.
    options = StateDictOptions(flatten_optimizer_state_dict=True)
    flat = get_optimizer_state_dict(net, optimizer, options=options)
    assert "state.up.weight.momentum" in flat
    set_optimizer_state_dict(net, optimizer, flat, options=options)
    assert equal(kept, _tensors(optimizer))


def _tensors(of):
    values = of.state_dict().values() if isinstance(of, torch.nn.Module) else _states(of)
    return [value.full_tensor().clone() if hasattr(value, "full_tensor") else value.clone() for value in values]


@fsdp2
@pytest.mark.parametrize("rule", ["trasmuon", "normuon", "dion"])
def test_distributed_checkpoint_from_4_ranks_to_2_and_1(tmp_path, rule):
    run_ranks(4, _dcp_save, str(tmp_path / "four"), rule)
    run_ranks(2, _dcp_load, str(tmp_path / "four"), rule)
    run_ranks(1, _dcp_load, str(tmp_path / "four"), rule)


@fsdp2
def test_distributed_checkpoint_into_a_plain_process(tmp_path):
    import torch.distributed.checkpoint as dcp

    run_ranks(4, _dcp_save, str(tmp_path / "four"), "trasmuon")
    net = Net()
    optimizer = RULES["trasmuon"](net)
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    model, state = get_state_dict(net, optimizer)
    saved = {"model": model, "optimizer": state}
    dcp.load(saved, checkpoint_id=str(tmp_path / "four"), no_dist=True)
    set_state_dict(net, optimizer, model_state_dict=saved["model"], optim_state_dict=saved["optimizer"])
    alone = Net()
    reference = RULES["trasmuon"](alone)
    for step in range(4):
        backward(alone, step)
        reference.step()
    for step in range(4, 7):
        for its, model in ((optimizer, net), (reference, alone)):
            backward(model, step)
            its.step()
    assert all(torch.allclose(a, b, 1e-8, 1e-9) for a, b in zip(weights(net), weights(alone)))
