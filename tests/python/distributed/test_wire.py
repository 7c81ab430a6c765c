# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire of a step, counted at the collectives, against what docs/distributed.md says."""
import pytest
import torch
import torch.distributed as dist
from conftest import needs_torch
from rank_processes import run_ranks
from torch import nn

import libtrasmuon

SHAPES = [(1024, 128), (512, 256), (256, 512), (128, 1024), (512, 128), (900, 130)]
PARAMETERS = sum(rows * columns for rows, columns in SHAPES)


class Counter:
    """Counts the bytes that this rank sends, or that an all-reduce must send: 2 (R - 1) / R of its size by each."""

    def __init__(self, rank):
        self.rank, self.bytes, self.calls = rank, {}, {}
        for name in ("broadcast", "all_reduce", "all_to_all_single"):
            setattr(dist, name, self._counted(name, getattr(dist, name)))

    def _counted(self, name, function):
        def call(*arguments, **options):
            self.bytes[name] = self.bytes.get(name, 0) + self._sent(name, *arguments)
            self.calls[name] = self.calls.get(name, 0) + 1
            return function(*arguments, **options)

        return call

    def _sent(self, name, tensor, *rest):
        size, others = tensor.numel() * tensor.element_size(), self.rank.count - 1
        if name == "broadcast":
            return size * others if rest[0] == self.rank.rank else 0
        if name == "all_reduce":
            return 2 * others * size / self.rank.count
        to = rest[2]  # bytes for each rank
        return sum(to) - to[self.rank.rank]

    def total(self, name):
        found = torch.tensor([float(self.bytes.get(name, 0))])
        dist.all_gather(every := [torch.zeros(1) for _ in range(self.rank.count)], found)
        return sum(every).item()


def _parameters(dtype):
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(shape).to(dtype)) for shape in SHAPES]


def _replicated(rank):
    counter = Counter(rank)
    for dtype, size in ((torch.float32, 4), (torch.bfloat16, 2)):
        # AdamW's parameters stay at home.
        weights, vector = _parameters(dtype), nn.Parameter(torch.ones(5000, dtype=dtype))
        groups = [{"params": weights}, {"params": [vector], "rule": "adamw"}]
        optimizer = libtrasmuon.Muon(groups, process_group=dist.group.WORLD, distributed={"bucket_bytes": 1 << 19})
        for tensor in (*weights, vector):
            tensor.grad = torch.ones_like(tensor)
        counter.bytes.clear()
        optimizer.step()
        bound = size * (rank.count - 1) * PARAMETERS  # one weight per parameter, to every other rank
        assert bound <= counter.total("broadcast") < 1.01 * bound
        assert counter.total("all_reduce") < 100 * rank.count**2  # the votes


@pytest.mark.parametrize("ranks", [2, 4])
def test_replicated_weights_travel_once(ranks):
    run_ranks(ranks, _replicated)


def _sharded(rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    counter, mesh = Counter(rank), init_device_mesh("cpu", (rank.count,))
    for dtype in (torch.float32, torch.bfloat16):
        weights = [distribute_tensor(w.detach(), mesh, [Shard(0)]).requires_grad_() for w in _parameters(dtype)]
        vector = distribute_tensor(torch.ones(5000, dtype=dtype), mesh, [Shard(0)]).requires_grad_()
        optimizer = libtrasmuon.TrasMuon([{"params": weights}, {"params": [vector], "rule": "adamw"}])
        for tensor in (*weights, vector):
            tensor.grad = torch.randn_like(tensor)
        counter.bytes.clear()
        counter.calls.clear()
        optimizer.step()
        # 2 bytes of M and of O for each row that its owner does not hold, whatever the type of the weights.
        bound = 4 * (rank.count - 1) / rank.count * PARAMETERS
        rows, sums = counter.total("all_to_all_single"), counter.total("all_reduce")
        assert 0.98 * bound < rows < 1.02 * bound and rows + sums < 1.1 * bound, (rows / bound, sums / bound)
        assert counter.calls == {"all_reduce": 2, "all_to_all_single": 2}


@needs_torch(2, 6, "fully_shard")
@pytest.mark.parametrize("ranks", [2, 4])
def test_sharded_rows_travel_in_16_bits_to_one_owner_and_back(ranks):
    run_ranks(ranks, _sharded)
