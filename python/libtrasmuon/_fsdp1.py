# SPDX-License-Identifier: Apache-2.0
"""FullyShardedDataParallel (FSDP1), whose parameters are flat: no rule for matrices can step them."""
from typing import Any, Sequence

import torch

from ._library import Error


def refuse_fsdp1(rule: str, source: Any, tensors: Sequence[torch.Tensor]) -> None:
    """Raises Error if a rule for matrices is given parameters of FSDP1. AdamW would silently take those that are flat."""
    modules = source.modules() if isinstance(source, torch.nn.Module) else []
    # By name: torch.distributed is not always there.
    wrapped = any(kind.__name__ == "FullyShardedDataParallel" for module in modules for kind in type(module).__mro__)
    flat = any(getattr(t, "_fsdp_flattened", False) or type(t).__name__ == "FlatParameter" for t in tensors)
    has_groups = isinstance(source, list) and isinstance(source[0], dict)  # which say who takes AdamW
    if rule != "adamw" and not has_groups and (wrapped or flat):
        raise Error(
            f"{rule} needs matrices, but FullyShardedDataParallel (FSDP1) makes parameters flat; shard the model with "
            "torch.distributed.fsdp.fully_shard (FSDP2) instead"
        )
