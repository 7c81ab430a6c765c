# SPDX-License-Identifier: Apache-2.0
"""Optimizers over ranks that hold rows of each weight (FSDP2, DTensors)."""
import pytest
import torch
import torch.distributed as dist
from conftest import TORCH, needs_torch
from nets import equal
from rank_nets import LAYOUTS, OVERRIDES, RULES, Net, batch, mixed_groups, pull
from rank_processes import run_ranks

from libtrasmuon import TrasMuon

if TORCH >= (2, 6):
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

pytestmark = needs_torch(2, 6, "fully_shard")
EXACT = {"wire": "f32"}


def _mesh(*shape, device="cpu"):
    from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

    if device == "cuda":  # ranks that share a GPU; init_device_mesh gives each one of its own
        return DeviceMesh.from_group(dist.group.WORLD, device)
    return init_device_mesh(device, shape, mesh_dim_names=("replicas", "rows")[-len(shape) :])


def _placed(tensor, mesh, placements):
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.detach().clone(), mesh, placements, src_data_rank=None)


class Shards:
    """DTensors of the parameters of a net, sharded by rows, with the gradients of the whole net."""

    def __init__(self, dtype=torch.float64, mesh=None, placements=None, device="cpu"):
        from torch.distributed.tensor import Shard

        self.mesh, self.placements = mesh or _mesh(dist.get_world_size(), device=device), placements or [Shard(0)]
        self.net, self._parts = Net(dtype).to(device), {}
        self.named = [(n, self._share(p).requires_grad_()) for n, p in self.net.named_parameters()]

    def _share(self, tensor):
        return _placed(tensor, self.mesh, self.placements)

    def pull(self, step):
        """Sets new gradients. Placing tensors takes long, so those that are there are written to."""
        pull(self.net.parameters(), step)
        for index, (whole, (_, mine)) in enumerate(zip(self.net.parameters(), self.named)):
            if mine.grad is None:
                mine.grad = self._share(whole.grad)
                parts = compute_local_shape_and_global_offset(mine.shape, self.mesh, self.placements)
                self._parts[index] = [part[0] for part in parts]
            elif self._parts[index][0] > 0:
                rows, first = self._parts[index]
                mine.grad._local_tensor.copy_(whole.grad[first : first + rows])

    def distance(self):
        """The largest difference between the shards and the net."""
        return max((p.full_tensor() - w).abs().max().item() for w, (_, p) in zip(self.net.parameters(), self.named))

    def distance_here(self):
        """The same for the rows of this rank, without an exchange."""
        found = [0.0]
        for index, (whole, (_, mine)) in enumerate(zip(self.net.parameters(), self.named)):
            rows, first = self._parts[index]
            if rows > 0:
                found.append((mine.to_local() - whole[first : first + rows]).abs().max().item())
        return max(found)


# ---- Trajectories ------------------------------------------------------------------------------------------------


def _trajectories(rank):
    shards = {rule: Shards() for rule in RULES}
    optimizer = TrasMuon(mixed_groups({rule: shards[rule].named for rule in RULES}))
    reference = TrasMuon(mixed_groups({rule: list(shards[rule].net.named_parameters()) for rule in RULES}))
    for step in range(200):
        for rule in RULES:
            shards[rule].pull(step)
        optimizer.step()
        reference.step()
    for rule in RULES:
        assert shards[rule].distance() < 1e-11, rule
    assert optimizer.applied_steps == 200


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_weights_are_those_of_one_process_up_to_rounding(ranks):
    run_ranks(ranks, _trajectories)


def _wires(rank):
    # lr times 200 steps is 2; the directions have an RMS of 1.
    for wire, limit in (("f32", 1e-4), ("f16", 1e-2), ("bf16", 5e-2)):
        shards = Shards(torch.float32)
        optimizer = RULES["trasmuon"](shards.named, distributed={"wire": wire})
        reference = RULES["trasmuon"](shards.net)
        for step in range(200):
            shards.pull(step)
            optimizer.step()
            reference.step()
        assert shards.distance() < limit, wire


def test_rows_travel_in_16_bits_unless_told_otherwise():
    run_ranks(3, _wires)


def _same_bits(rank):
    runs = []
    for _ in range(2):
        shards = Shards(torch.float32)
        optimizer = RULES["trasmuon"](shards.named)
        for step in range(10):
            shards.pull(step)
            optimizer.step()
        runs.append([p.full_tensor() for _, p in shards.named])
    assert equal(*runs)


def test_the_same_ranks_give_the_same_bits():
    run_ranks(3, _same_bits)


# ---- FSDP2 -------------------------------------------------------------------------------------------------------


def _fully_shard(rank, *shape):
    from torch.distributed.fsdp import fully_shard

    net, alone = Net(), Net()
    mesh = _mesh(*shape)
    fully_shard(net.up, mesh=mesh)
    fully_shard(net, mesh=mesh)
    named = list(net.named_parameters())
    optimizer = TrasMuon(net, lr=0.01, layouts=LAYOUTS, overrides=OVERRIDES, distributed=EXACT)
    reference = TrasMuon(alone, lr=0.01, layouts=LAYOUTS, overrides=OVERRIDES)
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(its, 20) for its in (optimizer, reference)]
    for step in range(6):
        for model, its, schedule, part in (
            (net, optimizer, schedules[0], slice(rank.rank, None, rank.count)),
            (alone, reference, schedules[1], slice(None)),
        ):
            its.zero_grad()
            for seed in (step, 100 + step):  # gradient accumulation
                x = batch(seed, 12)[part]
                (model(x) - x.sum(1, keepdim=True).sin()).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            assert its.step(lambda: 7) == 7
            schedule.step()
        with torch.no_grad():
            net(batch(0))  # leaves other tensors in the modules
    for (name, mine), whole in zip(named, alone.parameters()):
        assert torch.allclose(mine.full_tensor(), whole, 1e-8, 1e-9), name
        steps = optimizer.state[mine]["step"].to_local()  # counted alike where nothing is stepped
        assert torch.equal(steps.sum(), reference.state[whole]["step"].sum()) or name == "experts", name
    # Replicas have the same bits.
    for _, parameter in named:
        for bits in (parameter, *optimizer.state[parameter].values()):
            assert bits.shape == bits.full_tensor().shape
            if len(shape) == 2:
                local = bits.to_local().double().contiguous()
                other = local.clone()
                dist.broadcast(other, dist.get_process_group_ranks(mesh.get_group(0))[0], group=mesh.get_group(0))
                assert torch.equal(local, other)


@pytest.mark.parametrize("ranks", [1, 4])
def test_fsdp2(ranks):
    run_ranks(ranks, _fully_shard, ranks)


def test_replicas_of_shards():
    run_ranks(4, _fully_shard, 2, 2)


def _grad_scaler(rank):
    from torch.distributed.fsdp import fully_shard

    net = Net(torch.float32)
    fully_shard(net, mesh=_mesh(rank.count))
    optimizer = RULES["trasmuon"](net)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for broken in (False, True, False):
        before = [p.to_local().clone() for p in net.parameters()]
        for parameter in net.parameters():
            parameter.grad = None
        x = batch(0).float()
        scaler.scale((net(x) - x.sum(1, keepdim=True).sin()).square().mean()).backward()
        if broken and rank.rank == 1:
            net.head.weight.grad.to_local().fill_(float("inf"))
            net.up.weight.grad.to_local().fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()
        stepped = [(p, b) for p, b in zip(net.parameters(), before) if p is not net.unused and b.numel()]
        same = [torch.equal(p.to_local(), b) for p, b in stepped]
        assert all(same) if broken else not any(same), same


def test_a_step_with_infinite_gradients_on_one_rank_is_skipped_on_all():
    run_ranks(2, _grad_scaler)


# ---- Gradients ---------------------------------------------------------------------------------------------------


def _missing_gradients(rank):
    shards = Shards()
    optimizer, reference = RULES["trasmuon"](shards.named), RULES["trasmuon"](shards.net)
    tensors = dict(shards.named)
    for step in range(4):
        shards.pull(step)
        if step == 1 and rank.rank == 1:  # incomplete on some ranks: skipped by all
            tensors["up.weight"].grad = None
        if step == 2 and rank.rank == 0:
            tensors["up.weight"].grad.to_local().fill_(float("nan"))
        if step == 3:
            tensors["up.weight"].grad = None
        if step > 0:
            shards.net.up.weight.grad = None
        optimizer.step()
        reference.step()
    assert shards.distance() < 1e-12
    state = optimizer.state[tensors["up.weight"]]
    assert state["skipped"].to_local().item() == 2 and state["step"].to_local().item() == 1


def test_gradients_that_are_missing_or_not_finite_on_one_rank():
    run_ranks(3, _missing_gradients)


def _masters(rank):
    shards = Shards(torch.bfloat16)
    optimizer = RULES["trasmuon"](shards.named, master_weights=True, distributed=EXACT)
    reference = RULES["trasmuon"](shards.net, master_weights=True)
    for step in range(10):
        if step == 5:
            with torch.no_grad():
                for tensor in (shards.net.qkv.weight, dict(shards.named)["qkv.weight"]):
                    tensor.mul_(0.5)
        shards.pull(step)
        optimizer.step()
        reference.step()
    for whole, (name, part) in zip(shards.net.parameters(), shards.named):
        assert torch.allclose(part.full_tensor().float(), whole.float(), 1e-2, 1e-2), name
        masters = optimizer.state[part]["master"].full_tensor(), reference.state[whole]["master"]
        assert torch.allclose(*masters, 1e-4, 1e-5), name
    # Memory that the local tensors are given later, as FSDP2 does.
    part = dict(shards.named)["up.weight"]
    part._local_tensor = part._local_tensor.clone()
    before = part.full_tensor()
    shards.pull(11)
    optimizer.step()
    assert not torch.equal(part.full_tensor(), before)


def test_master_weights_and_memory_that_moves():
    run_ranks(2, _masters)
