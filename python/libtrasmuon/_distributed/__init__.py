# SPDX-License-Identifier: Apache-2.0
"""Optimizers over many ranks. torch.distributed moves the bytes. Imported only where ranks are involved."""
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict

import torch

from .._core import CoreGroup
from .._gradients import Gradients
from .._library import Error, ExchangeError
from .agree import Statement, must_stay, together
from .all_ranks import AllRanks
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
    """How an optimizer is spread over ranks. `groups` as in AllRanks; `own`: whether this rank refuses the arguments."""

    def __init__(self, groups: Sequence[Ranks], sharded: bool, options: DistributedOptions, own: Statement) -> None:
        self.everyone, self.sharded, self.options, self._own = AllRanks(groups), sharded, options, own
        self._placed: Any = None
        if sharded:
            from .gradients import PlacedGradients

            self._placed = PlacedGradients()

    @property
    def partial(self) -> bool:
        """Whether each rank keeps only its part of the state, as plain tensors."""
        return not self.sharded and self.everyone.count > 1

    def together(self, task: str, work: Callable[[], Any]) -> None:
        """Runs work that all ranks must do alike: if it raises on one, or the cores that it returns differ, all raise."""

        def described() -> str:
            self._own.rethrow()  # what the constructor was given
            return work().describe()

        self.everyone.begin(task)
        together(self.everyone, described)

    def check_rebuild(self, core: Any, has_same: bool) -> None:
        """Raises Error if this rank cannot build its part anew without the others: parameters or state are not those of
        before (has_same), or have changed in more than their addresses."""
        must_stay(has_same and core.is_as_built())

    def agreed(self, task: str, found_inf: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        """Begins a step. Returns what GradScaler has found, the same on all ranks, so that all skip the step, or none."""
        self.everyone.begin(task)
        if found_inf is None:
            return None
        found_inf = found_inf.clone()
        self.everyone.all_reduce(found_inf, "all-reduce of found_inf", largest=True)
        return found_inf

    def step(self, core: Callable[[], Any], prepare: Callable[[], Optional[Gradients]], skipped: bool) -> bool:
        """Steps the core with the gradients that `prepare` returns; none if `skipped`, on all ranks. If a rank fails
        before the exchanges, all raise, or learn why when they have waited in vain (on GPUs). Returns False, as
        Core.step() does, if the core must be built anew."""
        own, gradients = Statement(), None
        try:
            if self._placed is not None:
                self._placed.begin(self.everyone.ranks, core())
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
            if not own.is_known:
                self.everyone.report(str(failure))
            raise

    def gather(self, core: Any, to: Optional[int], task: str) -> Optional[List[Dict[str, torch.Tensor]]]:
        """The state of all parameters, on the CPU of rank `to`, or of every rank if it is None; None on the others."""
        ranks = self.everyone.ranks

        def check_rank() -> str:
            if to is not None and not 0 <= to < ranks.count:
                raise Error(f"consolidate_state_dict: to must be a rank below {ranks.count}, got {to}")
            return ""

        self.everyone.begin(task)
        together(self.everyone, check_rank)
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

            return ShardedCore(groups, settings, self.everyone, self.options["wire"], self._placed)
        known = {} if before is None else {id(t): owner for t, owner in zip(before.tensors, before.owners)}
        return ReplicatedCore(groups, settings, self.everyone, self.options["bucket_bytes"], known)


def connect(
    tensors: Sequence[torch.Tensor], process_group: Any, device_mesh: Any, options: Optional[Mapping[str, Any]]
) -> Distribution:
    """The ranks that the arguments of an optimizer and its parameters name. Where they can be told, other arguments
    that make no sense are refused in together(), by all ranks."""
    own = Statement()
    checked = own.attempt(lambda: _checked(options or {})) or _DEFAULTS
    own.attempt(lambda: _check_arguments(process_group, device_mesh))
    sharded = any(hasattr(tensor, "placements") for tensor in tensors)
    if sharded:
        try:
            from .dtensors import check_group, groups_of, mesh_of
        except ImportError:
            raise Error(f"parameters that are DTensors need torch 2.5 or later, got {torch.__version__}") from None
        groups = groups_of(tensors)
        own.attempt(lambda: check_group(groups[0], mesh_of(tensors), process_group, device_mesh))
    elif process_group is not None:
        groups = [process_group]
    else:
        own.rethrow()
        if device_mesh.ndim != 1:
            raise Error(f"device_mesh: must have one dimension for replicated parameters, got {device_mesh.ndim}")
        groups = [device_mesh.get_group()]
    # Not the current GPU, which is the same on all ranks unless they call torch.cuda.set_device().
    gpu = next((tensor.device for tensor in tensors if tensor.device.type == "cuda"), None)
    return Distribution([Ranks(group, checked["patience"], gpu) for group in groups], sharded, checked, own)


def _check_arguments(process_group: Any, device_mesh: Any) -> None:
    if process_group is not None and device_mesh is not None:
        raise Error("process_group and device_mesh: must not both be given")
    if device_mesh is not None and not hasattr(device_mesh, "get_group"):
        raise Error(f"device_mesh: must be a DeviceMesh, got {type(device_mesh).__name__}")


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
