# SPDX-License-Identifier: Apache-2.0
"""Ranks on a GPU: one with NCCL, and several that share the GPU."""
import pytest
import torch
from conftest import needs_torch
from nets import equal, mlp, train
from rank_nets import RULES, Net, pull, weights
from rank_processes import run_ranks

from libtrasmuon import AdamW, Dion, Muon, NorMuon, TrasMuon

pytestmark = pytest.mark.gpu


@pytest.fixture
def one_rank():
    """A process group of this process alone, with NCCL."""
    import torch.distributed as dist

    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


# With one rank nothing travels: what NCCL does here is the agreement at construction.
@pytest.mark.parametrize("kind", [TrasMuon, Dion, AdamW])
def test_one_rank_with_nccl_equals_no_group(one_rank, kind):
    model, alone = mlp("cuda"), mlp("cuda")
    assert equal(train(model, kind(model, process_group=one_rank), 20), train(alone, kind(alone), 20))


@needs_torch(2, 6, "fully_shard")
@pytest.mark.parametrize("kind", [TrasMuon, NorMuon, Muon, Dion, AdamW])
def test_rows_with_nccl_equal_one_process(one_rank, kind):
    from torch.distributed.fsdp import fully_shard

    model, alone = mlp("cuda"), mlp("cuda")
    fully_shard(model)
    optimizer = kind(model, lr=5e-3, distributed={"wire": "f32"})
    rows = train(model, optimizer, 20)
    whole = train(alone, kind(alone, lr=5e-3), 20)
    assert optimizer.applied_steps == 20
    assert all(torch.allclose(p.full_tensor(), q, atol=2e-3) for p, q in zip(rows, whole))


# What a step of more ranks does with the rows.
def test_bytes_go_from_rank_to_rank_with_nccl(one_rank):
    from libtrasmuon._distributed.ranks import Ranks

    sent = torch.arange(100, device="cuda").to(torch.uint8)
    received = torch.zeros_like(sent)
    Ranks(one_rank, patience=10).all_to_all(sent, [100], received, [100], "bytes")
    assert torch.equal(received, sent)


# Ranks that share the GPU. NCCL refuses that; with Gloo tensors travel through the host.


def _copies(rank, rule):
    import torch.distributed as dist

    net, alone = Net().cuda(), Net().cuda()
    optimizer, reference = RULES[rule](net, process_group=dist.group.WORLD), RULES[rule](alone)
    for step in range(50):
        for model, its in ((net, optimizer), (alone, reference)):
            pull(model.parameters(), step)
            its.step()
    assert equal(weights(net), weights(alone))


@pytest.mark.parametrize("rule", RULES)
def test_copies_on_ranks_equal_one_process_bit_for_bit(rule):
    run_ranks(2, _copies, rule)


def _rows(rank, rule):
    from test_sharded import Shards

    for dtype, limit in ((torch.float64, 1e-10), (torch.float32, 2e-2)):  # in f32 rows travel as f16
        shards = Shards(dtype, device="cuda")
        optimizer, reference = RULES[rule](shards.named), RULES[rule](shards.net)
        for step in range(50):
            shards.pull(step)
            optimizer.step()
            reference.step()
        assert shards.distance_here() < limit, dtype


@needs_torch(2, 6, "DTensor")
@pytest.mark.parametrize("rule", RULES)
def test_rows_on_ranks_equal_one_process(rule):
    run_ranks(3, _rows, rule)
