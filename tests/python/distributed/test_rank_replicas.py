# SPDX-License-Identifier: Apache-2.0
"""Replicas of shards (HSDP): what happens on one rank concerns the ranks of all replicas."""
import os
import signal

import pytest
import torch
import torch.distributed as dist
from conftest import needs_torch
from nets import equal
from rank_nets import RULES
from rank_processes import error_of, run_ranks

import libtrasmuon
from libtrasmuon import Error, ExchangeError

pytestmark = needs_torch(2, 6, "fully_shard")


def _shards(*shape):
    from test_sharded import Shards, _mesh
    from torch.distributed.tensor import Replicate, Shard

    return Shards(mesh=_mesh(*shape), placements=[Replicate(), Shard(0)])


def _bits(shards, optimizer):
    values = [tensor for _, tensor in shards.named]
    values += [value for state in optimizer.state.values() for value in state.values()]
    return [value.to_local().detach().clone() for value in values]


def _same_in_all_replicas(shards, optimizer):
    group = shards.mesh.get_group(0)
    for local in _bits(shards, optimizer):
        other = local.double().clone().contiguous()
        dist.broadcast(other, dist.get_process_group_ranks(group)[0], group=group)
        if not torch.equal(other, local.double()):
            return False
    return True


def _one_differs(rank, shape, odd):
    here = rank.rank == odd
    shards = _shards(*shape)
    text = error_of(Error, lambda: libtrasmuon.Muon(shards.named, momentum=2.0 if here else 0.9))
    assert "momentum must be" in text and text.count("rank ") == (0 if here else 1), text
    assert here or f"Muon(): rank {odd}: " in text
    optimizer = RULES["trasmuon"](shards.named)
    group, tensors = optimizer.param_groups[0], dict(shards.named)
    shards.pull(0)
    optimizer.step()
    shards.pull(1)
    before = _bits(shards, optimizer)
    # It refuses a step: all do, and learn why.
    group["lr"] = -1.0 if here else 0.01
    text = error_of(Error, optimizer.step)
    assert "lr must be" in text and (here or text.startswith(f"step 2: rank {odd}: ")), text
    # It has other options.
    group["lr"] = 0.5 if here else 0.01
    assert f"step 2: ranks 0 and {odd} must agree" in (text := error_of(Error, optimizer.step)) and "0.5" in text
    assert equal(_bits(shards, optimizer), before) and optimizer.applied_steps == 1
    group["lr"] = 0.01
    # It lacks the gradient of a matrix.
    missing, kept = tensors["up.weight"], tensors["up.weight"].grad
    if here:
        missing.grad = None
    if shape[-1] == 1:  # which all ranks have whole
        assert "must agree" in (text := error_of(Error, optimizer.step)) and "gradient of 'up.weight'" in text
    else:  # of which they have rows: skipped by all
        optimizer.step()
        assert torch.equal(missing.to_local(), before[[name for name, _ in shards.named].index("up.weight")])
        assert optimizer.state[missing]["skipped"].to_local().item() == 1
    missing.grad = kept
    optimizer.step()
    assert _same_in_all_replicas(shards, optimizer)


@pytest.mark.parametrize("shape, odd", [((2, 2), 3), ((2, 2), 2), ((3, 1), 1)])
def test_what_one_rank_of_a_replica_refuses_or_lacks_stops_all(shape, odd):
    run_ranks(shape[0] * shape[1], _one_differs, shape, odd)


def _sums_with_other_bits(rank):
    """NCCL promises the same bits within a group, not in two."""
    from libtrasmuon._distributed.ranks import Ranks

    all_reduce = Ranks.all_reduce

    def rounded_otherwise(self, tensor, name, largest=False):
        all_reduce(self, tensor, name, largest)
        if rank.rank > 1 and name in ("all-reduce of column energies", "all-reduce of norms"):
            tensor.copy_(torch.where(tensor == tensor.round(), tensor, tensor * (1 + 1e-9)))  # not tallies and votes

    Ranks.all_reduce = rounded_otherwise
    for rule in ("trasmuon", "normuon", "dion"):
        shards = _shards(2, 2)
        optimizer = RULES[rule](shards.named, distributed={"wire": "f32"})
        for step in range(5):
            shards.pull(step)
            optimizer.step()
        assert _same_in_all_replicas(shards, optimizer), rule


def test_replicas_have_the_same_bits_whatever_their_sums():
    run_ranks(4, _sums_with_other_bits)


def _lost(rank):
    shards = _shards(2, 2)
    optimizer = RULES["trasmuon"](shards.named, distributed={"patience": 3.0})
    for step in range(2):
        shards.pull(step)
        optimizer.step()
    before = _bits(shards, optimizer)
    if rank.rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    text = error_of(ExchangeError, optimizer.step)
    assert text.startswith("step 3: ") and equal(_bits(shards, optimizer), before), text
    if rank.rank == 2:
        assert "failed on rank 0 of 2 ([2, 3] of all): " in text and "no answer within 3 s from rank 1" in text, text
    if rank.rank == 1:
        assert "failed on rank 0 of 2 ([1, 3] of all): " in text and "no answer within 3 s from rank 1" in text, text
    if rank.rank == 0:  # which waits for rank 2, and that waits for the one that is lost
        assert "failed on rank 0 of 2 ([0, 2] of all): " in text and "all ranks are alive" in text, text


def test_a_rank_that_is_lost_ends_the_step_of_all_replicas():
    run_ranks(4, _lost, lost=[3])
