# SPDX-License-Identifier: Apache-2.0
"""Weights of one owner that travel together."""
from typing import Dict, List, Sequence, Tuple

import torch

from .._tensors import storage_order

_ALIGNMENT = 64  # bytes


class Bucket:
    """Weights that one rank owns, on one device, packed into one buffer."""

    def __init__(self, owner: int, device: torch.device) -> None:
        self.owner, self.device = owner, device
        self.indices: List[int] = []
        self.slots: List[torch.Tensor] = []  # views of the buffer with shapes and strides of the weights
        self.size = 0
        self._shapes: List[Tuple[int, torch.Tensor]] = []

    def add(self, index: int, weight: torch.Tensor) -> None:
        self.indices.append(index)
        self._shapes.append((self.size, weight))
        self.size += padded_size(weight)

    def allocate(self) -> torch.Tensor:
        """Takes memory for the buffer, and returns it."""
        buffer = torch.empty(self.size, dtype=torch.uint8, device=self.device)
        self.slots = [_slot(buffer, start, weight) for start, weight in self._shapes]
        return buffer

    def release(self) -> None:
        self.slots = []


def padded_size(weight: torch.Tensor) -> int:
    size = weight.numel() * weight.element_size()
    return (size + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT


def _slot(buffer: torch.Tensor, start: int, weight: torch.Tensor) -> torch.Tensor:
    """Memory for a weight. Channels-last weights keep their order, in which state and sums are."""
    flat = buffer[start : start + weight.numel() * weight.element_size()].view(weight.dtype)
    order = None if weight.is_contiguous() else storage_order(weight)
    if order is None:
        return flat.view(weight.shape)
    back = [order.index(dimension) for dimension in range(len(order))]
    return flat.view([weight.size(dimension) for dimension in order]).permute(back)


def fill_buckets(
    weights: Sequence[torch.Tensor], owners: Sequence[int], bucket_bytes: int, ranks: int
) -> List[List[Bucket]]:
    """Distributes the weights of each owner and device over buckets of about this size, in their order. Returns the
    buckets of each rank; weights whose owner is negative travel in none."""
    buckets: List[List[Bucket]] = [[] for _ in range(ranks)]
    open_buckets: Dict[Tuple[int, torch.device], Bucket] = {}
    for index, (weight, owner) in enumerate(zip(weights, owners)):
        if owner < 0:
            continue
        key = (owner, weight.device)
        bucket = open_buckets.get(key)
        if bucket is None or bucket.size + padded_size(weight) > bucket_bytes:
            bucket = open_buckets[key] = Bucket(owner, weight.device)
            buckets[owner].append(bucket)
        bucket.add(index, weight)
    return buckets
