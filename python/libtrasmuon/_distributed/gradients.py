# SPDX-License-Identifier: Apache-2.0
"""Gradients of DTensors, also those that are placed unlike their weights, as tensor parallelism makes them (Partial)."""
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch.distributed.tensor import DTensor

from .._library import Error
from .dtensors import local_of
from .ranks import Ranks


class PlacedGradients:
    """What this rank has of each gradient, placed like the weight. Placing is an exchange. So it is done when a step
    begins, before a rank can refuse something, and a rank that lacks a gradient joins with zeros."""

    def __init__(self) -> None:
        self._found: List[Optional[torch.Tensor]] = []
        self._failure: Optional[Error] = None
        self._last: Dict[int, Tuple[Any, torch.Tensor]] = {}  # by id of the weight: how its gradient was placed

    def begin(self, ranks: Ranks, core: Any) -> None:
        """Finds those of a step, for the weights of a ShardedCore. Every rank must call it."""
        self._failure = None
        self._found = [
            weight.grad if placements is None else self._local(ranks, weight, placements, parameter.name)
            for weight, placements, parameter in zip(core.tensors, core.placements, core.parameters)
        ]

    def of_step(self) -> List[Optional[torch.Tensor]]:
        """The gradients, for one call. Raises Error if one of them cannot be stepped with."""
        if self._failure is not None:
            raise self._failure
        found, self._found = self._found, []
        return found

    def _local(self, ranks: Ranks, weight: Any, placements: Any, name: str) -> Optional[torch.Tensor]:
        gradient = weight.grad
        if isinstance(gradient, DTensor):
            if gradient.placements == placements:
                return gradient._local_tensor
            if gradient.device_mesh == weight.device_mesh and gradient.shape == weight.shape:
                like = torch.empty_like(gradient._local_tensor, device="meta")
                self._last[id(weight)] = gradient._spec, like
                return self._place(ranks, gradient, placements, name)
            self._failure = Error(f"gradient of '{name}': must have the mesh and the shape of the weight")
        elif gradient is not None:
            self._failure = Error(f"gradient of '{name}': must be a DTensor, as the weight, got a plain tensor")
        if id(weight) in self._last:
            spec, like = self._last[id(weight)]
            zeros = torch.zeros_like(like, device=local_of(weight).device)
            self._place(ranks, DTensor(zeros, spec, requires_grad=False), placements, name)
        return None

    @staticmethod
    def _place(ranks: Ranks, gradient: Any, placements: Any, name: str) -> torch.Tensor:
        what = f"placing of the gradient of '{name}'"
        placed: torch.Tensor = ranks.guarded(what, lambda: gradient.redistribute(placements=placements))._local_tensor
        return placed
