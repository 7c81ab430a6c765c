# SPDX-License-Identifier: Apache-2.0
"""Which parameter takes which rule: from a model or named parameters to groups."""
import ctypes
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

import torch

from ._layouts import Layout, layout_of, module_layouts, name_layout
from ._library import ADAMW, MATRIX, MAX_RANK, Error, FamilyOverride, NamedShape, check, lib, sizes_of

Named = Iterable[Tuple[str, torch.Tensor]]
Layouts = Mapping[str, Union[Layout, Mapping[str, Any]]]

_FAMILIES = {"matrix": MATRIX, "adamw": ADAMW}
# Parts of names that wrappers add: torch.compile, DistributedDataParallel, FSDP, activation checkpointing.
_WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


class Routed(NamedTuple):
    """A parameter with its name and layout."""

    name: str
    tensor: torch.Tensor
    layout: Layout


def plain_name(name: str) -> str:
    """The name without the parts that wrappers add."""
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The user's module inside data-parallel wrappers, which prefix all names with `module.`."""
    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while True:
        if isinstance(model, parallel):
            model = model.module
        elif "_orig_mod" in model._modules:
            model = model._modules["_orig_mod"]  # type: ignore[assignment]
        else:
            return model


def named_tensors(source: Union[torch.nn.Module, Named]) -> List[Tuple[str, torch.Tensor]]:
    """Parameters with plain names. A tensor that occurs twice (tied weights) is listed once, under its first name."""
    pairs = unwrapped(source).named_parameters() if isinstance(source, torch.nn.Module) else source
    seen, found = set(), []
    for name, tensor in pairs:
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found.append((plain_name(name), tensor))
    return found


def is_named(item: Any) -> bool:
    """Whether an item is a pair of name and tensor."""
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


def with_layouts(
    source: Union[torch.nn.Module, Named], layouts: Optional[Layouts] = None, preset: str = "default"
) -> List[Routed]:
    """All trainable parameters with the layouts that modules, names and `layouts` (by pattern, the last wins) say; with
    the preset "released" only `layouts`, since the authors' package takes every matrix as it is. Parameters that are
    frozen, so that they need no state, or empty are left out."""
    trainable = [(name, tensor) for name, tensor in named_tensors(source) if tensor.requires_grad]
    for name, tensor in trainable:
        if torch.nn.parameter.is_lazy(tensor):
            raise Error(f"parameter '{name}': has no shape yet; build the optimizer after the model has run once")
    pairs = [(name, tensor) for name, tensor in trainable if tensor.numel() > 0]
    if not pairs:
        raise Error("params: no parameter requires a gradient")
    known = module_layouts(source) if isinstance(source, torch.nn.Module) else {}
    routed = []
    for name, tensor in pairs:
        layout = known.get(id(tensor)) or name_layout(name, tuple(tensor.shape)) or Layout()
        routed.append(Routed(name, tensor, Layout() if preset == "released" else layout))
    for pattern, value in (layouts or {}).items():
        layout = layout_of(value, f"layout '{pattern}'")
        hits = [i for i, item in enumerate(routed) if fnmatchcase(item.name, pattern)]
        if not hits:
            raise Error(f"layout '{pattern}': must match a parameter; patterns match whole names")
        for i in hits:
            routed[i] = routed[i]._replace(layout=layout)
    return routed


def _shape_for_classifier(item: Routed) -> List[int]:
    shape = list(item.tensor.shape) or [1]
    # The classifier takes three dimensions for experts; this is a convolution over one dimension.
    return [shape[0], shape[1], 1, shape[2]] if item.layout.kind == "flatten" and len(shape) == 3 else shape


def _overrides(overrides: Mapping[str, str]) -> Any:
    array = (FamilyOverride * len(overrides))()
    for target, (pattern, family) in zip(array, overrides.items()):
        if family not in _FAMILIES:
            raise Error(f"override '{pattern}': family must be 'matrix' or 'adamw', got {family!r}")
        target.pattern, target.family = pattern.encode(), _FAMILIES[family]
    return array


def _classify(routed: List[Routed], overrides: Mapping[str, str], preset: str) -> Tuple[List[int], str]:
    shapes = (NamedShape * len(routed))()
    for target, item in zip(shapes, routed):
        shape = _shape_for_classifier(item)
        if len(shape) > MAX_RANK:
            raise Error(f"parameter '{item.name}': must have at most {MAX_RANK} dimensions, got shape {shape}")
        target.name, target.rank, target.shape = item.name.encode(), len(shape), sizes_of(shape)
    changes = _overrides(overrides)
    families, text = (ctypes.c_int * len(routed))(), ctypes.c_char_p()
    counted = (shapes, len(routed), changes, len(changes))
    check(lib.trasmuon_classify_preset(preset.encode(), *counted, families, ctypes.byref(text)))
    return list(families), (text.value or b"").decode()


def _embeddings(source: Union[torch.nn.Module, Named]) -> Dict[str, str]:
    """Overrides for the embeddings of a model, whose names may not tell."""
    if not isinstance(source, torch.nn.Module):
        return {}
    kinds = (torch.nn.Embedding, torch.nn.EmbeddingBag)
    weights = {id(module.weight) for module in source.modules() if isinstance(module, kinds)}
    trained = [(name, tensor) for name, tensor in named_tensors(source) if tensor.requires_grad]
    return {name: "adamw" for name, tensor in trained if id(tensor) in weights and tensor.numel() > 0}


def route(
    source: Union[torch.nn.Module, Named],
    overrides: Optional[Mapping[str, str]] = None,
    layouts: Optional[Layouts] = None,
    preset: str = "default",
) -> Tuple[List[Routed], List[Routed], str]:
    """Parameters for the matrix rule, parameters for AdamW, and a table of both with the reasons. The preset
    "released" sends everything with two dimensions to the matrix rule, as the authors' package does."""
    routed = with_layouts(source, layouts, preset)
    released = preset == "released"
    changes = {**({} if released else _embeddings(source)), **(overrides or {})}
    families, table = _classify(routed, changes, "released" if released else "default")
    matrices = [item for item, family in zip(routed, families) if family == MATRIX]
    rest = [item for item, family in zip(routed, families) if family == ADAMW]
    return matrices, rest, table


def classify(
    source: Union[torch.nn.Module, Named],
    overrides: Optional[Mapping[str, str]] = None,
    layouts: Optional[Layouts] = None,
    preset: str = "default",
) -> str:
    """A table of which parameters take the matrix rule and which AdamW, with the reasons, for printing.

    >>> from torch import nn
    >>> print(classify(nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 1))))
    parameter  shape         elements  family  reason
    0.weight   [8, 2]              16  matrix  hidden matrix
    0.bias     [8]                  8  adamw   bias
    1.weight   [8, 8]              64  matrix  hidden matrix
    1.bias     [8]                  8  adamw   bias
    2.weight   [1, 8]               8  adamw   side of 1
    2.bias     [1]                  1  adamw   bias
    total      2 parameters        80  matrix
    total      4 parameters        25  adamw
    <BLANKLINE>
    """
    return route(source, overrides, layouts, preset)[2]
