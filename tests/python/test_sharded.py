# SPDX-License-Identifier: Apache-2.0
"""Optimizers over ranks that hold rows of each weight (FSDP2, DTensors)."""
import pytest
import torch
import torch.distributed as dist
from conftest import TORCH, needs_torch
from nets import equal
from rank_nets import LAYOUTS, OVERRIDES, RULES, Net, batch, mixed_groups, pull
from rank_processes import error_of, run_ranks

import libtrasmuon
from libtrasmuon import Error, TrasMuon

if TORCH >= (2, 6):
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

pytestmark = needs_torch(2, 6, "fully_shard")
EXACT = {"wire": "f32"}


def _mesh(*shape, device="cpu"):
    from torch.distributed.device_mesh import init_device_mesh

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


# ---- Placements --------------------------------------------------------------------------------------------------


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
