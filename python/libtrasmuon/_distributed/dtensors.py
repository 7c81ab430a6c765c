# SPDX-License-Identifier: Apache-2.0
"""DTensors: which rows of a weight this rank holds, and state that is placed like its weight."""
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from .._core import RowShard
from .._library import Error

_LIKE_WEIGHT = ("momentum", "v_row", "master", "exp_avg", "exp_avg_sq")


def local_of(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of this rank."""
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor


def _cutting(tensor: DTensor) -> List[int]:
    """The dimensions of the mesh that cut a tensor."""
    mesh, placements = tensor.device_mesh, tensor.placements
    return [d for d, placement in enumerate(placements) if mesh.size(d) > 1 and not placement.is_replicate()]


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether every rank has the whole tensor."""
    return not isinstance(tensor, DTensor) or not _cutting(tensor)


def _row_dimension(tensor: DTensor) -> Optional[int]:
    """The dimension of the mesh that cuts the rows, if nothing else is cut."""
    cutting = _cutting(tensor)
    if len(cutting) != 1:
        return None
    placement = tensor.placements[cutting[0]]
    return cutting[0] if type(placement) is Shard and placement.dim == 0 else None  # not FSDP's strided shards over TP


# ---- Ranks -------------------------------------------------------------------------------------------------------


def _first_of(tensors: Sequence[torch.Tensor]) -> DTensor:
    """The DTensor that tells the ranks: a matrix whose rows are cut, if there is one. Experts may be elsewhere."""
    sharded = [tensor for tensor in tensors if isinstance(tensor, DTensor)]
    cut = [tensor for tensor in sharded if _row_dimension(tensor) is not None]
    matrices = [tensor for tensor in cut if tensor.dim() > 1]
    return next((tensor for tensor in matrices if tensor.dim() != 3), (matrices or cut or sharded)[0])


def mesh_of(tensors: Sequence[torch.Tensor]) -> Any:
    """The mesh of sharded parameters."""
    return _first_of(tensors).device_mesh


def groups_of(tensors: Sequence[torch.Tensor]) -> List[Any]:
    """The process groups of sharded parameters: the ranks over which rows are cut, then those with copies of them."""
    first = _first_of(tensors)
    mesh, dimension = first.device_mesh, _row_dimension(first)
    dimension = mesh.ndim - 1 if dimension is None else dimension
    copies = [d for d in range(mesh.ndim) if d != dimension and mesh.size(d) > 1 and first.placements[d].is_replicate()]
    return [mesh.get_group(d) for d in (dimension, *copies)]


def check_group(group: Any, mesh: Any, process_group: Any, device_mesh: Any) -> None:
    """Raises Error if the arguments name other ranks than `group`, on `mesh`, over which the parameters are sharded."""
    if process_group is not None and _members(process_group) != _members(group):
        raise Error(
            f"process_group: must have the ranks over which the parameters are sharded, {_members(group)}, got "
            f"{_members(process_group)}; leave it out"
        )
    if device_mesh is not None and device_mesh != mesh:
        raise Error(f"device_mesh: must be that of the parameters, {mesh}, got {device_mesh}; leave it out")


def _members(group: Any) -> List[int]:
    return dist.get_process_group_ranks(group)


# ---- Parameters --------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """How a parameter lies on the ranks. `shard` is set if a matrix rule steps some of its rows here."""

    shard: Optional[RowShard] = None
    rows: Sequence[int] = ()  # on every rank


def place_of(tensor: torch.Tensor, rule: str, is_batch: bool, group: Any, who: str) -> Place:
    """Where the rows of a parameter, or the matrices of a batch, are. Raises Error if this rule cannot step what is
    here."""
    if not isinstance(tensor, DTensor) or not _cutting(tensor):
        return Place()
    mesh, names = tensor.device_mesh, "[" + ", ".join(map(str, tensor.placements)) + "]"
    if any(placement.is_partial() for placement in tensor.placements):
        raise Error(f"{who}: a weight must not be partial, got placements {names}")
    if rule == "adamw":
        return Place()
    dimension = _row_dimension(tensor)
    if dimension is None:
        raise Error(
            f"{who}: {rule} needs whole rows: placements must be Shard(dim=0), or Replicate and Shard(dim=0), got "
            f"{names} on a mesh of shape {tuple(mesh.shape)}; shard the first dimension, or let AdamW step it"
        )
    if _members(mesh.get_group(dimension)) != _members(group):
        # Whole matrices (expert parallelism) need no exchange, on whichever ranks. Dion starts by an expert's number.
        if is_batch and rule != "dion" and local_of(tensor).numel() > 0:
            return Place()
        raise Error(
            f"{who}: must be sharded over the ranks {_members(group)} like the other parameters, got "
            f"{_members(mesh.get_group(dimension))}"
        )
    ranks, total = mesh.size(dimension), tensor.size(0)
    each = -(-total // ranks)  # as torch.chunk cuts: 10 rows on 4 ranks are 3, 3, 3, 1
    starts = [min(total, rank * each) for rank in range(ranks + 1)]
    rank, here = mesh.get_local_rank(dimension), local_of(tensor).size(0)
    if here != starts[rank + 1] - starts[rank]:
        raise Error(
            f"{who}: rank {rank} must have {starts[rank + 1] - starts[rank]} of the {total} rows, as DTensor cuts them, "
            f"got {here}"
        )
    return Place(RowShard(starts[rank], total), [after - start for start, after in zip(starts, starts[1:])])


def placements_of(tensor: torch.Tensor) -> Optional[Sequence[Any]]:
    """How a DTensor is placed; None for other tensors."""
    return tensor.placements if isinstance(tensor, DTensor) else None


# ---- State -------------------------------------------------------------------------------------------------------


def placed_state(weight: torch.Tensor, name: str, local: torch.Tensor, is_batch: bool) -> torch.Tensor:
    """A state tensor as users see it: a DTensor over the memory `local`. It is cut like the weight, or the same on all
    ranks; all state of a batch of matrices is cut with it."""
    if not isinstance(weight, DTensor):
        return local
    if not (is_batch or name in _LIKE_WEIGHT) or not _cutting(weight):
        return _over(local, weight.device_mesh, [Replicate()] * weight.device_mesh.ndim, local.shape)
    shape: Tuple[int, ...] = (weight.size(0), *local.shape[1:])
    if _row_dimension(weight) is None:
        shape = tuple(weight.shape)
    return _over(local, weight.device_mesh, weight.placements, shape)


def _over(local: torch.Tensor, mesh: Any, placements: Sequence[Any], shape: Sequence[int]) -> torch.Tensor:
    """A DTensor over the memory `local`. DTensor.from_local() would copy it to the devices of the mesh, where weights
    are not that FSDP2 keeps on the CPU (CPUOffloadPolicy)."""
    strides = torch.empty(shape, device="meta").stride()
    meta = TensorMeta(torch.Size(shape), strides, local.dtype)
    placed: Any = DTensor(local, DTensorSpec(mesh, tuple(placements), tensor_meta=meta), requires_grad=False)
    assert placed._local_tensor.data_ptr() == local.data_ptr()
    return placed


def whole_of(tensor: torch.Tensor) -> torch.Tensor:
    """The whole of a DTensor, on every rank; parts on the CPU travel through the devices of the mesh."""
    if not isinstance(tensor, DTensor):
        return tensor
    mesh_type = tensor.device_mesh.device_type
    return (tensor if tensor.device.type == mesh_type else tensor.to(mesh_type)).full_tensor()


def copy_part(target: torch.Tensor, value: torch.Tensor) -> None:
    """Copies this rank's part of a value of the whole shape: a DTensor, or a plain tensor."""
    if not isinstance(target, DTensor):
        target.copy_(whole_of(value))
        return
    if isinstance(value, DTensor):
        if value.placements == target.placements and value.device_mesh == target.device_mesh:
            local_of(target).copy_(local_of(value))
            return
        value = whole_of(value)
    shape, offsets = compute_local_shape_and_global_offset(target.shape, target.device_mesh, target.placements)
    if 0 in shape:
        return
    for dimension, (size, offset) in enumerate(zip(shape, offsets)):
        value = value.narrow(dimension, offset, size)
    local_of(target).copy_(value)
