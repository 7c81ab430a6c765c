# SPDX-License-Identifier: Apache-2.0
"""The ranks of a process group, and the exchanges between them."""
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from .._library import Error, ExchangeError
from .failure_reports import FailureReports


class Exchange(NamedTuple):
    """An exchange that has begun."""

    work: Any
    name: str
    finish: Callable[[], Any]  # copies what was received to where it belongs; holds the tensors that travel


class Ranks:
    """The ranks of a process group. Every rank makes the same exchanges in the same order. One that fails raises
    ExchangeError with the task, the exchange, this rank, the reason, and the ranks that give no answer within
    `patience` seconds. Tensors on a device that the group does not serve travel through one that it does: the CPU, or
    `gpu`, which must be another one on every rank."""

    def __init__(self, group: Any, patience: float, gpu: Optional[torch.device] = None) -> None:
        self.group, self._gpu = group, gpu
        self.rank, self.count = dist.get_rank(group), dist.get_world_size(group)
        if self.rank < 0:
            raise Error("process_group: this process must be one of its ranks")
        self._task = "start"
        self._served = _device_types(group)
        self.reports = FailureReports(_store_of(group), self.rank, self.count, patience)

    def begin(self, task: str) -> None:
        """Names what the following exchanges are for ("step 7")."""
        self._task = task
        self.reports.begin(task)

    @property
    def task(self) -> str:
        return self._task

    def device(self, of: torch.device = torch.device("cpu")) -> torch.device:
        """Where tensors of a device travel: there, if the group serves it."""
        if of.type in self._served:
            return of
        if "cpu" in self._served:
            return torch.device("cpu")
        return self._gpu or torch.device("cuda", torch.cuda.current_device())

    # ---- Exchanges -----------------------------------------------------------------------------------------------

    def start_broadcast(self, tensor: torch.Tensor, source: int, name: str) -> Exchange:
        travels = tensor.to(self.device(tensor.device))
        root = c10d.get_global_rank(self.group, source)
        return self._start(
            name,
            lambda: dist.broadcast(travels, root, group=self.group, async_op=True),
            lambda: tensor if travels is tensor else tensor.copy_(travels),
        )

    def broadcast(self, tensor: torch.Tensor, source: int, name: str) -> None:
        self.wait(self.start_broadcast(tensor, source, name))

    def all_reduce(self, tensor: torch.Tensor, name: str, largest: bool = False) -> None:
        """Sums over all ranks, or takes the largest value; all get the same bits."""
        travels = tensor.to(self.device(tensor.device))
        operation = dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM
        self.wait(
            self._start(
                name,
                lambda: dist.all_reduce(travels, operation, group=self.group, async_op=True),
                lambda: tensor if travels is tensor else tensor.copy_(travels),
            )
        )

    def all_to_all(
        self,
        sent: torch.Tensor,
        sent_sizes: List[int],
        received: torch.Tensor,
        received_sizes: List[int],
        name: str,
    ) -> None:
        """Sends sent_sizes[r] bytes to rank r and receives received_sizes[r] from it, each in the order of the ranks."""
        there = self.device(sent.device)
        leaves, arrives = sent.to(there), received if there == received.device else torch.empty_like(
            received, device=there
        )
        self.wait(
            self._start(
                name,
                lambda: dist.all_to_all_single(
                    arrives, leaves, received_sizes, sent_sizes, group=self.group, async_op=True
                ),
                lambda: (leaves, received if arrives is received else received.copy_(arrives)),
            )
        )

    def guarded(self, name: str, work: Callable[[], Any]) -> Any:
        """Runs an exchange that torch makes, and waits for it."""
        try:
            return work()
        except RuntimeError as failure:
            self._fail(name, failure)

    def wait(self, exchange: Exchange) -> None:
        """Waits until an exchange is done; with NCCL the current stream waits instead of the host."""
        try:
            exchange.work.wait()
        except RuntimeError as failure:
            self._fail(exchange.name, failure)
        exchange.finish()

    def _start(self, name: str, begin: Callable[[], Any], finish: Callable[[], Any]) -> Exchange:
        try:
            return Exchange(begin(), name, finish)
        except RuntimeError as failure:
            self._fail(name, failure)
            raise

    # ---- Failures ------------------------------------------------------------------------------------------------

    def _fail(self, exchange: str, failure: RuntimeError) -> None:
        reason = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
        members = c10d.get_process_group_ranks(self.group)
        listed = "" if members == list(range(dist.get_world_size())) else f" ({members} of all)"
        where = f"failed on rank {self.rank} of {self.count}{listed}"
        raise ExchangeError(f"{self._task}: {exchange} {where}: {reason}{self.reports.of_others()}") from failure


def _device_types(group: Any) -> Sequence[str]:
    """The types of devices whose tensors a group moves. Gloo moves only some kinds of exchanges between GPUs."""
    backend = dist.get_backend(group)
    if backend in ("gloo", "mpi", "nccl"):
        return ["cuda"] if backend == "nccl" else ["cpu"]
    return [device.type for device in getattr(group, "_device_types", [])] or ["cpu"]  # "cpu:gloo,cuda:nccl"


def _store_of(group: Any) -> Any:
    """The store through which the group was built; None if this version of torch does not tell."""
    known: Dict[Any, Any] = getattr(getattr(c10d, "_world", None), "pg_map", None) or getattr(c10d, "_pg_map", {})
    try:
        return known[group][1]
    except (KeyError, IndexError, TypeError):
        return None
