# SPDX-License-Identifier: Apache-2.0
"""How a weight is read as matrices: heads, fused projections, experts, convolutions, [in, out] storage."""
import operator
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
        parts = _whole_numbers(self.split_sizes, "split_sizes", who)
        if isinstance(parts, int):
            parts = (_quotient(rows, parts, "split_sizes", who),) * parts
        if sum(parts) != rows:
            raise Error(f"{who}: split_sizes must sum to the {rows} output rows, got {list(parts)}")
        heads = _whole_numbers(self.num_heads, "num_heads", who)
        if isinstance(heads, int):
            heads = (heads,) * len(parts)
        if len(heads) != len(parts):
            raise Error(f"{who}: num_heads must be one number or one for each of {len(parts)} parts, got {list(heads)}")
        return [_quotient(part, count, "num_heads", who) for part, count in zip(parts, heads) for _ in range(count)]

    def text(self, weight: torch.Tensor) -> str:
        """For tables and checkpoints: "automatic", "flatten", "automatic transposed 64 64 64"."""
        words = [self.kind] + (["transposed"] if self.transposed else [])
        return " ".join(words + [str(size) for size in self.row_blocks(weight)])


def _whole_numbers(value: Any, field: str, who: str) -> Union[int, Tuple[int, ...]]:
    """A field of a layout: one whole number, or several; 1 for None."""
    if value is None:
        return 1
    try:
        if isinstance(value, (bool, str, bytes, set, frozenset, Mapping)):
            raise TypeError
        single = _index(value)
        numbers = tuple(map(operator.index, value)) if single is None else (single,)
    except TypeError:
        raise Error(f"{who}: {field} must be a whole number or several, got {value!r}") from None
    if any(number < 1 for number in numbers):
        raise Error(f"{who}: {field} must be > 0, got {value!r}")
    return numbers if single is None else single


def _index(value: Any) -> Optional[int]:
    try:
        return operator.index(value)
    except TypeError:  # a list, or an array of several
        return None


def _quotient(rows: int, count: int, what: str, who: str) -> int:
    if count < 1 or rows % count != 0:
        raise Error(f"{who}: {what} must divide the {rows} rows, got {count}")
    return rows // count


LAYOUT_FIELDS = Layout._fields


def layout_of(value: Union[Layout, Mapping[str, Any]], who: str) -> Layout:
    """A Layout, or a dict of its fields, as a Layout of plain Python types. Raises Error if a field has another type."""
    if not isinstance(value, (Layout, Mapping)):
        raise Error(f"{who}: must be a Layout or a dict of its fields, got {value!r}")
    for name in value if isinstance(value, Mapping) else ():
        if name not in LAYOUT_FIELDS:
            raise Error(f"{who}: unknown layout field '{name}', known: {', '.join(LAYOUT_FIELDS)}")
    layout = value if isinstance(value, Layout) else Layout(**value)
    if not isinstance(layout.transposed, bool):
        raise Error(f"{who}: transposed must be True or False, got {layout.transposed!r}")
    sizes, heads = layout.split_sizes, layout.num_heads
    return layout._replace(
        split_sizes=sizes if sizes is None else _whole_numbers(sizes, "split_sizes", who),
        num_heads=heads if heads is None else _whole_numbers(heads, "num_heads", who),
    )


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
