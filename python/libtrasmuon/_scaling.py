# SPDX-License-Identifier: Apache-2.0
"""The optimizer's part of torch.amp.GradScaler."""
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch

from ._compat import multiply_


def skips_nonfinite(groups: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the library skips matrices whose gradients have NaN, in all groups."""
    return all(group.get("skip_nonfinite", True) for group in groups)


def host_skips(found_inf: Optional[torch.Tensor], groups: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the host knows that the step is skipped, as in unscale()."""
    if found_inf is None or (found_inf.device.type != "cpu" and skips_nonfinite(groups)):
        return False
    return found_inf.item() != 0


def unscale(
    gradients: Sequence[Optional[torch.Tensor]],
    states: Sequence[Mapping[str, torch.Tensor]],
    found_inf: torch.Tensor,
    scale: Optional[torch.Tensor],
    groups: Sequence[Mapping[str, Any]],
) -> Optional[List[Optional[torch.Tensor]]]:
    """Gradients divided by the scale, in place, as torch's fused optimizers do; f16 ones as f32 copies, since f16 holds
    small gradients only as long as they are scaled. Returns None if the step is to be skipped and the host knows it:
    found_inf is on the CPU. Where only a GPU knows, the gradients become NaN there, and the library skips every matrix;
    the host does not wait. Options of groups that let NaN through (skip_nonfinite = False) need the host to know, so it waits.
    Either way the step is counted in `skipped`."""
    found_inf = found_inf.reshape(())  # torch 1.13 has one dimension
    present = [(gradient, state) for gradient, state in zip(gradients, states) if gradient is not None]
    on_host = found_inf.device.type == "cpu" or not skips_nonfinite(groups)
    if on_host and found_inf.item() != 0:
        for _, state in present:
            if state:  # over ranks, others may keep it
                state["skipped"].add_(1)
        return None
    if on_host and scale is None:
        return list(gradients)
    factor = torch.ones_like(found_inf) if scale is None else scale.reshape(()).double().reciprocal().float()
    if not on_host:
        factor = torch.where(found_inf != 0, torch.full_like(factor, float("nan")), factor)
    found = list(gradients)
    by_device: Dict[torch.device, List[torch.Tensor]] = {}
    for index, gradient in enumerate(gradients):
        if gradient is None:
            continue
        if gradient.dtype is torch.float16 and scale is not None:
            gradient = found[index] = gradient.float()
        by_device.setdefault(gradient.device, []).append(gradient)
    for device, tensors in by_device.items():
        multiply_(tensors, factor.to(device, non_blocking=True))
    return found
