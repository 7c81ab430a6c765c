# SPDX-License-Identifier: Apache-2.0
"""DTensors with other placements than FSDP2's alone: which are stepped, where gradients and state are placed."""
import pytest
import torch
import torch.distributed as dist
from conftest import needs_torch
from nets import equal
from rank_nets import RULES, Net, batch, pull
from rank_processes import error_of, run_ranks
from test_sharded import Shards, _mesh, _placed

import libtrasmuon
from libtrasmuon import Error

pytestmark = needs_torch(2, 6, "fully_shard")


# ---- Weights -----------------------------------------------------------------------------------------------------


def _placements(rank):
    from torch.distributed.tensor import Replicate, Shard

    line, square = _mesh(4), _mesh(2, 2)
    weight = torch.randn(10, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for mesh, placements in ((line, [Shard(1)]), (square, [Shard(0), Shard(0)]), (square, [Shard(0), Shard(1)])):
        odd = _placed(weight, mesh, placements).requires_grad_()
        text = error_of(Error, lambda: libtrasmuon.Muon([("odd", odd)]))
        assert "parameter 'odd': muon needs whole rows" in text and f"[{placements[0]}" in text, text
        # AdamW steps any part.
        whole = weight.clone().requires_grad_()
        part, own = libtrasmuon.AdamW([("odd", odd)], lr=0.1), libtrasmuon.AdamW([("odd", whole)], lr=0.1)
        for step in range(3):
            pull([whole], step)
            odd.grad = _placed(whole.grad, mesh, placements)
            part.step()
            own.step()
        assert torch.equal(odd.full_tensor(), whole)
        assert torch.equal(part.state[odd]["exp_avg"].full_tensor(), own.state[whole]["exp_avg"])
    # Whole weights beside sharded ones: as DTensors, as plain tensors, on a mesh of one rank.
    named = [
        ("copies", _placed(weight, line, [Replicate()]).requires_grad_()),
        ("rows", _placed(weight, line, [Shard(0)]).requires_grad_()),
        ("plain", weight.clone().requires_grad_()),
        ("replicas", _placed(weight, square, [Replicate(), Replicate()]).requires_grad_()),
    ]
    whole = weight.clone().requires_grad_()
    optimizer, own = libtrasmuon.Muon(named, lr=0.1), libtrasmuon.Muon([("w", whole)], lr=0.1)
    for step in range(3):
        pull([whole], step)
        for name, tensor in named:
            there = hasattr(tensor, "placements")
            tensor.grad = _placed(whole.grad, tensor.device_mesh, tensor.placements) if there else whole.grad
        optimizer.step()
        own.step()
    for name, tensor in named:
        found = tensor.full_tensor() if hasattr(tensor, "placements") else tensor
        assert torch.allclose(found, whole, 1e-12, 1e-13), name
    # Two groups of ranks in one optimizer.
    mixed = [("a", named[1][1]), ("b", _placed(weight, square, [Replicate(), Shard(0)]).requires_grad_())]
    assert "parameter 'b': must be sharded over the ranks [0, 1, 2, 3]" in error_of(
        Error, lambda: libtrasmuon.Muon(mixed)
    )
    assert "must be that of the parameters" in error_of(Error, lambda: libtrasmuon.Muon(named, device_mesh=square))
    half = dist.new_group([rank.rank // 2 * 2, rank.rank // 2 * 2 + 1], use_local_synchronization=True)
    assert "must have the ranks over which" in error_of(Error, lambda: libtrasmuon.Muon(named, process_group=half))
    libtrasmuon.Muon(named, process_group=dist.group.WORLD)
    libtrasmuon.Muon(named, device_mesh=line)


def test_placements():
    run_ranks(4, _placements)


def _experts(rank):
    """Experts are on a mesh of their own (expert parallelism), in pairs of ranks."""
    from torch.distributed.tensor import Replicate, Shard

    line, square = _mesh(4), _mesh(2, 2)
    generator = torch.Generator().manual_seed(3)
    whole = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((4, 5, 6), (10, 6))]
    places = (square, [Replicate(), Shard(0)]), (line, [Shard(0)])
    named = [
        (name, _placed(tensor, *place).requires_grad_())
        for name, tensor, place in zip(("experts", "rows"), whole, places)
    ]
    whole = [tensor.requires_grad_() for tensor in whole]
    for build in (libtrasmuon.TrasMuon, libtrasmuon.NorMuon):
        optimizer, own = build(named, lr=0.1), build(list(zip(("experts", "rows"), whole)), lr=0.1)
        for step in range(3):
            pull(whole, step)
            for (_, tensor), reference, place in zip(named, whole, places):
                tensor.grad = _placed(reference.grad, *place)
            optimizer.step()
            own.step()
        for (name, tensor), reference in zip(named, whole):
            assert torch.allclose(tensor.full_tensor(), reference, 1e-10, 1e-11), name
            for key, value in optimizer.state[tensor].items():
                assert torch.allclose(value.full_tensor().double(), own.state[reference][key].double(), 1e-9), key
        optimizer.consolidate_state_dict(to=None)
        other = build(named)
        other.load_state_dict(optimizer.state_dict())
        assert equal([v.full_tensor() for v in other.state[named[0][1]].values()], list(own.state[whole[0]].values()))
    assert "'experts': must be sharded over the ranks" in error_of(Error, lambda: libtrasmuon.Dion(named))


def test_experts_on_another_mesh():
    run_ranks(4, _experts)


def _transposed(rank):
    shards = Shards()
    layouts = {"up.weight": {"transposed": True}}
    text = error_of(Error, lambda: libtrasmuon.Muon(shards.named, layouts=layouts))
    assert "parameter 'up.weight'" in text and "[in, out]" in text


def test_in_out_storage_is_refused():
    run_ranks(2, _transposed)


# ---- Gradients ---------------------------------------------------------------------------------------------------


def _partial_gradients(rank):
    """Gradients that tensor parallelism leaves as sums to be made; placing them is an exchange."""
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    mesh, named, whole = _mesh(2), [], []
    for name, placement in (("rows", Shard(0)), ("copies", Replicate())):
        weight = torch.randn(6, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        named.append((name, _placed(weight, mesh, [placement]).requires_grad_()))
        whole.append(weight.clone().requires_grad_())
    optimizer = libtrasmuon.Muon(named, lr=0.1)
    own = libtrasmuon.Muon(list(zip(("rows", "copies"), whole)), lr=0.1)

    def new_gradients(step):
        pull(whole, step)
        for (_, tensor), reference in zip(named, whole):
            part = reference.grad * (0.25 if rank.rank == 0 else 0.75)
            tensor.grad = DTensor.from_local(part, mesh, [Partial()], run_check=False)

    def alike():
        return all(torch.allclose(t.full_tensor(), w, 1e-11, 1e-12) for (_, t), w in zip(named, whole))

    new_gradients(0)
    optimizer.step()
    own.step()
    assert alike()
    # One rank refuses before it looks at gradients.
    new_gradients(1)
    optimizer.param_groups[0]["lr"] = -1.0 if rank.rank == 1 else 0.1
    assert "lr must be" in error_of(Error, optimizer.step)
    optimizer.param_groups[0]["lr"] = 0.1
    kept = named[0][1].grad
    if rank.rank == 1:
        named[0][1].grad = kept.to_local()
    assert "must be a DTensor" in error_of(Error, optimizer.step)
    named[0][1].grad = kept
    optimizer.step()
    own.step()
    assert alike()
    # One rank lacks a gradient: the matrix is skipped by all; then all lack it.
    for lacking in ([1], [0, 1]):
        new_gradients(2)
        if rank.rank in lacking:
            named[0][1].grad = None
        whole[0].grad = None
        optimizer.step()
        own.step()
        assert alike()
    assert optimizer.state[named[0][1]]["skipped"].to_local().item() == 1


def test_partial_gradients():
    run_ranks(2, _partial_gradients, timeout=5.0)


# ---- Weights on the CPU, mesh on GPUs ----------------------------------------------------------------------------


def _state_is_where_the_weights_are(optimizer):
    for own, (weight, state) in zip(optimizer._bound.local_states, optimizer.state.items()):
        for name, value in state.items():
            local = value.to_local()
            assert local.device == weight.to_local().device, name
            assert local.data_ptr() == own[name].data_ptr() or local.numel() == 0, name


def _other_mesh(rank):
    shards = Shards()
    has_property = isinstance(getattr(type(shards.mesh), "device_type", None), property)
    setattr(shards.mesh, "_device_type" if has_property else "device_type", "meta")
    optimizer = RULES["trasmuon"](shards.named)
    _state_is_where_the_weights_are(optimizer)


def test_state_stays_with_weights_whose_mesh_is_elsewhere():
    run_ranks(2, _other_mesh)


def _offloaded(rank):
    from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

    torch.cuda.set_device(0)
    dist.init_process_group("cpu:gloo,cuda:nccl")
    nets = [Net(torch.float32) for _ in range(2)]
    for net in nets:
        fully_shard(net, mesh=_mesh(1, device="cuda"), offload_policy=CPUOffloadPolicy(pin_memory=False))
    optimizer, other = (RULES["trasmuon"](net) for net in nets)
    for step in range(3):
        x = batch(step).float().cuda()
        (nets[0](x) - x.sum(1, keepdim=True).sin()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    _state_is_where_the_weights_are(optimizer)
    other.load_state_dict(optimizer.state_dict())
    _state_is_where_the_weights_are(other)
    optimizer.consolidate_state_dict()
    for own, loaded in zip(optimizer.state_dict()["state"].values(), other._bound.local_states):
        assert all(torch.equal(own[name].reshape(value.shape), value) for name, value in loaded.items())
    dist.destroy_process_group()


@pytest.mark.gpu
def test_weights_that_fsdp2_keeps_on_the_cpu():
    run_ranks(1, _offloaded, timeout=None)
