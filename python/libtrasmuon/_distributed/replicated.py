# SPDX-License-Identifier: Apache-2.0
"""Parameters that every rank has whole, with the same gradients (DistributedDataParallel)."""
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch

from .._core import Core, CoreGroup, Master, StateTensors, form_of, version_of
from .._gradients import Gradients
from .._library import Error, lib, text_of
from .agree import Statement, compare, must_stay
from .all_ranks import AllRanks
from .buckets import Bucket, fill_buckets
from .owners import Ownership, assign_owners, step_cost
from .ranks import Exchange

EVERYBODY = -1  # owner of a parameter that every rank steps


class ReplicatedCore:
    """A Core of which each rank steps its share. Each parameter of a matrix rule has one owner, which keeps its state
    and steps it; the new weights travel in buckets, each while the next is computed. Ranks end with the same bytes,
    those of one process.

    AdamW is stepped by every rank: the gradient is there, and one pass over memory takes less time than sending the
    result. A large embedding has its state on some rank anyway.

    A step that raises has left weights and state of this rank as they were: new weights are written when all have
    arrived, and a copy of the state of what this rank owns is kept until then."""

    def __init__(
        self,
        groups: Sequence[CoreGroup],
        settings: Mapping[str, Any],
        everyone: AllRanks,
        bucket_bytes: int,
        known_owners: Mapping[int, int],
    ) -> None:
        """known_owners: owners by id of the tensor, of parameters that have one already."""
        ranks = everyone.ranks
        self._everyone, self._ranks, self._bucket_bytes = everyone, ranks, bucket_bytes
        self.parameters = [parameter for group in groups for parameter in group.parameters]
        self.tensors = [parameter.tensor for parameter in self.parameters]
        rules = [group.rule for group in groups for _ in group.parameters]
        self.owners = self._assign(rules, known_owners)
        self._buckets = fill_buckets(self.tensors, self.owners if ranks.count > 1 else [], bucket_bytes, ranks.count)
        self._slots: Dict[int, torch.Tensor] = {}
        self._buffers = [bucket.allocate() for bucket in self._buckets[ranks.rank]]
        for bucket in self._buckets[ranks.rank]:
            self._slots.update(zip(bucket.indices, bucket.slots))
        self._core = Core(self._bound(groups), **settings, keeps=self._keeps)
        self.states: List[StateTensors] = self._core.states
        self.local_states, self.memory, self.specs = self._core.states, self._core.memory, self._core.specs
        self.orders = self._core.orders
        self._forms = [form_of(tensor) for tensor in self.tensors]
        self._state = [tensor for index in self._slots for tensor in self.memory[index].values()]
        self._kept: List[torch.Tensor] = []
        self._votes = ranks.count > 1 and all(tensor.device.type == "cpu" for tensor in self.tensors)

    def _assign(self, rules: Sequence[str], known: Mapping[int, int]) -> List[int]:
        """Owners stay as they are; new parameters are distributed among themselves."""
        unknown = EVERYBODY - 1
        owners = [EVERYBODY if rule == "adamw" else known.get(id(t), unknown) for rule, t in zip(rules, self.tensors)]
        new = [index for index, owner in enumerate(owners) if owner == unknown]
        costs = [step_cost(self.parameters[index]) for index in new]
        for index, owner in zip(new, assign_owners(costs, self._ranks.count).owners):
            owners[index] = owner
        return owners

    def _keeps(self, index: int) -> bool:
        return self.owners[index] in (EVERYBODY, self._ranks.rank)

    def _bound(self, groups: Sequence[CoreGroup]) -> List[CoreGroup]:
        """The groups, with weights that this rank owns in the slots of its buckets."""
        found, index = [], 0
        for group in groups:
            bound = []
            for parameter in group.parameters:
                bound.append(parameter._replace(tensor=self._slots.get(index, parameter.tensor)))
                index += 1
            found.append(group._replace(parameters=bound))
        return found

    def describe(self) -> str:
        """What all ranks must have in common."""
        owners = "".join(f"owner of parameter {index}: {owner}\n" for index, owner in enumerate(self.owners))
        table = text_of(lib.trasmuon_optimizer_describe_table, self._core.handle)
        return f"{table}layout replicated\nbucket_bytes {self._bucket_bytes}\n{owners}"

    def ownership(self) -> Ownership:
        """Who steps which parameter; EVERYBODY for AdamW."""
        loads = [0.0] * self._ranks.count
        for parameter, owner in zip(self.parameters, self.owners):
            if owner != EVERYBODY:
                loads[owner] += step_cost(parameter)
        mean = sum(loads) / len(loads)
        return Ownership(self.owners, max(loads) / mean if mean else 1.0, loads.count(0.0))

    # ---- Step ----------------------------------------------------------------------------------------------------

    def follow_weights(self) -> bool:
        return self.is_as_built() and self._core.follow_weights()

    def is_as_built(self) -> bool:
        return self._forms == [form_of(tensor) for tensor in self.tensors]

    def set_options(self, groups: Sequence[Mapping[str, Any]]) -> None:
        self._core.set_options(groups)

    def gradients(self) -> List[Optional[torch.Tensor]]:
        return [tensor.grad for tensor in self.tensors]

    def check_gradients(self, gradients: Gradients) -> bool:
        """Raises Error if one of the gradients that are needed here cannot be stepped with. Returns False as Core does."""
        return self._core.check_gradients(self._kept_here(gradients))

    def _kept_here(self, gradients: Gradients) -> List[Optional[torch.Tensor]]:
        return [gradient if self._keeps(index) else None for index, gradient in enumerate(gradients)]

    def describe_step(self, gradients: Gradients) -> str:
        """What all ranks must have in common in a step: options, and which gradients AdamW has."""
        missing = [
            f"gradient of '{parameter.name}' is missing\n"
            for parameter, owner, gradient in zip(self.parameters, self.owners, gradients)
            if owner == EVERYBODY and gradient is None
        ]
        return self.describe() + "".join(missing) if self._votes else ""

    def step(self, gradients: Gradients, own: Statement) -> None:
        """Takes a step, unless this rank or another has failed: then all raise. On GPUs the host would have to wait for
        the votes, so only the rank that fails raises there."""
        if self._ranks.count == 1:
            own.rethrow()
            must_stay(self._core.step(gradients))
            return
        kept = self._kept_here(gradients)
        own.attempt(lambda: must_stay(self._core.check_gradients(kept)))  # all, before anything is changed
        if not self._votes:
            own.rethrow()
        has_copy = bool(own.attempt(self._keep_state))
        try:
            self._exchange(kept, own)
            if self._votes:
                compare(self._everyone, own)
            own.rethrow()
            # Before weights are written: it may run out of memory, which changes nothing.
            self._core.step(self._only(kept, [i for i, owner in enumerate(self.owners) if owner == EVERYBODY]))
        except BaseException:
            for state, copy in zip(self._state, self._kept if has_copy else []):
                state.copy_(copy)
            self._release()
            raise
        for bucket in (bucket for of_rank in self._buckets for bucket in of_rank):
            for index, slot in zip(bucket.indices, bucket.slots):
                self.tensors[index].copy_(slot)
        self._release()

    def _keep_state(self) -> bool:
        if not self._kept:
            self._kept = [torch.empty_like(state) for state in self._state]
        for state, kept in zip(self._state, self._kept):
            kept.copy_(state)
        return True

    @staticmethod
    def _only(gradients: Gradients, indices: Sequence[int]) -> List[Optional[torch.Tensor]]:
        chosen: List[Optional[torch.Tensor]] = [None] * len(gradients)
        for index in indices:
            chosen[index] = gradients[index]
        return chosen

    def _exchange(self, gradients: Gradients, own: Statement) -> None:
        """In each round every owner steps its next bucket, which travels while the bucket after it is computed. A rank
        that has failed sends its buckets as they are: the others wait for them."""
        under_way: List[Exchange] = []
        own_buckets = self._buckets[self._ranks.rank]
        for turn in range(max(map(len, self._buckets))):
            if turn < len(own_buckets):
                own.attempt(lambda: self._compute(own_buckets[turn], gradients))
                if not self._votes:
                    own.rethrow()
            for bucket in (of_rank[turn] for of_rank in self._buckets if turn < len(of_rank)):
                mine = bucket.owner == self._ranks.rank
                buffer = self._buffers[turn] if mine else bucket.allocate()
                name = f"broadcast of new weights from rank {bucket.owner} (from '{self.parameters[bucket.indices[0]].name}')"
                under_way.append(self._ranks.start_broadcast(buffer, bucket.owner, name))
        for exchange in under_way:
            self._ranks.wait(exchange)

    def _compute(self, bucket: Bucket, gradients: Gradients) -> None:
        for index, slot in zip(bucket.indices, bucket.slots):
            slot.copy_(self.tensors[index])
        self._core.step(self._only(gradients, bucket.indices))

    def _release(self) -> None:
        for rank, buckets in enumerate(self._buckets):
            for bucket in buckets if rank != self._ranks.rank else []:
                bucket.release()

    # ---- State ---------------------------------------------------------------------------------------------------

    def masters(self) -> List[Master]:
        """Of what this rank keeps. The core steps weights in slots; versions are those of the parameters."""
        found = []
        for item in self._core.masters():
            weight = self.tensors[item.parameter]
            found.append(item._replace(weight=weight, version=version_of(weight)))
        return found

    def gather_state(self, index: int) -> StateTensors:
        """The state of a parameter, on every rank. Every rank must call it."""
        owner = self.owners[index]
        if owner == EVERYBODY or self._ranks.count == 1:
            return self.states[index]
        whole: StateTensors = {}
        for name, spec in self.specs[index].items():
            tensor = self.states[index].get(name)
            if tensor is None:
                tensor = torch.empty(spec.shape, dtype=spec.dtype, device=self.tensors[index].device)
            what = f"broadcast of state '{name}' of '{self.parameters[index].name}' from rank {owner}"
            self._ranks.broadcast(tensor.view(-1).view(torch.uint8), owner, what)  # Gloo does not know all dtypes
            whole[name] = tensor
        return whole

    def load_state(self, index: int, saved: Mapping[str, Any]) -> None:
        self._core.load_state(index, saved)

    # ---- Insight -------------------------------------------------------------------------------------------------

    def diagnostics(self, index: int) -> List[Dict[str, float]]:
        return self._core.diagnostics(index) if self._keeps(index) else []

    def warnings(self) -> List[str]:
        return self._core.warnings()

    def state_bytes(self) -> int:
        """Size of the state that this rank keeps."""
        return sum(tensor.numel() * tensor.element_size() for state in self.states for tensor in state.values())

    def workspace_bytes(self) -> int:
        return self._core.workspace_bytes()

    def refresh_recorded(self) -> None:
        raise Error("refresh_recorded: steps over ranks cannot be captured in CUDA graphs")
