# SPDX-License-Identifier: Apache-2.0
"""Parameters that are DTensors, sharded by rows over ranks (FSDP2)."""
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch

from .._core import BoundParameter, Core, CoreGroup, Master, StateTensors
from .._gradients import Gradients
from .._library import Error, lib, text_of
from .._state import StateSpec
from .agree import Statement, must_stay
from .all_ranks import AllRanks
from .dtensors import copy_part, is_whole, local_of, place_of, placed_state, placements_of, whole_of
from .gradients import PlacedGradients
from .owners import Ownership
from .sharded_step import ShardedStep


class ShardedCore:
    """A Core over what this rank holds of each parameter, stepped together with the other ranks: statistics are those
    of whole matrices, and each matrix is orthogonalized once, by its owner. AdamW needs no exchange, whatever its
    placements. Tensors that are no DTensors are stepped by every rank.

    A step that raises has left weights and state of this rank as they were."""

    def __init__(
        self,
        groups: Sequence[CoreGroup],
        settings: Mapping[str, Any],
        everyone: AllRanks,
        wire: str,
        gradients: PlacedGradients,
    ) -> None:
        """gradients: those of the step that has begun."""
        self._gradients = gradients
        self._everyone, self._ranks, self._wire, self._settings = everyone, everyone.ranks, wire, dict(settings)
        self.parameters = [parameter for group in groups for parameter in group.parameters]
        self.tensors = [parameter.tensor for parameter in self.parameters]
        self._rules = [group.rule for group in groups for _ in group.parameters]
        self._places = [
            place_of(parameter.tensor, rule, self._is_batch(i), self._ranks.group, f"parameter '{parameter.name}'")
            for i, (parameter, rule) in enumerate(zip(self.parameters, self._rules))
        ]
        self.placements = list(map(placements_of, self.tensors))
        self._are_whole = list(map(is_whole, self.tensors))
        # AdamW's empty parts are stepped as one element that is always zero, so that steps are counted alike.
        self._stand_ins = {
            index: local_of(tensor).new_zeros(1)
            for index, (tensor, place) in enumerate(zip(self.tensors, self._places))
            if place.shard is None and local_of(tensor).numel() == 0
        }
        self._core = Core(self._local_groups(groups), **settings)
        self._step = ShardedStep(self._core, everyone, self._rows(), self._sums(), wire, self._device())
        self.local_states, self.memory, self.orders = self._core.states, self._core.memory, self._core.orders
        self.states = [self._placed(groups, index) for index in range(len(self.tensors))]
        self.specs = [
            {name: StateSpec(tensor.dtype, tuple(tensor.shape)) for name, tensor in state.items()}
            for state in self.states
        ]

    def _locals(self) -> List[torch.Tensor]:
        """What this rank has of each parameter."""
        found = list(map(local_of, self.tensors))
        for index, stand_in in self._stand_ins.items():
            found[index] = stand_in
        return found

    def _local_groups(self, groups: Sequence[CoreGroup]) -> List[CoreGroup]:
        found, parts = [], zip(self._locals(), self._places)
        for group in groups:
            bound = []
            for parameter in group.parameters:
                tensor, place = next(parts)
                bound.append(parameter._replace(tensor=tensor, shard=place.shard))
            found.append(group._replace(parameters=bound))
        return found

    def _rows(self) -> List[List[int]]:
        """Rows of every parameter on every rank; 0 where it is not read."""
        return [[place.rows[rank] if place.shard else 0 for place in self._places] for rank in range(self._ranks.count)]

    def _sums(self) -> List[int]:
        """How many sums each cut matrix has: energies of its columns, norm and tally; Dion's has the tally alone."""
        found = []
        for index, (tensor, place) in enumerate(zip(self.tensors, self._places)):
            if place.shard and not self._is_batch(index):
                blocks = self.parameters[index].layout.row_blocks(tensor) or [tensor.size(0)]
                columns = tensor.numel() // tensor.size(0)
                found += [1 if self._rules[index] == "dion" else columns + 2] * len(blocks)
        return found

    def _device(self) -> torch.device:
        cut = [tensor for tensor, place in zip(self.tensors, self._places) if place.shard]
        return (cut or self.tensors)[0].device

    def _is_batch(self, index: int) -> bool:
        return self._rules[index] != "adamw" and self.parameters[index].layout.is_batch(self.tensors[index])

    def _placed(self, groups: Sequence[CoreGroup], index: int) -> StateTensors:
        """The state of a parameter as users see it."""
        tensor, found = self.tensors[index], {}
        sizes = self._entry_specs(groups, index) if self._is_batch(index) else {}
        for name, local in self._core.states[index].items():
            if index in self._stand_ins and name not in ("step", "skipped"):
                local = local.new_empty(local_of(tensor).shape)
            if name in sizes and local.size(0) == 0:
                local = local.new_empty(0, *sizes[name].shape[1:])
            found[name] = placed_state(tensor, name, local, self._is_batch(index))
        return found

    def _entry_specs(self, groups: Sequence[CoreGroup], index: int) -> Dict[str, StateSpec]:
        """Shapes of the state of a single matrix of a batch, for ranks that have none."""
        if self._core.tensors[index].size(0) > 0:
            return {}
        group = next(group for group in groups if any(p is self.parameters[index] for p in group.parameters))
        one = self._core.tensors[index].new_zeros(1, *self.tensors[index].shape[1:])
        only = BoundParameter("one", one, self.parameters[index].layout)
        return Core([group._replace(parameters=[only])], **self._settings).specs[0]

    def describe(self) -> str:
        """What all ranks must have in common. Shapes and placements are those of the whole parameters."""
        table = text_of(lib.trasmuon_optimizer_describe_table, self._core.handle).splitlines()
        lines = [line for line in table if not line.startswith("parameter ")]
        for index, parameter in enumerate(self.parameters):
            tensor = parameter.tensor
            layout = "" if self._rules[index] == "adamw" else " layout " + parameter.layout.text(tensor)
            placed = f" {list(tensor.placements)}" if hasattr(tensor, "placements") else ""
            lines.append(
                f"parameter {index}: '{parameter.name}' {self._rules[index]} {tensor.dtype} {list(tensor.shape)} "
                f"{tensor.device.type}{layout}{placed}"
            )
        return "\n".join(lines + [f"layout sharded, wire {self._wire}", f"{self._settings}", ""])

    def ownership(self) -> Ownership:
        """Who orthogonalizes which matrix that is cut: parameters in their order, row blocks in theirs."""
        return self._step.ownership

    # ---- Step ----------------------------------------------------------------------------------------------------

    def follow_weights(self) -> bool:
        self._core.replace_tensors(self._locals())
        return self._core.follow_weights()

    def is_as_built(self) -> bool:
        return self._core.is_as_built()

    def set_options(self, groups: Sequence[Mapping[str, Any]]) -> None:
        self._core.set_options(groups)

    def gradients(self) -> List[Optional[torch.Tensor]]:
        found = self._gradients.of_step()
        for index, stand_in in self._stand_ins.items():
            if found[index] is not None:
                found[index] = torch.zeros_like(stand_in)
        return found

    def check_gradients(self, gradients: Gradients) -> bool:
        return self._core.check_gradients(gradients)

    def describe_step(self, gradients: Gradients) -> str:
        """What all ranks must have in common in a step: options, and which gradients of whole parameters are there."""
        if not self._step.votes:
            return ""
        missing = [
            f"gradient of '{parameter.name}' is missing\n"
            for parameter, is_whole, gradient in zip(self.parameters, self._are_whole, gradients)
            if is_whole and gradient is None
        ]
        return self.describe() + "".join(missing)

    def step(self, gradients: Gradients, own: Statement) -> None:
        """Takes a step, unless this rank or another has failed: then all raise. On GPUs the host would have to wait for
        the votes, so only the rank that fails raises there."""
        if self._everyone.count == 1:
            own.rethrow()
            must_stay(self._core.step(gradients))
            return
        own.attempt(lambda: must_stay(self._core.lend_gradients(gradients)))
        self._step.run(own)
        self._core.note_written()

    # ---- State ---------------------------------------------------------------------------------------------------

    def masters(self) -> List[Master]:
        """Of parts that are not empty. Operations on DTensors count in their version, others in that of the part."""
        found = [item for item in self._core.masters() if item.weight.numel() > 0]
        return [item._replace(version=(self.tensors[item.parameter]._version, item.version)) for item in found]

    def gather_state(self, index: int) -> StateTensors:
        """The state of the whole parameter, on every rank. Every rank must call it."""
        whole = {}
        for name, tensor in self.states[index].items():
            what = f"gathering of state '{name}' of '{self.parameters[index].name}'"
            whole[name] = self._ranks.guarded(what, lambda: whole_of(tensor))
        return whole

    def load_state(self, index: int, saved: Mapping[str, Any]) -> None:
        """Copies this rank's part of the state of a parameter, which has the shapes of `specs`."""
        for name, target in self.states[index].items():
            if isinstance(saved.get(name), torch.Tensor):
                copy_part(target, saved[name])

    # ---- Insight -------------------------------------------------------------------------------------------------

    def diagnostics(self, index: int) -> List[Dict[str, float]]:
        return self._core.diagnostics(index)

    def warnings(self) -> List[str]:
        return self._core.warnings()

    def state_bytes(self) -> int:
        """Size of the state that this rank keeps."""
        return self._core.state_bytes()

    def workspace_bytes(self) -> int:
        return self._core.workspace_bytes()

    def refresh_recorded(self) -> None:
        raise Error("refresh_recorded: steps over ranks cannot be captured in CUDA graphs")
