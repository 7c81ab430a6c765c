# SPDX-License-Identifier: Apache-2.0
"""Optimizers over many ranks. torch.distributed moves the bytes. Imported only where ranks are involved."""
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

import torch

from .._core import CoreGroup
from .._gradients import Gradients
from .._library import Error, ExchangeError
from .agree import Statement, must_stay, together
from .ranks import Ranks
from .replicated import ReplicatedCore

_WIRES = ("f16", "bf16", "f32")


class DistributedOptions(TypedDict, total=False):
    """Settings of an optimizer over ranks.

    wire: sharded parameters: type in which rows travel to their owner and back: "f16", "bf16" or "f32". Rows of f64
        weights travel as f64, Dion's as f32.
    bucket_bytes: replicated parameters: weights travel in pieces of this size, each while the next is computed.
    patience: seconds that a rank whose exchange failed waits for the other ranks' reports in the store, to name those
        missing.
    """

    wire: str
    bucket_bytes: int
    patience: float


_DEFAULTS: DistributedOptions = {"wire": "f16", "bucket_bytes": 25 << 20, "patience": 10.0}


class Distribution:
    """How an optimizer is spread over ranks. `groups[0]` are the ranks that exchange; further groups hold the same."""

    def __init__(self, groups: Sequence[Ranks], sharded: bool, options: DistributedOptions) -> None:
        self.groups, self.sharded, self.options = list(groups), sharded, options

    @property
    def ranks(self) -> Ranks:
        return self.groups[0]

    @property
    def partial(self) -> bool:
        """Whether each rank keeps only its part of the state, as plain tensors."""
        return not self.sharded and self.ranks.count > 1

    def _begin(self, task: str) -> None:
        for ranks in self.groups:
            ranks.begin(task)

    def together(self, task: str, work: Callable[[], Any]) -> None:
        """Runs work that all ranks must do alike: if it raises on one, or the cores that it returns differ, all raise."""
        self._begin(task)
        together(self.groups, lambda: work().describe())

    def check_rebuild(self, core: Any, has_same: bool) -> None:
        """Raises Error if this rank cannot build its part anew without the others: parameters or state are not those of
        before (has_same), or have changed in more than their addresses."""
        must_stay(has_same and core.is_as_built())

    def agreed(self, task: str, found_inf: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        """Begins a step. Returns what GradScaler has found, the same on all ranks, so that all skip the step, or none."""
        self._begin(task)
        if found_inf is None:
            return None
        found_inf = found_inf.clone()
        for ranks in self.groups:
            ranks.all_reduce(found_inf, "all-reduce of found_inf", largest=True)
        return found_inf

    def step(self, core: Callable[[], Any], prepare: Callable[[], Optional[Gradients]], skipped: bool) -> bool:
        """Steps the core with the gradients that `prepare` returns; none if `skipped`, on all ranks. If a rank fails
        before the exchanges, all raise, or learn why when they have waited in vain (on GPUs). Returns False, as
        Core.step() does, if the core must be built anew."""
        own, gradients = Statement(), None
        try:
            gradients = own.attempt(prepare)
            if skipped:
                own.rethrow()
                return True
            own.text = own.attempt(lambda: core().describe_step(gradients)) or ""
            core().step(gradients or [None] * len(core().tensors), own)
            return True
        except ExchangeError:
            raise
        except Exception as failure:
            self.ranks.leave_word(str(failure))
            raise

    def gather(self, core: Any, to: Optional[int], task: str) -> Optional[List[Dict[str, torch.Tensor]]]:
        """The state of all parameters, on the CPU of rank `to`, or of every rank if it is None; None on the others."""
        ranks = self.ranks
        if to is not None and not 0 <= to < ranks.count:
            raise Error(f"consolidate_state_dict: to must be a rank below {ranks.count}, got {to}")
        self._begin(task)
        keeps, gathered = to in (None, ranks.rank), []
        for index in range(len(core.tensors)):
            state = core.gather_state(index)
            if keeps:
                gathered.append({name: tensor.to("cpu", copy=True) for name, tensor in state.items()})
        return gathered if keeps else None

    def build(self, groups: Sequence[CoreGroup], settings: Mapping[str, Any], before: Any) -> Any:
        """The part of this rank; `before` is the one that it replaces, or None."""
        if self.sharded:
            from .sharded import ShardedCore

            return ShardedCore(groups, settings, self.ranks, self.options["wire"])
        known = {} if before is None else {id(t): owner for t, owner in zip(before.tensors, before.owners)}
        return ReplicatedCore(groups, settings, self.ranks, self.options["bucket_bytes"], known)


def connect(
    tensors: Sequence[torch.Tensor], process_group: Any, device_mesh: Any, options: Optional[Mapping[str, Any]]
) -> Distribution:
    """The ranks that the arguments of an optimizer and its parameters name."""
    checked = _checked(options or {})
    if process_group is not None and device_mesh is not None:
        raise Error("process_group and device_mesh: must not both be given")
    if device_mesh is not None and not hasattr(device_mesh, "get_group"):
        raise Error(f"device_mesh: must be a DeviceMesh, got {type(device_mesh).__name__}")
    patience = checked["patience"]
    if any(hasattr(tensor, "placements") for tensor in tensors):
        try:
            from .dtensors import groups_of
        except ImportError:
            raise Error(f"parameters that are DTensors need torch 2.5 or later, got {torch.__version__}") from None

        found = [Ranks(group, patience) for group in groups_of(tensors, process_group, device_mesh)]
        return Distribution(found, True, checked)
    if device_mesh is not None:
        if device_mesh.ndim != 1:
            raise Error(f"device_mesh: must have one dimension for replicated parameters, got {device_mesh.ndim}")
        process_group = device_mesh.get_group()
    return Distribution([Ranks(process_group, patience)], False, checked)


def _checked(options: Mapping[str, Any]) -> DistributedOptions:
    for name in options:
        if name not in _DEFAULTS:
            raise Error(f"distributed: unknown setting '{name}', known: {', '.join(_DEFAULTS)}")
    checked: Dict[str, Any] = {**_DEFAULTS, **options}
    if checked["wire"] not in _WIRES:
        raise Error(f"distributed: wire must be one of {', '.join(_WIRES)}, got {checked['wire']!r}")
    if not isinstance(checked["bucket_bytes"], int) or checked["bucket_bytes"] < 1:
        raise Error(f"distributed: bucket_bytes must be a whole number > 0, got {checked['bucket_bytes']!r}")
    if not checked["patience"] >= 0:
        raise Error(f"distributed: patience must be >= 0 seconds, got {checked['patience']!r}")
    return checked  # type: ignore[return-value]
