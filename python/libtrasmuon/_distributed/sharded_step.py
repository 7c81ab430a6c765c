# SPDX-License-Identifier: Apache-2.0
"""ShardedStep of the C ABI: a step in five calls, with buffers of torch tensors between them."""
import ctypes
import weakref
from itertools import accumulate
from typing import Any, Callable, List, Sequence

import torch

from .._core import Core
from .._library import check, handle_of, lib
from .._tensors import WIRES
from .agree import Statement, settle
from .all_ranks import AllRanks
from .owners import Ownership


class ShardedStep:
    """Steps a core whose parameters are sharded by rows over ranks. rows[r][p]: rows of parameter p on rank r; sums: how
    many sums each cut matrix has, of which the last is its tally."""

    def __init__(
        self,
        core: Core,
        everyone: AllRanks,
        rows: Sequence[Sequence[int]],
        sums: Sequence[int],
        wire: str,
        device: torch.device,
    ) -> None:
        ranks = everyone.ranks
        self._core, self._everyone, self._device = core, everyone, device
        flat = [count for of_rank in rows for count in of_rank]
        values = (ctypes.c_int64 * len(flat))(*flat)
        self._handle = handle_of(
            lib.trasmuon_sharded_step_create, core.handle, ranks.rank, ranks.count, values, len(flat), WIRES[wire]
        )
        # The core is an argument so that it outlives the step.
        weakref.finalize(
            self, lambda handle, _: lib.trasmuon_sharded_step_destroy(handle), self._handle, core
        ).atexit = False
        doubles = ctypes.c_size_t(), ctypes.c_size_t()
        counts = [(ctypes.c_size_t * ranks.count)() for _ in range(4)]
        check(lib.trasmuon_sharded_step_sizes(self._handle, *doubles, *counts))
        self._sums, self._norms = (number.value for number in doubles)
        sizes: List[List[int]] = [list(of_ranks) for of_ranks in counts]
        self._to_owners, self._from_holders, self._to_holders, self._from_owners = sizes
        self.ownership = self._ownership()
        self.votes = everyone.count > 1 and device.type == "cpu"
        # Whether a double of the first exchange is the same in all replicas: all but the tallies, and the votes.
        self._common = torch.ones(self._sums + self.votes * everyone.count, dtype=torch.bool)
        self._common[self._sums :] = False
        if ranks.count > 1:
            assert sum(sums) == self._sums
            self._common[[end - 1 for end in accumulate(sums)]] = False
        self._common = self._common.to(device)

    def _ownership(self) -> Ownership:
        count = ctypes.c_size_t()
        check(lib.trasmuon_sharded_step_ownership(self._handle, count, None, None, None))
        owners, balance, idle = (ctypes.c_int * count.value)(), ctypes.c_double(), ctypes.c_int()
        check(lib.trasmuon_sharded_step_ownership(self._handle, None, owners, balance, idle))
        return Ownership(list(owners), balance.value, idle.value)

    def run(self, own: Statement) -> None:
        """Takes a step with the gradients that were lent to the core. Weights and state are written by the last call;
        if anything raises before, they are as they were. The votes of the ranks travel with the sums."""
        numbers: Callable[[int], torch.Tensor] = lambda size: torch.empty(
            size, dtype=torch.float64, device=self._device
        )
        memory: Callable[[int], torch.Tensor] = lambda size: torch.empty(size, dtype=torch.uint8, device=self._device)
        packed, norms = numbers(self._common.numel()).zero_(), numbers(self._norms)
        sums = packed[: self._sums]
        rows, gathered = memory(sum(self._to_owners)), memory(sum(self._from_holders))
        directions, returned = memory(sum(self._to_holders)), memory(sum(self._from_owners))
        travels = len(self.ownership.owners) > 0
        ranks, core = self._everyone.ranks, self._core
        try:
            gradients = (core.gradient_address, len(core.tensors))
            own.attempt(lambda: self._call(lib.trasmuon_sharded_step_momentum, *gradients, *_span(sums)))
            if self.votes:
                packed[self._sums + self._everyone.number] = own.vote()
            else:
                own.rethrow()
            if packed.numel() > 0:
                ranks.all_reduce(packed, "all-reduce of column energies")
                self._join_replicas(packed)
            if self.votes:
                settle(self._everyone, own, packed[self._sums :].tolist())
                own.rethrow()
            self._call(lib.trasmuon_sharded_step_pack, *_span(sums), *_span(rows))
            if travels:
                ranks.all_to_all(rows, self._to_owners, gathered, self._from_holders, "all-to-all of momentum rows")
            self._call(lib.trasmuon_sharded_step_orthogonalize, *_span(gathered), *_span(directions))
            if travels:
                ranks.all_to_all(directions, self._to_holders, returned, self._from_owners, "all-to-all of directions")
            self._call(lib.trasmuon_sharded_step_row_scale, *_span(returned), *_span(norms))
            if self._norms:
                ranks.all_reduce(norms, "all-reduce of norms")
                for replicas in self._everyone.replicas:
                    replicas.broadcast(norms, 0, "broadcast of norms to the replicas")
            self._call(lib.trasmuon_sharded_step_apply, *_span(norms))
        except BaseException:
            lib.trasmuon_sharded_step_cancel(self._handle)
            raise

    def _join_replicas(self, packed: torch.Tensor) -> None:
        """Adds up tallies and votes over the replicas. All take the energies of the first: NCCL promises the same bits
        within a group, not in two groups, and nothing brings replicas together again that have drifted apart."""
        for replicas in self._everyone.replicas:
            if replicas.rank > 0:
                packed.masked_fill_(self._common, 0)
            replicas.all_reduce(packed, "all-reduce of tallies over the replicas")

    def _call(self, function: Any, *arguments: Any) -> None:
        stream = torch.cuda.current_stream(self._device).cuda_stream if self._device.type == "cuda" else None
        check(function(self._handle, *arguments, stream))


def _span(tensor: torch.Tensor) -> List[int]:
    return [tensor.data_ptr(), tensor.numel()]
