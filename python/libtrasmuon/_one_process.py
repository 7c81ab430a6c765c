# SPDX-License-Identifier: Apache-2.0
"""Who steps the parameters of an optimizer: this process alone, or ranks (_distributed)."""
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

import torch

from ._core import Core, CoreGroup
from ._gradients import Gradients
from ._library import Error

if TYPE_CHECKING:
    from ._distributed import Distribution
    from ._distributed.replicated import ReplicatedCore
    from ._distributed.sharded import ShardedCore

AnyCore = Union[Core, "ReplicatedCore", "ShardedCore"]


class OneProcess:
    """This process steps everything. The same calls as those of Distribution, which says what they are for."""

    sharded = partial = False

    def build(self, groups: Sequence[CoreGroup], settings: Mapping[str, Any], before: Any) -> Core:
        return Core(groups, **settings)

    def together(self, task: str, work: Callable[[], AnyCore]) -> None:
        work()

    def check_rebuild(self, core: AnyCore, has_same: bool) -> None:
        pass

    def agreed(self, task: str, found_inf: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        return found_inf

    def step(self, core: Callable[[], AnyCore], prepare: Callable[[], Optional[Gradients]], skipped: bool) -> bool:
        gradients = prepare()
        return gradients is None or core().step(gradients)  # type: ignore[call-arg, return-value]

    def gather(self, core: AnyCore, to: Optional[int], task: str) -> None:
        pass


def spread(
    tensors: Sequence[torch.Tensor], process_group: Any, device_mesh: Any, settings: Optional[Mapping[str, Any]]
) -> Union[OneProcess, "Distribution"]:
    """How an optimizer over these tensors is spread, by the arguments of its constructor."""
    if process_group is None and device_mesh is None and not any(hasattr(tensor, "placements") for tensor in tensors):
        if settings:
            raise Error("distributed: needs process_group, device_mesh, or parameters that are DTensors")
        return OneProcess()
    from ._distributed import connect  # here: torch.distributed is not always there

    return connect(tensors, process_group, device_mesh, settings)
