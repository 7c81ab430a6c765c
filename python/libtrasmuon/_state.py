# SPDX-License-Identifier: Apache-2.0
"""What state_dict() holds of the state, and when it fits."""
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import torch

from ._layouts import Layout
from ._library import Error
from ._options import default_options
from ._parameter_state import ParameterState
from ._tensors import storage_order

FORMAT = "libtrasmuon 1"
_CHANNELS_LAST = " channels_last"  # in the text of a layout: columns of state are in this order


class StateSpec(NamedTuple):
    """Type and shape of a state tensor of the whole parameter."""

    dtype: torch.dtype
    shape: Tuple[int, ...]


def copy_state(saved: Mapping[str, Any], own: Mapping[str, torch.Tensor], who: str) -> None:
    """Copies state tensors by name, between devices too. Names that only one side has are left alone."""
    for name, target in own.items():
        value = saved.get(name)
        if not isinstance(value, torch.Tensor):
            continue
        if value.shape != target.shape:
            raise Error(
                f"{who}: state '{name}' must stay {list(target.shape)}, got {list(value.shape)}; "
                "build the optimizer after changing the model"
            )
        target.copy_(value)


def reordered(
    state: Mapping[str, Any], weight: torch.Tensor, layout: Layout, order: Optional[Tuple[int, ...]]
) -> Mapping[str, Any]:
    """State of a weight that is now stored in another order: channels-last, or not any more. Of the tensors, those of the
    weight's shape, those with one number per column, and Dion's bases, which have a row per column, follow."""
    if getattr(state, "order", order) == order:
        return state
    plain = tuple(range(weight.dim()))
    before, after = state.order or plain, order or plain  # type: ignore[attr-defined]
    change = [before.index(dimension) for dimension in after]
    shape = [weight.size(dimension) for dimension in before]
    columns = weight[0].numel()
    found = {}
    for name, tensor in state.items():
        if list(tensor.shape) == shape:
            tensor = tensor.permute(change)
        elif tensor.dim() == 2 and tensor.size(1) == columns:
            tensor = tensor.view(-1, *shape[1:]).permute(change).reshape(-1, columns)
        elif name == "basis":
            blocks = layout.row_blocks(weight)
            if len(set(blocks)) > 1:
                raise Error(
                    "state 'basis': row blocks must have one size to become or to have been channels-last, got "
                    f"{blocks}"
                )
            bases = tensor.view(max(1, len(blocks)), *shape[1:], -1)
            tensor = bases.permute(*change, len(shape)).flatten()
        found[name] = tensor
    return found


def packed_layouts(group: Mapping[str, Any]) -> List[str]:
    """Layouts of a group as plain texts, which torch.load(weights_only=True) accepts."""
    return [
        layout.text(tensor) + ("" if tensor.is_contiguous() or storage_order(tensor) is None else _CHANNELS_LAST)
        for layout, tensor in zip(group["layouts"], group["params"])
    ]


def saved_states(state_dict: Mapping[str, Any], groups: List[Dict[str, Any]]) -> List[ParameterState]:
    """The state of each parameter in saved groups, with the order in which its weight was stored."""
    found = []
    for group in groups:
        for key, layout in zip(group["params"], group["layouts"]):
            state = state_dict["state"].get(key, {})
            dimensions = max((v.dim() for v in state.values() if isinstance(v, torch.Tensor)), default=0)
            order = (0, *range(2, dimensions), 1) if layout.endswith(_CHANNELS_LAST) else None
            found.append(ParameterState(state, order))
    return found


def saved_groups(state_dict: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The groups of a state dict of this package; Error with the reason if it is another's."""
    groups, state = state_dict.get("param_groups"), state_dict.get("state")
    if not isinstance(groups, (list, tuple)) or not isinstance(state, Mapping):
        raise Error("load_state_dict: must have 'state' and 'param_groups', as state_dict() returns them")
    for index, group in enumerate(groups):
        if not isinstance(group, Mapping):
            raise Error(f"load_state_dict: group {index} must be a dict, got {group!r}")
        found = group.get("format")
        if found is None and all(name in group for name in ("rule", "param_names", "layouts")):
            continue  # torch.distributed.checkpoint's flattened state keeps only the entries of param_groups
        if found is None:
            raise Error(
                f"load_state_dict: group {index} was not written by libtrasmuon, it has {', '.join(map(str, group))}"
            )
        if found != FORMAT:
            raise Error(f"load_state_dict: group {index}: format must be '{FORMAT}', got '{found}'")
    for index, group in enumerate(groups):
        _check_lists(group, f"load_state_dict: group {index}")
        for key in group["params"]:
            if not isinstance(state.get(key, {}), Mapping):
                raise Error(f"load_state_dict: state of parameter {key} must be a dict, got {state[key]!r}")
    return [_copied(group) for group in groups]  # options in tensors are not shared


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    return type(value)(map(_copied, value)) if type(value) in (list, tuple) else value


def _check_lists(group: Mapping[str, Any], who: str) -> None:
    for name in ("rule", "params", "param_names", "layouts"):
        if name not in group:
            raise Error(f"{who}: has no '{name}'")
    for name in ("params", "param_names", "layouts"):
        if not isinstance(group[name], (list, tuple)):
            raise Error(f"{who}: {name} must be a list, got {group[name]!r}")
        if len(group[name]) != len(group["params"]):
            raise Error(f"{who}: {name} must have {len(group['params'])} entries, got {len(group[name])}")


def check_groups(own: List[Dict[str, Any]], saved: List[Dict[str, Any]]) -> None:
    """Raises Error unless rules, names and layouts are the same."""
    if len(own) != len(saved):
        raise Error(f"load_state_dict: must have {len(own)} groups, got {len(saved)}")
    for index, (mine, theirs) in enumerate(zip(own, saved)):
        who = f"load_state_dict: group {index}"
        if mine["rule"] != theirs["rule"]:
            raise Error(f"{who}: rule must be {mine['rule']}, got {theirs['rule']}")
        if len(mine["params"]) != len(theirs["params"]):
            raise Error(f"{who}: must have {len(mine['params'])} parameters, got {len(theirs['params'])}")
        for name, saved_name in zip(mine["param_names"], theirs["param_names"]):
            if name != saved_name:
                raise Error(f"{who}: parameter must be '{name}', got '{saved_name}'")
        for name, layout, saved_layout in zip(mine["param_names"], packed_layouts(mine), map(str, theirs["layouts"])):
            if layout.replace(_CHANNELS_LAST, "") != saved_layout.replace(_CHANNELS_LAST, ""):
                raise Error(f"{who}: parameter '{name}': layout must be {layout}, got {saved_layout}")


def check_state(name: str, own: Mapping[str, StateSpec], saved: Mapping[str, Any]) -> None:
    """Raises Error unless a parameter's saved state has the same names, dtypes and shapes."""
    who = f"load_state_dict: parameter '{name}'"
    for key in saved:
        if key not in own and isinstance(saved[key], torch.Tensor):
            raise Error(f"{who}: this optimizer has no state '{key}'")
    for key, spec in own.items():
        value = saved.get(key)
        if not isinstance(value, torch.Tensor):
            raise Error(f"{who}: state '{key}' is missing")
        if value.dtype != spec.dtype or value.shape != spec.shape:
            raise Error(
                f"{who}: state '{key}' must be {spec.dtype} {list(spec.shape)}, got {value.dtype} "
                f"{list(value.shape)}"
            )


def loaded_group(own: Mapping[str, Any], saved: Mapping[str, Any]) -> Dict[str, Any]:
    """The group after loading: everything saved, with the parameters of this optimizer. An option that the file does
    not know, because it is older, has its default."""
    group = {**default_options(own["rule"]), **saved}
    group.pop("format", None)
    group.update({key: own[key] for key in ("params", "param_names", "layouts")})
    return {key: tuple(value) if key == "betas" and isinstance(value, list) else value for key, value in group.items()}
