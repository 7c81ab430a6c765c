# SPDX-License-Identifier: Apache-2.0
"""torch.optim.Optimizer over a Core."""
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

import torch

from ._compat import SCALER_SETS_ATTRIBUTES, disable_compile
from ._fsdp1 import refuse_fsdp1
from ._gradients import Gradients
from ._groups import (
    Params,
    active,
    check_entries,
    completed,
    core_groups,
    initial_groups,
    listed,
    listed_or_refused,
    option_names,
    prefix_in,
    unclear_layouts,
    unknown_entries,
    without_prefix,
)
from ._insight import Insight
from ._library import Error
from ._one_process import AnyCore, OneProcess, spread
from ._options import core_options, merged
from ._parameter_state import ParameterState, references
from ._routing import Layouts
from ._scaling import host_skips, unscale
from ._state import (
    FORMAT,
    check_groups,
    check_state,
    loaded_group,
    packed_layouts,
    reordered,
    saved_groups,
    saved_states,
)
from ._watch import GroupWatch, MasterWatch, ModelWatch, StateWatch, same_objects

if TYPE_CHECKING:
    from ._distributed import Distribution

Callback = Callable[["Optimizer", int], None]


class Optimizer(Insight, torch.optim.Optimizer):
    """The library's optimizer as a torch.optim.Optimizer, with a rule for each group, for parameters on the CPU and on
    GPUs. Use TrasMuon, NorMuon, Muon, Dion or AdamW, whose `rule` is that of groups which name none.

    All state exists from construction on, on the parameter's device. A call that raises Error changes nothing.
    """

    rule: str = "trasmuon"
    # GradScaler sets found_inf and grad_scale instead of waiting for the GPU, if it can.
    _step_supports_amp_scaling = SCALER_SETS_ATTRIBUTES
    _copied: Tuple[str, ...] = ("_settings", "_given", "_preset", "_prefix")  # besides groups and state
    _core: Optional[AnyCore] = None
    _spread: Union[OneProcess, "Distribution"]
    _given: Dict[str, Mapping[str, Any]]  # options, by rule

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
        process_group: Any = None,
        device_mesh: Any = None,
        distributed: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._settings: Dict[str, Any] = {"master_weights": master_weights, "diagnostics": diagnostics}
        self._preset = preset
        self._begin()
        items, tensors, refusal = listed_or_refused(params, (process_group, device_mesh) != (None, None))
        self._prefix = prefix_in(items)
        items = without_prefix(items, self._prefix)
        self._spread = spread(tensors, process_group, device_mesh, distributed)

        def build() -> AnyCore:
            if refusal is not None:
                raise refusal
            self._given = {"adamw": dict(adamw or {}), self.rule: dict(options)}
            refuse_fsdp1(self.rule, items, tensors)
            groups = initial_groups(items, self.rule, overrides, layouts, preset)
            torch.optim.Optimizer.__init__(self, groups, merged(self.rule, options, preset))
            return self._rebuild()

        self._spread.together(f"{type(self).__name__}()", build)
        self._model = ModelWatch(items, follows=not self._spread.sharded)  # FSDP puts other tensors into the model
        self._model.watch(self._bound.tensors)
        unclear = unclear_layouts(items, self.param_groups)
        texts = self.warnings() if preset == "default" else []  # the others are somebody's recipe
        for text in ([unclear] if unclear else []) + texts:
            warnings.warn(text, stacklevel=3)

    def _begin(self) -> None:
        self._core = None
        self._spread = OneProcess()
        self._model = ModelWatch()
        self._whole_state: Optional[List[Dict[str, torch.Tensor]]] = None
        self._is_as_built = True
        self._callbacks: List[Tuple[Callback, int]] = []
        self._applied = 0

    # ---- Ranks ---------------------------------------------------------------------------------------------------

    @property
    def applied_steps(self) -> int:
        """The number of steps that were written to the weights of this process since the optimizer was built. A step
        that raised is not among them: weights and state are those before it. One that GradScaler skipped is only if
        found_inf is on a GPU, for which the host does not wait."""
        return self._applied

    @torch.no_grad()
    def consolidate_state_dict(self, to: Optional[int] = 0) -> None:
        """Gathers the state of all ranks on rank `to` of the process group, or on every rank if it is None. There
        state_dict() then returns what one process would have, on the CPU, until the next step. Every rank must call it.
        """
        self._whole_state = self._spread.gather(self._bound, to, f"consolidate_state_dict after step {self._applied}")

    # ---- Groups --------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Adds a group: {"params": tensors, named parameters or a module, "rule": "adamw", "lr": 1e-3, ...}. Its layout
        fields (num_heads, split_sizes, transposed, kind) hold for all its parameters."""
        before, count = self._core, len(self.param_groups)

        def add() -> Dict[str, Any]:
            if not isinstance(param_group, dict):
                raise TypeError(f"param_group must be a dict, got {type(param_group)}")
            given = param_group
            if before is not None:
                given = without_prefix(listed([param_group])[0], self._prefix)  # type: ignore[index]
            group = completed(given, self.rule, self._given, self._preset, count)
            super(Optimizer, self).add_param_group(group)
            for name in set(self.defaults) - set(option_names(group["rule"])):
                del group[name]  # the base class has added the options of the optimizer's own rule
            return given

        def add_and_rebuild() -> AnyCore:
            added.append(add())
            return self._rebuild()

        added: List[Dict[str, Any]] = []
        if before is None:
            add()
            return
        try:
            self._spread.together("add_param_group", add_and_rebuild)
        except BaseException:
            del self.param_groups[count:]
            if self._core is not before:
                self._install(before)  # other ranks may have refused
            raise
        self._model.watch(self._bound.tensors)
        unclear = unclear_layouts(added, self.param_groups[count:])
        if unclear:
            warnings.warn(unclear, stacklevel=2)

    # ---- The core ------------------------------------------------------------------------------------------------

    @property
    def _bound(self) -> AnyCore:
        assert self._core is not None
        return self._core

    @torch.no_grad()
    def _rebuild(self) -> AnyCore:
        """Builds the core over the groups as they are now. State in self.state is carried over."""
        before = {id(tensor): state for tensor, state in self.state.items()}
        if self._core is not None:
            self._groups.carry_names(self.param_groups)
        core = self._spread.build(core_groups(self.param_groups), self._settings, self._core)
        for index, (tensor, parameter, order) in enumerate(zip(core.tensors, core.parameters, core.orders)):
            core.load_state(index, reordered(before.get(id(tensor), {}), tensor, parameter.layout, order))
        self._install(core)
        return core

    def _install(self, core: AnyCore) -> None:
        """Takes a core with its state."""
        self._core, self._whole_state = core, None
        self._groups = GroupWatch(self.param_groups, core)
        self._states = StateWatch(core)
        self.state.clear()
        for index, (tensor, state, order) in enumerate(zip(core.tensors, core.states, core.orders)):
            memory = core.memory[index] if state is core.local_states[index] else {}  # not that of DTensors
            self.state[tensor] = ParameterState(state, order, memory, self._states.reader(index))
        self._state_dicts = list(self.state.values())
        self._masters = MasterWatch(core)

    def _has_same_state(self) -> bool:
        if same_objects(self.state.values(), self._state_dicts):
            return True
        for key in [key for key, value in self.state.items() if value == {}]:  # was read, and is of no parameter
            del self.state[key]
        return same_objects(list(map(self.state.get, self._bound.tensors)), self._state_dicts)

    def _follow(self) -> None:
        """Follows groups, parameters, memory and state that were changed since the last step: torch does not tell."""
        replaced = self._model.replaced()
        if replaced:
            self._adopt(replaced)
        has_same = self._groups.stay(self.param_groups) and self._has_same_state()
        if not has_same or self._states.has_moved() or not self._bound.follow_weights():
            self._spread.check_rebuild(self._bound, has_same)
            self._rebuild()
        self._masters.follow(self._bound)

    def _adopt(self, replaced: Dict[int, torch.Tensor]) -> None:
        """Takes parameters instead of others, by id of those (after load_state_dict with assign=True)."""
        for group in self.param_groups:
            group["params"] = [replaced.get(id(tensor), tensor) for tensor in group["params"]]
        for old in [tensor for tensor in self.state if id(tensor) in replaced]:
            self.state[replaced[id(old)]] = self.state.pop(old)

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
        self._is_as_built = False
        applied = self._step()
        self._whole_state = None
        self._warn_of_thawed()
        if applied:
            self._applied += 1
            for callback, every in self._callbacks:
                if self._applied % every == 0:
                    callback(self, self._applied)
        return loss

    def _step(self) -> bool:
        """Returns whether the host does not know that the step is skipped."""
        found_inf = self._spread.agreed(f"step {self._applied + 1}", getattr(self, "found_inf", None))
        gradients: List[Optional[torch.Tensor]] = []

        def prepare() -> Optional[Gradients]:
            nonlocal gradients
            self._follow()
            self._bound.set_options(active(self.param_groups))
            gradients = self._bound.gradients()
            if found_inf is None:
                return gradients
            self._bound.check_gradients(gradients)  # before any is divided
            scale: Optional[torch.Tensor] = getattr(self, "grad_scale", None)
            scaled = unscale(gradients, self._bound.local_states, found_inf, scale, self.param_groups)
            gradients = scaled or gradients
            return scaled

        skipped = host_skips(found_inf, self.param_groups)
        if not self._spread.step(lambda: self._bound, prepare, skipped):
            self._rebuild()
            self._bound.step(gradients)  # type: ignore[call-arg]
        self._masters.note_step(self._bound, gradients)
        return not skipped

    def _warn_of_thawed(self) -> None:
        thawed = self._model.thawed()
        if thawed:
            warnings.warn(
                f"parameters {', '.join(thawed)} did not require a gradient when {type(self).__name__} was built, so "
                "they are not trained; add them with add_param_group()",
                stacklevel=4,
            )

    def add_callback(self, callback: Callback, every: int = 1) -> None:
        """Calls callback(optimizer, step) after each `every`-th step. Callbacks are not saved or copied."""
        if every < 1:
            raise Error(f"add_callback: every must be >= 1, got {every}")
        self._callbacks.append((callback, every))

    def refresh_recorded(self) -> None:
        """Updates learning rates and other scalars inside CUDA graphs in which steps were captured, for replays that
        follow on torch's current streams. Raises Error if parameters or the stages of a step have changed since."""
        if not self._bound.follow_weights():
            raise Error("refresh_recorded: parameters must be as they were when the step was captured; capture again")
        self._bound.set_options(active(self.param_groups))
        self._bound.refresh_recorded()

    # ---- State dicts, pickling -----------------------------------------------------------------------------------

    def state_dict(self) -> Dict[str, Any]:
        """Options, names, layouts and state, as plain Python types and tensors. Tensors are references. Where weights
        are DTensors, so is their state. Where ranks own parameters, all of them call consolidate_state_dict() first;
        before the first step `state` is empty instead, as in torch.optim: as built."""
        if self._spread.partial and self._whole_state is None and not self._is_as_built:
            raise Error(
                "state_dict: this rank keeps the state of the parameters that it owns; call consolidate_state_dict() on "
                "all ranks after the last step, then state_dict() on the rank that it names (0 by default)"
            )
        self._groups.carry_names(self.param_groups)
        present, state = {id(tensor) for group in self.param_groups for tensor in group["params"]}, self.state
        self.state = {key: state[key] for key in state if not isinstance(key, torch.Tensor) or id(key) in present}
        try:
            found = super().state_dict()
        finally:
            self.state = state
        if isinstance(found.get("state"), dict) and "param_groups" in found:
            if self._spread.partial or self._whole_state is not None:
                found["state"] = dict(enumerate(self._whole_state or []))
            found["state"] = {key: references(value) for key, value in found["state"].items()}
            for own, group in zip(self.param_groups, found["param_groups"]):
                group["layouts"], group["format"] = packed_layouts(own), FORMAT
        return found

    @torch.no_grad()
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores state and options. The optimizer must have the same parameters and rules; Error says what differs,
        and nothing has changed then. State keeps its dtype and goes to the parameter's device; empty state is as built.
        Over ranks every rank calls it, with state of whole parameters (of one process, or of any number of ranks) or of
        DTensors."""
        core, states, groups = self._bound, [], []

        def read() -> AnyCore:
            nonlocal state_dict, core, states, groups
            if not isinstance(state_dict, Mapping):
                raise Error(f"load_state_dict: must be what state_dict() returns, got {type(state_dict).__name__}")
            state_dict = dict(state_dict)
            for hook in getattr(self, "_optimizer_load_state_dict_pre_hooks", {}).values():
                state_dict = hook(self, state_dict) or state_dict
            self._follow()
            core = self._bound
            saved = saved_groups(state_dict)
            check_groups(self.param_groups, saved)
            orders = zip(saved_states(state_dict, saved), core.tensors, core.orders, core.parameters)
            states = [reordered(state, tensor, p.layout, order) for state, tensor, order, p in orders]
            for parameter, specs, state in zip(core.parameters, core.specs, states if state_dict["state"] else []):
                check_state(parameter.name, specs, state)
            groups = [loaded_group(own, group) for own, group in zip(self.param_groups, saved)]
            check_entries(groups, [])
            for group in groups:
                core_options(group["rule"], group, option_names(group["rule"]))  # checks
            core.set_options(active(groups))
            return core

        self._spread.together("load_state_dict", read)
        for index, (group, own) in enumerate(zip(groups, self.param_groups)):
            for name in unknown_entries(group, own):  # perhaps an option of a newer version
                warnings.warn(f"group {index}: {own['rule']} has no option '{name}', it has no influence", stacklevel=2)
        self.param_groups, self._whole_state, self._groups = groups, None, GroupWatch(groups, core)
        if state_dict["state"]:
            for index, state in enumerate(states):
                core.load_state(index, state)
            self._is_as_built = False
        elif not self._is_as_built:
            self.state.clear()
            self._rebuild()
            self._is_as_built = True
        for hook in getattr(self, "_optimizer_load_state_dict_post_hooks", {}).values():
            hook(self)

    def __getstate__(self) -> Dict[str, Any]:
        if not isinstance(self._spread, OneProcess):
            raise Error("an optimizer over ranks cannot be copied or pickled: save its state_dict() and build it anew")
        packed = {tensor: references(state) for tensor, state in self.state.items()}
        own = {name: getattr(self, name) for name in self._copied}
        return {**super().__getstate__(), **own, "state": packed}  # type: ignore[misc]

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._begin()
        self._rebuild()
        self._is_as_built = False
