# SPDX-License-Identifier: Apache-2.0
"""Torch tensors as views of the library. Error texts start with `who`: "parameter 'w'"."""
import ctypes
from typing import Any, Dict, List, Optional, Tuple

import torch

from ._library import CPU, CUDA, MAX_RANK, Error, Tensor, sizes_of

_DTYPES: Dict[torch.dtype, int] = {
    torch.float64: 0,
    torch.float32: 1,
    torch.bfloat16: 2,
    torch.float16: 3,
    torch.int64: 4,
}
WIRES = {"f32": _DTYPES[torch.float32], "bf16": _DTYPES[torch.bfloat16], "f16": _DTYPES[torch.float16]}
TORCH_DTYPES = {number: dtype for dtype, number in _DTYPES.items()}


def dtype_number(tensor: torch.Tensor, who: str) -> int:
    number = _DTYPES.get(tensor.dtype)
    if number is None or tensor.dtype is torch.int64:
        raise Error(f"{who}: dtype must be float64, float32, bfloat16 or float16, got {tensor.dtype}")
    return number


def device_number(tensor: torch.Tensor, who: str) -> int:
    if tensor.device.type == "cpu":
        return CPU
    if tensor.device.type == "cuda":
        return CUDA + tensor.device.index
    hint = "; build the optimizer after materializing the model" if tensor.device.type == "meta" else ""
    raise Error(f"{who}: must be on cpu or cuda, got device {tensor.device}{hint}")


def check_plain(tensor: torch.Tensor, who: str) -> None:
    """Refuses what has no memory of its own to step on."""
    if tensor.layout is not torch.strided:
        hint = "; use sparse=False in the embedding" if tensor.layout is torch.sparse_coo else ""
        raise Error(f"{who}: must be dense, got layout {tensor.layout}{hint}")
    if hasattr(tensor, "placements"):
        raise Error(f"{who}: must be a plain tensor here, got a DTensor")


def storage_order(tensor: torch.Tensor) -> Optional[Tuple[int, ...]]:
    """The permutation that makes a channels-last convolution weight contiguous; None for other tensors."""
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return (0, 2, 3, 1)
    if tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d):
        return (0, 2, 3, 4, 1)
    return None


def weight_view(weight: torch.Tensor, who: str, may_be_empty: bool = False) -> Tuple[Tensor, Optional[Tuple[int, ...]]]:
    """A view of a weight that is contiguous, channels-last, or a matrix with contiguous rows; and its storage order.
    For the matrix rules channels-last only means another order of the columns, which does not change a step."""
    check_plain(weight, who)
    if weight.numel() == 0 and not (may_be_empty and weight.size(0) == 0):
        raise Error(f"{who}: must not be empty, got shape {list(weight.shape)}")
    if weight.dim() > MAX_RANK:
        raise Error(f"{who}: must have at most {MAX_RANK} dimensions, got shape {list(weight.shape)}")
    order, row_stride = None, 0
    if not weight.is_contiguous():
        order = storage_order(weight)
        dense_rows = weight.dim() == 2 and weight.stride(1) == 1 and weight.stride(0) >= weight.size(1)
        if order is None and not dense_rows:
            raise Error(
                f"{who}: must be contiguous, or a matrix with contiguous rows, got strides {list(weight.stride())} "
                f"for shape {list(weight.shape)}"
            )
        row_stride = weight.stride(0) if order is None else 0
    stored = weight if order is None else weight.permute(order)
    shape = list(stored.shape) or [1]  # a scalar is a vector of one element
    view = Tensor(weight.data_ptr(), dtype_number(weight, who), len(shape), sizes_of(shape), row_stride)
    return view, order


def usable_gradient(
    gradient: torch.Tensor, weight: torch.Tensor, order: Optional[Tuple[int, ...]], who: str
) -> torch.Tensor:
    """The gradient in the order in which the weight is stored, contiguous; a copy only if necessary."""
    check_plain(gradient, who)
    if gradient.device != weight.device:
        raise Error(f"{who}: must be on {weight.device}, as the weight, got device {gradient.device}")
    dtype_number(gradient, who)
    if gradient.shape != weight.shape:
        raise Error(f"{who}: shape must be {list(weight.shape)}, got {list(gradient.shape)}")
    if gradient.numel() > 0 and gradient.data_ptr() == 0:
        raise Error(f"{who}: must have memory, got a storage of 0 bytes")
    return (gradient if order is None else gradient.permute(order)).contiguous().resolve_neg()


def lent(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor's memory as another tensor, which keeps it alive. On the CPU the storage is another too: where
    that is moved, by share_memory_() or a queue of torch.multiprocessing, `tensor` keeps its memory."""
    if tensor.device.type != "cpu" or tensor.numel() == 0:
        return tensor.detach()
    size = tensor.numel() * tensor.element_size()
    memory: Any = (ctypes.c_char * size).from_address(tensor.data_ptr())
    memory.owner = tensor
    return torch.frombuffer(memory, dtype=tensor.dtype).view(tensor.shape)


def current_streams(gpus: List[int]) -> List[int]:
    """Torch's current stream on each of `gpus`: entry i is that of cuda:i, 0 where there is none."""
    streams = [0] * (max(gpus) + 1)
    for gpu in gpus:
        streams[gpu] = torch.cuda.current_stream(gpu).cuda_stream
    return streams
