# SPDX-License-Identifier: Apache-2.0
"""How a weight is read as matrices: heads, fused projections, experts, convolutions, [in, out] storage."""
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from ._library import Error

_KINDS = {"automatic": 0, "batch": 1, "flatten": 2}


class Layout(NamedTuple):
    """How a weight is read as matrices. The matrix rules treat each matrix on its own; AdamW needs no layout.

    split_sizes: rows of the parts that are fused along the outputs, e.g. (768, 768, 768) for Q, K and V; or a number of
        equal parts.
    num_heads: heads in each part, or in the whole weight; one number, or one per part.
    transposed: stored [in, out] instead of [out, in], as Hugging Face's Conv1D.
    kind: "batch" for [experts, out, in], "flatten" for [out, in, k...], "automatic": batch if there are three
        dimensions, flatten if there are more.

    >>> Layout(split_sizes=(4, 2, 2), num_heads=(2, 1, 1)).row_blocks(torch.zeros(8, 3))
    [2, 2, 2, 2]
    """

    split_sizes: Union[int, Sequence[int], None] = None
    num_heads: Union[int, Sequence[int], None] = None
    transposed: bool = False
    kind: str = "automatic"

    def number(self) -> int:
        """The layout as a number of the C ABI."""
        if self.kind not in _KINDS:
            raise Error(f"layout: kind must be one of {', '.join(_KINDS)}, got {self.kind!r}")
        return _KINDS[self.kind]

    def is_batch(self, weight: torch.Tensor) -> bool:
        """Whether the weight is a batch of matrices along its first dimension."""
        return self.kind == "batch" or (self.kind == "automatic" and weight.dim() == 3)

    def rows(self, weight: torch.Tensor) -> int:
        """The number of outputs of each matrix."""
        shape = list(weight.shape[1:] if self.is_batch(weight) else weight.shape)
        columns = 1
        for size in shape[1:]:
            columns *= size
        return columns if self.transposed else shape[0]

    def row_blocks(self, weight: torch.Tensor, who: str = "layout") -> List[int]:
        """Sizes along the outputs, each a matrix of its own; [] for one block."""
        if self.split_sizes is None and self.num_heads is None:
            return []
        rows = self.rows(weight)
        parts = self.split_sizes if self.split_sizes is not None else 1
        if isinstance(parts, int):
            parts = [_quotient(rows, parts, "split_sizes", who)] * parts
        if sum(parts) != rows:
            raise Error(f"{who}: split_sizes must sum to the {rows} output rows, got {list(parts)}")
        heads = self.num_heads if self.num_heads is not None else 1
        if isinstance(heads, int):
            heads = [heads] * len(parts)
        if len(heads) != len(parts):
            raise Error(f"{who}: num_heads must be one number or one for each of {len(parts)} parts, got {list(heads)}")
        return [_quotient(part, count, "num_heads", who) for part, count in zip(parts, heads) for _ in range(count)]

    def text(self, weight: torch.Tensor) -> str:
        """For tables and checkpoints: "automatic", "flatten", "automatic transposed 64 64 64"."""
        words = [self.kind] + (["transposed"] if self.transposed else [])
        return " ".join(words + [str(size) for size in self.row_blocks(weight)])


def _quotient(rows: int, count: int, what: str, who: str) -> int:
    if count < 1 or rows % count != 0:
        raise Error(f"{who}: {what} must divide the {rows} rows, got {count}")
    return rows // count


LAYOUT_FIELDS = Layout._fields


def layout_of(value: Union[Layout, Mapping[str, Any]], who: str) -> Layout:
    """A Layout, or a dict of its fields, as a Layout."""
    if isinstance(value, Layout):
        return value
    for name in value:
        if name not in LAYOUT_FIELDS:
            raise Error(f"{who}: unknown layout field '{name}', known: {', '.join(LAYOUT_FIELDS)}")
    return Layout(**value)


def module_layouts(model: torch.nn.Module) -> Dict[int, Layout]:
    """Layouts that the modules of a model determine, by id of the parameter."""
    found: Dict[int, Layout] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            layout = _layout_in(module, name, parameter)
            if parameter is not None and layout is not None:
                found[id(parameter)] = layout
    return found


def _layout_in(module: torch.nn.Module, name: str, parameter: Optional[torch.Tensor]) -> Optional[Layout]:
    if parameter is None or parameter.dim() < 2:
        return None
    if isinstance(module, torch.nn.MultiheadAttention) and name == "in_proj_weight":
        return Layout(split_sizes=3)
    if isinstance(module, torch.nn.modules.conv._ConvTransposeNd):
        return Layout(kind="flatten", transposed=True)
    if isinstance(module, torch.nn.modules.conv._ConvNd):
        return Layout(kind="flatten")
    for kind in type(module).__mro__:  # FSDP2 derives a class from the module's own
        if kind.__name__ == "Conv1D" and kind.__module__.startswith("transformers.") and name == "weight":
            return Layout(transposed=True)
    return None


def name_layout(name: str, shape: Tuple[int, ...]) -> Optional[Layout]:
    """The layout that a name determines: in_proj_weight is nn.MultiheadAttention's."""
    if name.split(".")[-1] == "in_proj_weight" and len(shape) == 2 and shape[0] == 3 * shape[1]:
        return Layout(split_sizes=3)
    return None
