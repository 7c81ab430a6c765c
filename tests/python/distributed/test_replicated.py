# SPDX-License-Identifier: Apache-2.0
"""Optimizers over ranks that all have the same weights and gradients (DDP)."""
import copy
import pickle

import pytest
import torch
import torch.distributed as dist
from conftest import TORCH
from nets import equal
from rank_nets import LAYOUTS, RULES, Net, backward, batch, mixed_groups, pull, weights
from rank_processes import error_of, run_ranks
from torch import nn

import libtrasmuon
from libtrasmuon import Error, TrasMuon

SMALL = {"bucket_bytes": 2000}  # several buckets for each owner


def _same_on_all_ranks(tensors):
    for tensor in tensors:
        first = tensor.detach().double()  # old versions of Gloo know no bfloat16
        dist.broadcast(first, 0)
        if not torch.equal(first, tensor.detach().double()):
            return False
    return True


# ---- Trajectories ------------------------------------------------------------------------------------------------


def _all_rules(dtype, steps, **options):
    nets = {rule: Net(dtype) for rule in RULES}
    groups = mixed_groups({rule: list(net.named_parameters()) for rule, net in nets.items()})
    optimizer = TrasMuon(groups, master_weights=dtype is torch.bfloat16, **options)
    for step in range(steps):
        for net in nets.values():
            pull(net.parameters(), step)
        optimizer.step()
    assert optimizer.applied_steps == steps
    return {rule: weights(net) for rule, net in nets.items()}


def _trajectories(rank):
    for dtype, steps in ((torch.float64, 200), (torch.bfloat16, 20)):
        found = _all_rules(dtype, steps, process_group=dist.group.WORLD, distributed=SMALL)
        assert all(_same_on_all_ranks(tensors) for tensors in found.values())
        if rank.rank == 0:
            alone = _all_rules(dtype, steps)
            for rule in RULES:
                assert equal(found[rule], alone[rule]), (rule, dtype)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_weights_are_those_of_one_process_bit_for_bit(ranks):
    run_ranks(ranks, _trajectories)


def _ddp(rank):
    net, alone = Net(), Net()
    model = nn.parallel.DistributedDataParallel(net, find_unused_parameters=True)
    optimizer = TrasMuon(model, lr=0.01, layouts=LAYOUTS, process_group=dist.group.WORLD, distributed=SMALL)
    reference = TrasMuon(alone, lr=0.01, layouts=LAYOUTS)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    schedule_alone = torch.optim.lr_scheduler.CosineAnnealingLR(reference, 20)

    def loss(model, x):
        return (model(x) - x.sum(1, keepdim=True).sin()).square().mean()

    for step in range(10):
        optimizer.zero_grad()
        with model.no_sync():  # gradient accumulation
            loss(model, batch(step)[rank.rank :: rank.count]).backward()
        loss(model, batch(100 + step)[rank.rank :: rank.count]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        assert optimizer.step(lambda: 7) == 7  # a closure's value
        schedule.step()
        reference.zero_grad()
        (loss(alone, batch(step)) + loss(alone, batch(100 + step))).backward()
        torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.5)
        reference.step()
        schedule_alone.step()
    assert _same_on_all_ranks(net.parameters())
    # Gradients are averaged in another order than in one process; the step itself is the same.
    assert all(torch.allclose(a, b, 1e-9, 1e-10) for a, b in zip(weights(net), weights(alone)))


def test_ddp_with_schedule_clipping_and_accumulation():
    run_ranks(2, _ddp)


# ---- Who does what -----------------------------------------------------------------------------------------------


def _owners(rank):
    optimizer = RULES["trasmuon"](Net(), process_group=dist.group.WORLD)
    ownership = optimizer.ownership()
    rules = [group["rule"] for group in optimizer.param_groups for _ in group["params"]]
    assert all((owner == -1) == (rule == "adamw") for owner, rule in zip(ownership.owners, rules))
    assert set(ownership.owners) - {-1} == set(range(rank.count)) and ownership.idle == 0
    whole = RULES["trasmuon"](Net()).state_bytes()
    shares = [torch.zeros(1) for _ in range(rank.count)]
    dist.all_gather(shares, torch.tensor([float(optimizer.state_bytes())]))
    assert max(shares) < 0.7 * whole
    # Fewer matrices than ranks: the others are idle.
    few = libtrasmuon.Muon([nn.Parameter(torch.ones(4, 4))], process_group=dist.group.WORLD)
    few.param_groups[0]["params"][0].grad = torch.eye(4)
    few.step()
    assert few.ownership().idle == rank.count - 1 and _same_on_all_ranks(few.param_groups[0]["params"])


def test_matrices_have_one_owner_and_adamw_has_none():
    run_ranks(3, _owners)


def _missing_gradients(rank):
    net = Net()
    optimizer = RULES["trasmuon"](net, process_group=dist.group.WORLD, distributed=SMALL)
    for step in range(3):
        backward(net, step)
        if rank.rank == step % rank.count:
            for parameter in (net.up.weight, net.qkv.weight, net.few.weight, net.experts, net.conv.weight):
                parameter.grad = None
        optimizer.step()
    assert _same_on_all_ranks(net.parameters())
    backward(net)
    net.qkv.weight.grad = None  # on all
    before = net.qkv.weight.detach().clone()
    optimizer.step()
    assert torch.equal(net.qkv.weight, before) and optimizer.applied_steps == 4


def test_gradients_that_are_missing_on_some_ranks_hang_nobody():
    run_ranks(3, _missing_gradients)


def _more_groups(rank):
    net, alone, late = Net(), Net(), [torch.ones(7, 5).double().requires_grad_() for _ in range(2)]
    optimizer, reference = RULES["muon"](net, process_group=dist.group.WORLD), RULES["muon"](alone)
    for step in range(6):
        for model, its, extra in ((net, optimizer, late[0]), (alone, reference, late[1])):
            if step == 3:
                its.add_param_group({"params": [("late", extra)], "lr": 0.03})
            backward(model, step)
            extra.grad = torch.randn(7, 5, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
            its.step()
    assert equal(weights(net), weights(alone)) and torch.equal(late[0], late[1])
    text = error_of(Error, lambda: optimizer.add_param_group({"params": [torch.ones(2 + rank.rank % 2, 2)]}))
    assert "add_param_group: ranks 0 and 1 must agree" in text and "[3, 2]" in text
    backward(net)
    optimizer.step()  # as before


def test_groups_that_are_added_later():
    run_ranks(2, _more_groups)


def _adamw_fails(rank):
    """AdamW steps after the exchange: if it fails then, matrices must not have been written."""
    net = Net()
    optimizer = RULES["trasmuon"](net, process_group=dist.group.WORLD, distributed=SMALL)
    for step in range(2):
        backward(net, step)
        optimizer.step()
    backward(net, 2)
    bits = lambda: weights(net) + [v.clone() for state in optimizer.state.values() for v in state.values()]
    before, core = bits(), optimizer._bound._core
    step, owners = core.step, optimizer.ownership().owners

    def out_of_memory(gradients):
        if any(owner == -1 and gradient is not None for owner, gradient in zip(owners, gradients)):
            raise MemoryError("no more")
        return step(gradients)

    core.step = out_of_memory
    assert "no more" in error_of(MemoryError, optimizer.step)
    assert optimizer.applied_steps == 2 and equal(bits(), before)
    core.step = step
    optimizer.step()
    assert optimizer.applied_steps == 3 and _same_on_all_ranks(net.parameters())


def test_nothing_is_written_if_adamw_fails():
    run_ranks(2, _adamw_fails)


# ---- What torch users expect -------------------------------------------------------------------------------------


def _found_inf(rank):
    net = Net()
    optimizer = RULES["trasmuon"](net, process_group=dist.group.WORLD)
    backward(net)
    optimizer.grad_scale, optimizer.found_inf = torch.tensor([2.0]), torch.tensor([float(rank.rank == 1)])
    before = weights(net)
    optimizer.step()  # rank 1 has found one, so nobody steps
    assert equal(weights(net), before)
    assert all(int(state["skipped"].sum()) > 0 for p, state in optimizer.state.items() if state and p is not net.unused)
    optimizer.found_inf = torch.tensor([0.0])
    optimizer.step()
    assert not equal(weights(net), before) and _same_on_all_ranks(net.parameters())
    if TORCH >= (2, 3):
        del optimizer.found_inf, optimizer.grad_scale
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for broken in (False, True):
            before = weights(net)
            backward(net, scale=float(scaler.scale(torch.ones(()))))
            if broken and rank.rank == 0:
                net.head.weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update(None if rank.rank == 0 or not broken else 512.0)  # as DDP's averaged gradients would
            assert equal(weights(net), before) == broken


def test_found_inf_of_one_rank_skips_the_step_on_all():
    run_ranks(2, _found_inf)


def _refusals(rank):
    net = Net()
    world = dist.group.WORLD
    optimizer = RULES["trasmuon"](net, process_group=world)
    for work in (lambda: copy.deepcopy(optimizer), lambda: pickle.dumps(optimizer)):
        assert "cannot be copied or pickled" in error_of(Error, work)
    backward(net)
    optimizer.step()
    assert "consolidate_state_dict() on all ranks" in error_of(Error, optimizer.state_dict)
    assert "to must be a rank below 2, got 2" in error_of(Error, lambda: optimizer.consolidate_state_dict(to=2))
    assert "unknown setting 'wires'" in error_of(
        Error, lambda: TrasMuon(net, process_group=world, distributed={"wires": 1})
    )
    assert "wire must be" in error_of(Error, lambda: TrasMuon(net, process_group=world, distributed={"wire": "f64"}))
    assert "bucket_bytes must be" in error_of(
        Error, lambda: TrasMuon(net, process_group=world, distributed={"bucket_bytes": 0})
    )
    assert "patience must be" in error_of(
        Error, lambda: TrasMuon(net, process_group=world, distributed={"patience": -1})
    )
    assert "must be a DeviceMesh" in error_of(Error, lambda: TrasMuon(net, device_mesh=3))
    optimizer.param_groups[0]["params"] = optimizer.param_groups[0]["params"][:-1]
    assert "must stay as they were built" in error_of(Error, optimizer.step)


def test_what_makes_no_sense_is_refused():
    run_ranks(2, _refusals)
    with pytest.raises(Error, match="distributed: needs process_group"):
        TrasMuon(Net(), distributed={"wire": "f32"})
    with pytest.raises(Error, match="not spread over ranks"):
        TrasMuon(Net()).ownership()


def _mesh(rank):
    from torch.distributed.device_mesh import init_device_mesh

    net, alone = Net(), Net()
    optimizer, reference = RULES["muon"](net, device_mesh=init_device_mesh("cpu", (2,))), RULES["muon"](alone)
    for model, its in ((net, optimizer), (alone, reference)):
        backward(model)
        its.step()
    assert equal(weights(net), weights(alone))
    two = init_device_mesh("cpu", (2, 1))
    assert "must have one dimension" in error_of(Error, lambda: TrasMuon(net, device_mesh=two))


@pytest.mark.skipif(TORCH < (2, 2), reason="torch 2.2 and later: DeviceMesh")
def test_a_mesh_instead_of_a_group():
    run_ranks(2, _mesh)


def _memory(rank):
    """Weights that move, channels-last convolutions, 16-bit weights that others write."""
    net, alone = Net(torch.bfloat16), Net(torch.bfloat16)
    for model in (net, alone):
        model.conv.to(memory_format=torch.channels_last)
    build = RULES["trasmuon"]
    optimizer = build(net, process_group=dist.group.WORLD, master_weights=True)
    reference = build(alone, master_weights=True)
    for step in range(6):
        for model, its in ((net, optimizer), (alone, reference)):
            if step == 3:
                model.up.weight.data = model.up.weight.data.clone()
                with torch.no_grad():
                    model.qkv.weight.mul_(0.5)
                gain, bias = model.gain, model.head.bias  # one is where the other was
                gain.data, bias.data = bias.data, gain.data
            backward(model, step)
            its.step()
    assert equal(weights(net), weights(alone))


def test_weights_that_move_or_are_written_by_others():
    run_ranks(2, _memory)


def _channels_last(rank):
    """Only one rank owns the convolution. Its 3 channels and 3 x 3 taps have one shape in both orders."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.Linear(8, 4))
    optimizer = TrasMuon(net, process_group=dist.group.WORLD, overrides={"*.weight": "matrix"})
    x = torch.ones(2, 3, 3, 3)
    for _ in range(2):
        net(x).square().mean().backward()
        optimizer.step()
    before = weights(net)
    net.to(memory_format=torch.channels_last)
    assert "must stay as they were built" in error_of(Error, optimizer.step)
    assert equal(weights(net), before) and optimizer.applied_steps == 2


def test_a_conversion_to_channels_last_is_refused_by_all_ranks():
    run_ranks(2, _channels_last)


# ---- NCCL --------------------------------------------------------------------------------------------------------


def _travels_through(rank):
    from types import SimpleNamespace

    from libtrasmuon._distributed import connect, ranks

    ranks._device_types = lambda group: ["cuda"]
    weights = [SimpleNamespace(device=torch.device(*device)) for device in (("cpu",), ("cuda", 3))]
    found = connect(weights, dist.group.WORLD, None, None).everyone.ranks
    assert found.device() == torch.device("cuda", 3)  # votes, which are on the CPU


def test_nccl_takes_votes_through_the_gpu_of_the_parameters():
    run_ranks(1, _travels_through)


def _no_current_device(rank):
    dist.init_process_group("nccl")
    net = Net(torch.float32).to(rank.rank)  # and no torch.cuda.set_device(rank.rank)
    model = nn.parallel.DistributedDataParallel(net, device_ids=[rank.rank], find_unused_parameters=True)
    optimizer = RULES["trasmuon"](model, process_group=dist.group.WORLD)
    for step in range(3):
        optimizer.zero_grad()
        model(batch(step).float().to(rank.rank)).square().mean().backward()
        optimizer.step()
    bits = [tensor.detach().clone() for tensor in net.parameters()]
    for tensor in net.parameters():
        dist.broadcast(tensor.data, 0)
    assert equal(bits, weights(net))
    dist.destroy_process_group()


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_ddp_with_nccl_without_a_current_device():
    run_ranks(2, _no_current_device, timeout=None)
