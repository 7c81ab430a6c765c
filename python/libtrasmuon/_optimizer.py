# SPDX-License-Identifier: Apache-2.0
"""torch.optim.Optimizer over a Core."""
import warnings
from itertools import chain
from operator import itemgetter
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import torch

from ._compat import disable_compile
from ._core import Core
from ._groups import Params, completed, core_groups, group_table, initial_groups, listed, option_names
from ._library import Error
from ._options import core_options, merged
from ._routing import Layouts, named_tensors, unwrapped
from ._scaling import unscale
from ._state import (
    FORMAT,
    ParameterState,
    check_groups,
    check_state,
    copy_state,
    loaded_group,
    packed_layouts,
    saved_groups,
)

Callback = Callable[["Optimizer", int], None]

_params_of = itemgetter("params")


class Optimizer(torch.optim.Optimizer):
    """The library's optimizer as a torch.optim.Optimizer, with a rule for each group, for parameters on the CPU and on
    GPUs. Use TrasMuon, NorMuon, Muon, Dion or AdamW, whose `rule` is that of groups which name none.

    All state exists from construction on, on the parameter's device. A call that raises Error changes nothing.
    """

    rule: str = "trasmuon"
    # GradScaler sets found_inf and grad_scale instead of waiting for the GPU.
    _step_supports_amp_scaling = True
    _core: Optional[Core] = None

    def __init__(
        self,
        params: Params,
        options: Mapping[str, Any],
        *,
        adamw: Optional[Mapping[str, Any]] = None,
        overrides: Optional[Mapping[str, str]] = None,
        layouts: Optional[Layouts] = None,
        preset: str = "default",
        master_weights: bool = False,
        diagnostics: bool = False,
    ) -> None:
        self._settings = {"master_weights": master_weights, "diagnostics": diagnostics}
        self._preset = preset
        self._given: Dict[str, Mapping[str, Any]] = {"adamw": dict(adamw or {}), self.rule: dict(options)}
        self._forget_model()
        items = listed(params)
        groups = initial_groups(items, self.rule, overrides, layouts, preset)
        super().__init__(groups, merged(self.rule, options, preset))
        self._rebuild()
        self._remember_model(items)
        if preset == "default":  # the others are somebody's recipe
            for text in self.warnings():
                warnings.warn(text, stacklevel=3)

    def _forget_model(self) -> None:
        self._core = None
        self._owners: List[Tuple[Dict[str, Any], str]] = []
        self._frozen: List[Tuple[str, torch.Tensor]] = []
        self._callbacks: List[Tuple[Callback, int]] = []
        self._step_count = 0

    def _remember_model(self, items: Any) -> None:
        """Where a model keeps its parameters, to notice those that are replaced, and which ones were left out."""
        if isinstance(items, torch.nn.Module):
            places: Dict[int, Tuple[Dict[str, Any], str]] = {}
            for module in unwrapped(items).modules():
                for name, parameter in module._parameters.items():
                    places.setdefault(id(parameter), (module._parameters, name))
            self._owners = [places[id(tensor)] for tensor in self._bound.tensors]
        if isinstance(items, torch.nn.Module) or isinstance(items[0], tuple):
            self._frozen = [(name, tensor) for name, tensor in named_tensors(items) if not tensor.requires_grad]

    # ---- Groups --------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Adds a group: {"params": tensors, named parameters or a module, "rule": "adamw", "lr": 1e-3, ...}. Its layout
        fields (num_heads, split_sizes, transposed, kind) hold for all its parameters."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, got {type(param_group)}")
        group = completed(param_group, self.rule, self._given, self._preset, len(self.param_groups))
        super().add_param_group(group)
        for name in set(self.defaults) - set(option_names(group["rule"])):
            del group[name]  # the base class has added the options of the optimizer's own rule
        if self._core is not None:
            try:
                self._owners = []
                self._rebuild()
            except BaseException:
                self.param_groups.pop()
                raise
            kept = {id(tensor) for tensor in group["params"]}
            self._frozen = [item for item in self._frozen if id(item[1]) not in kept]

    # ---- The core ------------------------------------------------------------------------------------------------

    @property
    def _bound(self) -> Core:
        assert self._core is not None
        return self._core

    @torch.no_grad()
    def _rebuild(self) -> None:
        """Builds the core over the groups as they are now. State in self.state is carried over."""
        before = {id(tensor): state for tensor, state in self.state.items()}
        core = Core(core_groups(self.param_groups), **self._settings)
        for parameter, state in zip(core.parameters, core.states):
            copy_state(before.get(id(parameter.tensor), {}), state, f"parameter '{parameter.name}'")
        self._core = core
        self.state.clear()
        for tensor, state in zip(core.tensors, core.states):
            self.state[tensor] = ParameterState(state)
        self._state_dicts = list(self.state.values())
        self._singles = [index for index, tensor in enumerate(core.tensors) if tensor.numel() == 1]
        self._masters = [index for index, state in enumerate(core.states) if "master" in state]
        self._versions = {index: -1 for index in self._masters}

    def _follow(self) -> None:
        """Follows groups, parameters, memory and state that were changed since the last step: torch does not tell."""
        core = self._bound
        if self._owners:
            try:
                present = [parameters[name] for parameters, name in self._owners]
            except KeyError:  # a module was taken apart; its parameters stay
                present, self._owners = core.tensors, []
            if not self._are_bound(present):
                self._adopt(present)
        if (
            not self._are_bound(list(chain.from_iterable(map(_params_of, self.param_groups))))
            or list(self.state.values()) != self._state_dicts  # compares identity: see ParameterState
            or not core.follow_weights()
        ):
            self._rebuild()
        if self._masters:
            self._follow_masters()

    def _are_bound(self, tensors: List[Any]) -> bool:
        """Whether these are the very tensors of the core. Lists compare identity first, which is fast; only tensors of
        one element could be equal without being the same."""
        bound = self._bound.tensors
        try:
            return tensors == bound and all(tensors[index] is bound[index] for index in self._singles)
        except RuntimeError:  # elements were compared, so they are not the same
            return False

    def _adopt(self, present: List[torch.Tensor]) -> None:
        """Takes over parameters that have replaced others in the model (load_state_dict with assign=True)."""
        replaced = {
            id(old): new for old, new in zip(self._bound.tensors, present) if old is not new and new is not None
        }
        for group in self.param_groups:
            group["params"] = [replaced.get(id(tensor), tensor) for tensor in group["params"]]
        for old in [tensor for tensor in self.state if id(tensor) in replaced]:
            self.state[replaced[id(old)]] = self.state.pop(old)

    def _follow_masters(self) -> None:
        """Copies elements that others have written from 16-bit weights into their masters, which the next step would
        write over them. Compares on the device, so the host does not wait."""
        core = self._bound
        for index in self._masters:
            tensor = core.tensors[index]
            if tensor._version == self._versions[index]:
                continue
            self._versions[index] = tensor._version
            master = core.states[index]["master"]
            weight = tensor.detach().reshape(master.shape) if tensor.dim() != master.dim() else tensor.detach()
            if weight.shape != master.shape:  # channels-last
                weight = weight.permute(0, *range(2, weight.dim()), 1)
            same = master.to(weight.dtype) == weight
            master.copy_(torch.where(same, master, weight.to(master.dtype)))

    # ---- Step ----------------------------------------------------------------------------------------------------

    @disable_compile
    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """Steps every parameter that has a gradient; the others and their state stay unchanged. GPU work is enqueued on
        torch's current stream of that GPU; the call does not wait for it."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._follow()
        core = self._bound
        core.set_options(self.param_groups)
        gradients = [tensor.grad for tensor in core.tensors]
        if getattr(self, "found_inf", None) is None or self._unscale(gradients):
            if not core.step(gradients):
                self._rebuild()
                core = self._bound
                core.step(gradients)
            for index in self._masters:
                if gradients[index] is not None:
                    self._versions[index] = core.tensors[index]._version
        if self._frozen:
            self._check_frozen()
        self._step_count += 1
        for callback, every in self._callbacks:
            if self._step_count % every == 0:
                callback(self, self._step_count)
        return loss

    def _unscale(self, gradients: List[Optional[torch.Tensor]]) -> bool:
        found_inf: torch.Tensor = self.found_inf  # type: ignore[attr-defined]
        skips_nonfinite = all(group.get("skip_nonfinite", True) for group in self.param_groups)
        return unscale(gradients, self._bound.states, found_inf, getattr(self, "grad_scale", None), skips_nonfinite)

    def _check_frozen(self) -> None:
        thawed = [name for name, tensor in self._frozen if tensor.requires_grad]
        if thawed:
            self._frozen = []
            warnings.warn(
                f"parameters {', '.join(thawed)} did not require a gradient when {type(self).__name__} was built, so "
                "they are not trained; add them with add_param_group()",
                stacklevel=4,
            )

    def refresh_recorded(self) -> None:
        """Updates learning rates and other scalars inside CUDA graphs in which steps were captured, for replays that
        follow on torch's current streams. Raises Error if parameters or the stages of a step have changed since."""
        if not self._bound.follow_weights():
            raise Error("refresh_recorded: parameters must be as they were when the step was captured; capture again")
        self._bound.set_options(self.param_groups)
        self._bound.refresh_recorded()

    # ---- State dicts, pickling -----------------------------------------------------------------------------------

    def state_dict(self) -> Dict[str, Any]:
        """Options, names, layouts and state, as plain Python types and tensors. Tensors are references."""
        found = super().state_dict()
        if isinstance(found.get("state"), dict) and "param_groups" in found:
            found["state"] = {key: dict(value) for key, value in found["state"].items()}
            for own, group in zip(self.param_groups, found["param_groups"]):
                group["layouts"], group["format"] = packed_layouts(own), FORMAT
        return found

    @torch.no_grad()
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores state and options. The optimizer must have the same parameters and rules; Error says what differs,
        and nothing has changed then. State keeps its dtype and goes to the parameter's device."""
        state_dict = dict(state_dict)
        for hook in getattr(self, "_optimizer_load_state_dict_pre_hooks", {}).values():
            state_dict = hook(self, state_dict) or state_dict
        self._follow()
        core, saved = self._bound, saved_groups(state_dict)
        check_groups(self.param_groups, saved)
        states = [state_dict["state"].get(key, {}) for group in saved for key in group["params"]]
        for parameter, own, state in zip(core.parameters, core.states, states):
            check_state(parameter.name, own, state)
        groups = [loaded_group(own, group) for own, group in zip(self.param_groups, saved)]
        for group in groups:
            core_options(group["rule"], group, option_names(group["rule"]))  # checks
        core.set_options(groups)
        for parameter, own, state in zip(core.parameters, core.states, states):
            copy_state(state, own, f"parameter '{parameter.name}'")
        self.param_groups = groups
        for hook in getattr(self, "_optimizer_load_state_dict_post_hooks", {}).values():
            hook(self)

    def __getstate__(self) -> Dict[str, Any]:
        packed = {tensor: dict(state) for tensor, state in self.state.items()}
        own = {name: getattr(self, name) for name in ("_settings", "_given", "_preset")}
        return {**super().__getstate__(), **own, "state": packed}  # type: ignore[misc]

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget_model()
        self._rebuild()

    # ---- Insight -------------------------------------------------------------------------------------------------

    def table(self) -> str:
        """Parameters with rule, shape and layout, one per line."""
        return group_table(self.param_groups)

    def diagnostics(self) -> Dict[str, List[Dict[str, float]]]:
        """What the last step did, by parameter: one entry per matrix with step, skipped, updated, r_max, r_q95, c_min,
        c_mean, damped_share, update_rms, eta_hat, isometry_error. Needs diagnostics=True. Waits for the GPU."""
        if not self._settings["diagnostics"]:
            raise Error("diagnostics: build the optimizer with diagnostics=True")
        return {p.name: self._bound.diagnostics(index) for index, p in enumerate(self._bound.parameters)}

    def add_callback(self, callback: Callback, every: int = 1) -> None:
        """Calls callback(optimizer, step) after each `every`-th step. Callbacks are not saved or copied."""
        if every < 1:
            raise Error(f"add_callback: every must be >= 1, got {every}")
        self._callbacks.append((callback, every))

    def warnings(self) -> List[str]:
        """Settings that are allowed but known to work badly."""
        return self._bound.warnings()

    def state_bytes(self) -> int:
        """Size of the state."""
        return self._bound.state_bytes()

    def workspace_bytes(self) -> int:
        """Size of the scratch memory that is held now."""
        return self._bound.workspace_bytes()
