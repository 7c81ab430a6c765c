# SPDX-License-Identifier: Apache-2.0
"""Parameter groups: what users give, completed to what optimizer.param_groups holds."""
from itertools import count
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from ._core import BoundParameter, CoreGroup
from ._layouts import LAYOUT_FIELDS, Layout, layout_of
from ._library import Error
from ._options import check_rule, default_options, merged, preset_for
from ._routing import Layouts, Routed, is_named, plain_name, route, with_layouts

Params = Union[torch.nn.Module, Iterable[torch.Tensor], Iterable[Tuple[str, torch.Tensor]], Iterable[Dict[str, Any]]]

# Entries that schedulers and trainers put into groups.
_FOREIGN = ("initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum", "name")
# Options of torch's optimizers that would have no influence here.
_OF_TORCH = ("maximize", "amsgrad", "differentiable", "foreach", "fused", "capturable", "decoupled_weight_decay")


_PREFIX = "module."


def routed_groups(
    source: Any, rule: str, overrides: Optional[Mapping[str, str]], layouts: Optional[Layouts], preset: str
) -> List[Dict[str, Any]]:
    """Groups of a model or of named parameters: hidden matrices with `rule`, the rest with AdamW."""
    if rule == "adamw":
        if overrides:
            raise Error("adamw: overrides have no meaning, all parameters take this rule")
        return [_group(rule, with_layouts(source, layouts))]
    matrices, rest, _ = route(source, overrides, layouts, preset)
    return [_group(rule, matrices)] + ([_group("adamw", rest)] if rest else [])


def _group(rule: str, routed: List[Routed]) -> Dict[str, Any]:
    return {
        "params": [item.tensor for item in routed],
        "param_names": [item.name for item in routed],
        "layouts": [item.layout for item in routed],
        "rule": rule,
    }


def listed(params: Params) -> Union[torch.nn.Module, List[Any]]:
    """What an optimizer's constructor is given: a model, or a list of pairs, tensors or groups."""
    if isinstance(params, torch.nn.Module):
        return params
    if isinstance(params, (torch.Tensor, set, dict)):
        raise TypeError(f"params must be a model, named parameters, a list of tensors or groups, got {type(params)}")
    items: List[Any] = [_with_list(item) if isinstance(item, dict) else item for item in params]
    if not items:
        raise ValueError("optimizer got an empty parameter list")
    groups, named = ([test(item) for item in items] for test in (_is_group, is_named))
    if any(groups) and not all(groups):
        raise Error("params: must be groups, or tensors, or named parameters, not mixed")
    if any(named) and not all(named):
        raise Error("params: all parameters must have names, or none")
    return items


def listed_or_refused(params: Params, over_ranks: bool) -> Tuple[Any, List[torch.Tensor], Optional[Exception]]:
    """What listed() returns and its tensors. Over ranks, all of which must hear of a refusal, the reason instead."""
    try:
        items = listed(params)
        return items, tensors_in(items), None
    except Exception as refusal:
        if not over_ranks:
            raise
        return [], [], refusal


def _is_group(item: Any) -> bool:
    return isinstance(item, dict)


def _named_in(items: List[Any]) -> List[Tuple[str, torch.Tensor]]:
    """The pairs of name and tensor in what listed() returns, in groups too."""
    lists = [
        group["params"] if isinstance(group.get("params"), (list, tuple)) else [] for group in items if _is_group(group)
    ]
    return [item for part in [items, *lists] for item in part if is_named(item)]


def prefix_in(items: Union[torch.nn.Module, List[Any]]) -> str:
    """What data-parallel wrappers put before all names of their named_parameters()."""
    names = [] if isinstance(items, torch.nn.Module) else [plain_name(name) for name, _ in _named_in(items)]
    return _PREFIX if names and all(name.startswith(_PREFIX) for name in names) else ""


def without_prefix(items: Any, prefix: str) -> Any:
    """What listed() returns, with names without this prefix."""
    if not prefix or isinstance(items, torch.nn.Module):
        return items
    if _is_group(items):
        return {**items, "params": without_prefix(items.get("params", []), prefix)}
    if is_named(items):
        return (plain_name(items[0])[len(prefix) :], items[1])
    return [without_prefix(item, prefix) for item in items] if isinstance(items, (list, tuple)) else items


def unclear_layouts(items: Union[torch.nn.Module, List[Any]], groups: List[Dict[str, Any]]) -> Optional[str]:
    """A warning about parameters that came without their model, and may be experts or convolutions."""
    named = set() if isinstance(items, torch.nn.Module) else {id(tensor) for _, tensor in _named_in(items)}
    found = [
        name
        for group in groups
        for name, tensor, layout in zip(group["param_names"], group["params"], group["layouts"])
        if id(tensor) in named and group["rule"] != "adamw" and tensor.dim() == 3 and layout == Layout()
    ]
    found = [name for name in found if "expert" not in name.lower()]
    if not found:
        return None
    return (
        f"{', '.join(found)} {'is' if len(found) == 1 else 'are each'} read as a batch of matrices [experts, out, in]; "
        f'give the optimizer the model, or say what it is: layouts={{"{found[0]}": {{"kind": "flatten"}}}} for a '
        'convolution, "batch" for experts'
    )


def _with_list(group: Dict[str, Any]) -> Dict[str, Any]:
    """The group, with parameters that can be read more than once."""
    params: Any = group.get("params", [])
    once = not isinstance(params, (torch.Tensor, torch.nn.Module, list, tuple, set))
    return {**group, "params": list(params)} if once else group


def tensors_in(items: Union[torch.nn.Module, List[Any]]) -> List[torch.Tensor]:
    """The tensors in what listed() returns, whatever they are for."""
    if isinstance(items, torch.nn.Module):
        return list(items.parameters())
    found: List[torch.Tensor] = []
    for item in items:
        item = item.get("params", []) if isinstance(item, dict) else item
        item = item[1] if is_named(item) else item
        found += [item] if isinstance(item, torch.Tensor) else tensors_in(item if isinstance(item, list) else [*item])
    return found


def initial_groups(
    items: Union[torch.nn.Module, List[Any]],
    rule: str,
    overrides: Optional[Mapping[str, str]],
    layouts: Optional[Layouts],
    preset: str,
) -> List[Dict[str, Any]]:
    """The groups of what listed() returns."""
    if isinstance(items, torch.nn.Module) or is_named(items[0]):
        return routed_groups(items, rule, overrides, layouts, preset)
    if overrides or layouts:
        raise Error("overrides and layouts need names: pass a model or its named_parameters()")
    return items if isinstance(items[0], dict) else [{"params": items}]


def completed(
    group: Mapping[str, Any], own_rule: str, options: Mapping[str, Mapping[str, Any]], preset: str, index: int
) -> Dict[str, Any]:
    """A group with its parameters as a list, names, layouts and all options of its rule. `options` holds those that
    were given to the optimizer, by rule; `own_rule` and `preset` are the optimizer's."""
    if "params" not in group:
        raise Error(f"group {index}: has no 'params'")
    given = dict(group)
    rule = given.pop("rule", own_rule)
    check_rule(rule)
    tensors, names, layouts = _parameters(given, index, preset)
    shared = {name: given.pop(name) for name in LAYOUT_FIELDS if name in given}
    if shared:
        layouts = [layout_of(shared, f"group {index}")] * len(tensors)
    foreign = {name: given.pop(name) for name in _FOREIGN if name in given}
    values = merged(rule, {**options.get(rule, {}), **given}, preset_for(rule, preset, own_rule))
    return {"params": tensors, "param_names": names, "layouts": layouts, "rule": rule, **values, **foreign}


def _parameters(given: Dict[str, Any], index: int, preset: str) -> Tuple[List[torch.Tensor], List[str], List[Layout]]:
    """Takes parameters, names and layouts out of a group."""
    params, names, layouts = given.pop("params"), given.pop("param_names", None), given.pop("layouts", None)
    if isinstance(params, torch.Tensor):
        params = [params]
    if isinstance(params, set):
        raise TypeError("params must be ordered: a list, not a set")
    items: List[Any] = [params] if isinstance(params, torch.nn.Module) else list(params)
    if any(is_named(item) or isinstance(item, torch.nn.Module) for item in items):
        if not all(is_named(item) for item in items) and len(items) > 1:
            raise Error(f"group {index}: all parameters must have names, or none")
        routed = with_layouts(items[0] if isinstance(items[0], torch.nn.Module) else items, preset=preset)
        return [r.tensor for r in routed], [r.name for r in routed], [r.layout for r in routed]
    tensors: List[torch.Tensor] = items
    # Tensors without a name are called "group<g>.<i>".
    names = [f"group{index}.{i}" for i in range(len(tensors))] if names is None else list(names)
    layouts = [Layout()] * len(tensors) if layouts is None else list(layouts)
    for entry, values in (("param_names", names), ("layouts", layouts)):
        if len(values) != len(tensors):
            raise Error(
                f"group {index}: {entry} must have one entry for each of {len(tensors)} parameters, got {len(values)}"
            )
    return tensors, names, [layout_of(layout, f"group {index}: layout of '{n}'") for n, layout in zip(names, layouts)]


def option_names(rule: str) -> List[str]:
    return list(default_options(rule))


def active(groups: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The groups of which the core knows: those with parameters."""
    return [group for group in groups if group["params"]]


def core_groups(groups: List[Dict[str, Any]]) -> List[CoreGroup]:
    """The groups for the core."""
    found = []
    for group in active(groups):
        bound = [BoundParameter(*item) for item in zip(group["param_names"], group["params"], group["layouts"])]
        found.append(CoreGroup(group["rule"], group, option_names(group["rule"]), bound))
    if not found:
        raise Error("params: there must be a parameter, got empty groups")
    return found


def carry_names(groups: List[Dict[str, Any]], known: Sequence[BoundParameter]) -> None:
    """Names and layouts of groups whose lists of parameters were edited in place. Known parameters keep theirs; others
    take those at their position, if these are free."""
    by_id = {id(parameter.tensor): parameter for parameter in known}
    present = {id(tensor) for group in groups for tensor in group["params"]}
    taken = {parameter.name for parameter in known if id(parameter.tensor) in present}
    for index, group in enumerate(groups):
        names, layouts = [], []
        given = dict(enumerate(zip(group["param_names"], [*group["layouts"], *[Layout()] * len(group["param_names"])])))
        for position, tensor in enumerate(group["params"]):
            name, layout = given.get(position, ("", Layout()))
            if id(tensor) in by_id:
                name, layout = by_id[id(tensor)].name, by_id[id(tensor)].layout
            elif not name or name in taken:
                free = (f"group{index}.{number}" for number in count(position))
                name, layout = next(name for name in free if name not in taken), Layout()
            taken.add(name)
            names.append(name)
            layouts.append(layout)
        group["param_names"], group["layouts"] = names, layouts


def form_of_group(group: Mapping[str, Any]) -> Tuple[Any, ...]:
    """What changes when somebody moves parameters between groups, or edits entries besides options."""
    return len(group["params"]), group["rule"], len(group)


def unknown_entries(group: Mapping[str, Any], own: Mapping[str, Any]) -> List[str]:
    """Entries of a saved group that are neither options, nor known to be of others, nor in `own`, the one here."""
    known = {*option_names(own["rule"]), *_FOREIGN, *own, "format"}
    return [name for name in group if name not in known]


def check_entries(groups: List[Dict[str, Any]], rules: Sequence[Tuple[Dict[str, Any], str]]) -> None:
    """Refuses what was put into groups in the belief that it has an influence. Entries of other names are the user's.
    rules: groups that are known, with their rules."""
    for index, group in enumerate(groups):
        for known_group, rule in rules:
            if known_group is group and rule != group["rule"]:
                raise Error(
                    f"group {index}: rule must stay '{rule}', got {group['rule']!r}; add_param_group() adds another"
                )
        for name in _OF_TORCH:
            if name in group:
                known = ", ".join(option_names(group["rule"]))
                raise Error(f"group {index}: {group['rule']} has no option '{name}', known: {known}")


def group_table(groups: List[Dict[str, Any]]) -> str:
    """Parameters with rule, shape and layout, one per line."""
    rows = [("parameter", "rule", "shape", "layout")]
    for group in groups:
        for name, tensor, layout in zip(group["param_names"], group["params"], group["layouts"]):
            text = layout.text(tensor) if group["rule"] != "adamw" else "elementwise"
            rows.append((name, group["rule"], str(list(tensor.shape)), text))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
