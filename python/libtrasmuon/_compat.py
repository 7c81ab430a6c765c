# SPDX-License-Identifier: Apache-2.0
"""The differences between torch versions, 1.13 to 2.x."""
from typing import Any, Callable, List, Optional, Sequence

import torch

_foreach_mul: Any = torch._foreach_mul_
_increment: Any = getattr(torch._C, "_increment_version", None)


def _takes_lists() -> bool:
    try:
        _increment([torch.zeros(1)])
        return True
    except TypeError:  # before 2.5: one tensor
        return False


_increments_lists = _increment is not None and _takes_lists()


class VersionBumper:
    """Tells autograd that the library has written to tensors, as torch's own in-place operations do."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._tensors: List[torch.Tensor] = list(tensors)
        if _increment is None:  # before 2.0: views of no element share the counters of their tensors
            self._tensors = [(tensor.detach() if tensor.dim() else tensor.detach().view(1))[:0] for tensor in tensors]

    def __call__(self, indices: Optional[Sequence[int]] = None) -> None:
        """Increments the counters of these tensors; None: of all."""
        tensors = self._tensors if indices is None else [self._tensors[index] for index in indices]
        if _increments_lists:
            _increment(tensors)
        elif _increment is not None:
            for tensor in tensors:
                _increment(tensor)
        elif tensors:
            torch._foreach_zero_(tensors)


# Keeps torch.compile from tracing into a function.
disable_compile: Callable[[Any], Any] = getattr(torch, "_disable_dynamo", lambda function: function)


# How GradScaler.step() treats optimizers that divide gradients themselves: it tells them in attributes. Before 2.0 it
# passes itself to their step(), which others than torch's own must not rely on; so it has to divide there.
SCALER_SETS_ATTRIBUTES = "found_inf" in torch.cuda.amp.GradScaler.step.__code__.co_names


def multiply_(tensors: List[torch.Tensor], factor: torch.Tensor) -> None:
    """Multiplies tensors in place by a scalar tensor on their device, without a host sync."""
    try:
        _foreach_mul(tensors, factor)
    except (TypeError, RuntimeError):  # before 2.1: no scalar tensors
        for tensor in tensors:
            tensor.mul_(factor)
