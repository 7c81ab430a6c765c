# SPDX-License-Identifier: Apache-2.0
"""torch.optim.Optimizer over a Core."""
import warnings
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from ._compat import disable_compile
from ._core import Core
from ._groups import Params, completed, core_groups, group_table, initial_groups, listed, option_names, tensors_in
from ._library import Error
from ._options import core_options, merged
from ._routing import Layouts, named_tensors, unwrapped
from ._scaling import unscale
from ._state import (
    FORMAT,
    ParameterState,
    check_groups,
    check_state,
    loaded_group,
    packed_layouts,
    saved_groups,
)

if TYPE_CHECKING:
    from ._distributed import Distribution
    from ._distributed.owners import Ownership
    from ._distributed.replicated import ReplicatedCore
    from ._distributed.sharded import ShardedCore

Callback = Callable[["Optimizer", int], None]
AnyCore = Union[Core, "ReplicatedCore", "ShardedCore"]

_params_of = itemgetter("params")


def _distribution_of(
    tensors: Sequence[torch.Tensor], process_group: Any, device_mesh: Any, settings: Optional[Mapping[str, Any]]
) -> Optional["Distribution"]:
    """How the optimizer is spread over ranks; None: this process steps everything."""
    if process_group is None and device_mesh is None and not any(hasattr(tensor, "placements") for tensor in tensors):
        if settings:
            raise Error("distributed: needs process_group, device_mesh, or parameters that are DTensors")
        return None
    from ._distributed import connect  # here: torch.distributed is not always there

    return connect(tensors, process_group, device_mesh, settings)


class Optimizer(torch.optim.Optimizer):
    """The library's optimizer as a torch.optim.Optimizer, with a rule for each group, for parameters on the CPU and on
    GPUs. Use TrasMuon, NorMuon, Muon, Dion or AdamW, whose `rule` is that of groups which name none.

    All state exists from construction on, on the parameter's device. A call that raises Error changes nothing.
    """

    rule: str = "trasmuon"
    # GradScaler sets found_inf and grad_scale instead of waiting for the GPU.
    _step_supports_amp_scaling = True
    _core: Optional[AnyCore] = None
    _distribution: Optional["Distribution"] = None  # over ranks

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
        self._given: Dict[str, Mapping[str, Any]] = {"adamw": dict(adamw or {}), self.rule: dict(options)}
        self._forget_model()
        items = listed(params)
        self._distribution = _distribution_of(tensors_in(items), process_group, device_mesh, distributed)

        def build() -> None:
            groups = initial_groups(items, self.rule, overrides, layouts, preset)
            torch.optim.Optimizer.__init__(self, groups, merged(self.rule, options, preset))
            self._rebuild()

        self._together(f"{type(self).__name__}()", build)
        self._remember_model(items)
        if preset == "default":  # the others are somebody's recipe
            for text in self.warnings():
                warnings.warn(text, stacklevel=3)

    def _forget_model(self) -> None:
        self._core = None
        self._distribution = None
        self._whole_state: Optional[List[Dict[str, torch.Tensor]]] = None
        self._owners: List[Tuple[Dict[str, Any], str]] = []
        self._frozen: List[Tuple[str, torch.Tensor]] = []
        self._callbacks: List[Tuple[Callback, int]] = []
        self._applied = 0

    def _remember_model(self, items: Any) -> None:
        """Where a model keeps its parameters, to notice those that are replaced, and which ones were left out."""
        if isinstance(items, torch.nn.Module) and not self._is_sharded():  # FSDP puts other tensors there
            places: Dict[int, Tuple[Dict[str, Any], str]] = {}
            for module in unwrapped(items).modules():
                for name, parameter in module._parameters.items():
                    places.setdefault(id(parameter), (module._parameters, name))
            self._owners = [places[id(tensor)] for tensor in self._bound.tensors]
        if isinstance(items, torch.nn.Module) or isinstance(items[0], tuple):
            self._frozen = [(name, tensor) for name, tensor in named_tensors(items) if not tensor.requires_grad]

    # ---- Ranks ---------------------------------------------------------------------------------------------------

    def _is_sharded(self) -> bool:
        return self._distribution is not None and self._distribution.sharded

    def _together(self, task: str, work: Callable[[], None]) -> None:
        """Does work that all ranks must do alike: if one raises, or their parameters then differ, all raise."""
        if self._distribution is None:
            work()
            return

        def described() -> str:
            work()
            return self._bound.describe()  # type: ignore[union-attr]

        self._distribution.together(task, described)

    @property
    def applied_steps(self) -> int:
        """The number of steps that were written to the weights of this process since the optimizer was built. A step
        that raised is not among them: weights and state are those before it."""
        return self._applied

    def ownership(self) -> "Ownership":
        """Over ranks: who steps which parameter (replicated; -1: every rank) or orthogonalizes which matrix (sharded),
        how even that is, and how many ranks are idle meanwhile."""
        if self._distribution is None:
            raise Error("ownership: this optimizer is not spread over ranks")
        return self._bound.ownership()  # type: ignore[union-attr]

    @torch.no_grad()
    def consolidate_state_dict(self, to: Optional[int] = 0) -> None:
        """Gathers the state of all ranks on rank `to` of the process group, or on every rank if it is None. There
        state_dict() then returns what one process would have, on the CPU, until the next step. Every rank must call it.
        """
        if self._distribution is None:
            return
        ranks = self._distribution.ranks
        if to is not None and not 0 <= to < ranks.count:
            raise Error(f"consolidate_state_dict: to must be a rank below {ranks.count}, got {to}")
        self._distribution.begin(f"consolidate_state_dict after step {self._applied}")
        keeps, gathered = to in (None, ranks.rank), []
        for index in range(len(self._bound.tensors)):
            state = self._bound.gather_state(index)  # type: ignore[union-attr]
            if keeps:
                gathered.append({name: tensor.to("cpu", copy=True) for name, tensor in state.items()})
        self._whole_state = gathered if keeps else None

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
        before = self._core
        if before is not None:
            try:
                self._owners = []
                self._together("add_param_group", self._rebuild)
            except BaseException:
                self.param_groups.pop()
                self._install(before)  # other ranks may have refused
                raise
            kept = {id(tensor) for tensor in group["params"]}
            self._frozen = [item for item in self._frozen if id(item[1]) not in kept]

    # ---- The core ------------------------------------------------------------------------------------------------

    @property
    def _bound(self) -> AnyCore:
        assert self._core is not None
        return self._core

    @torch.no_grad()
    def _rebuild(self) -> None:
        """Builds the core over the groups as they are now. State in self.state is carried over."""
        before = {id(tensor): state for tensor, state in self.state.items()}
        groups = core_groups(self.param_groups)
        if self._distribution is None:
            core: AnyCore = Core(groups, **self._settings)
        else:
            core = self._distribution.build(groups, self._settings, self._core)
        for index, tensor in enumerate(core.tensors):
            core.load_state(index, before.get(id(tensor), {}))
        self._install(core)

    def _install(self, core: AnyCore) -> None:
        """Takes a core with its state."""
        self._core, self._whole_state = core, None
        self.state.clear()
        for tensor, state in zip(core.tensors, core.states):
            self.state[tensor] = ParameterState(state)
        self._state_dicts = list(self.state.values())
        self._singles = [index for index, tensor in enumerate(core.tensors) if tensor.numel() == 1]
        self._versions: Dict[int, Any] = {item.parameter: None for item in core.masters()}

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
            if self._distribution is not None:
                raise Error(
                    "parameters and state of an optimizer over ranks must stay as they were built, apart from values "
                    "and addresses: build it after the model is on its device, in its dtype; add_param_group() adds more"
                )
            self._rebuild()
        if self._versions:
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
        for index, tensor, master, version in self._bound.masters():
            if version == self._versions[index]:
                continue
            self._versions[index] = version
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
        self._step()
        self._applied += 1
        self._whole_state = None
        if self._frozen:
            self._check_frozen()
        for callback, every in self._callbacks:
            if self._applied % every == 0:
                callback(self, self._applied)
        return loss

    def _step(self) -> None:
        found_inf = self._found_inf()
        gradients: List[Optional[torch.Tensor]] = []

        def prepare() -> Optional[List[Optional[torch.Tensor]]]:
            nonlocal gradients
            self._follow()
            self._bound.set_options(self.param_groups)
            gradients = self._bound.gradients()
            return gradients if found_inf is None or self._unscale(gradients, found_inf) else None

        if self._distribution is not None:
            self._distribution.step(self._bound, prepare, found_inf is not None and self._host_skips(found_inf))
        elif prepare() is not None and not self._bound.step(gradients):  # type: ignore[call-arg]
            self._rebuild()
            self._bound.step(gradients)  # type: ignore[call-arg]
        for index, _, _, version in self._bound.masters() if self._versions else []:
            if gradients[index] is not None:
                self._versions[index] = version

    def _found_inf(self) -> Optional[torch.Tensor]:
        """What GradScaler has found; over ranks the same on all, so that all skip the step, or none."""
        found_inf: Optional[torch.Tensor] = getattr(self, "found_inf", None)
        if self._distribution is None:
            return found_inf
        self._distribution.begin(f"step {self._applied + 1}")
        if found_inf is None:
            return None
        found_inf = found_inf.clone()
        for ranks in self._distribution.groups:
            ranks.all_reduce(found_inf, "all-reduce of found_inf", largest=True)
        return found_inf

    def _unscale(self, gradients: List[Optional[torch.Tensor]], found_inf: torch.Tensor) -> bool:
        scale: Optional[torch.Tensor] = getattr(self, "grad_scale", None)
        return unscale(gradients, self._bound.local_states, found_inf, scale, self._skips_nonfinite())

    def _skips_nonfinite(self) -> bool:
        return all(group.get("skip_nonfinite", True) for group in self.param_groups)

    def _host_skips(self, found_inf: torch.Tensor) -> bool:
        """Whether the host knows that the step is skipped, as in unscale()."""
        return (found_inf.device.type == "cpu" or not self._skips_nonfinite()) and found_inf.item() != 0

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
        """Options, names, layouts and state, as plain Python types and tensors. Tensors are references. Where weights
        are DTensors, so is their state. Where ranks own parameters, all of them call consolidate_state_dict() first."""
        partial = self._distribution is not None and not self._is_sharded() and self._distribution.ranks.count > 1
        if partial and self._whole_state is None:
            raise Error(
                "state_dict: this rank keeps the state of the parameters that it owns; call consolidate_state_dict() on "
                "all ranks after the last step, then state_dict() on the rank that it names (0 by default)"
            )
        found = super().state_dict()
        if isinstance(found.get("state"), dict) and "param_groups" in found:
            if self._whole_state is not None:
                found["state"] = dict(enumerate(self._whole_state))
            found["state"] = {key: dict(value) for key, value in found["state"].items()}
            for own, group in zip(self.param_groups, found["param_groups"]):
                group["layouts"], group["format"] = packed_layouts(own), FORMAT
        return found

    @torch.no_grad()
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores state and options. The optimizer must have the same parameters and rules; Error says what differs,
        and nothing has changed then. State keeps its dtype and goes to the parameter's device. Over ranks every rank
        calls it, with state of whole parameters (of one process, or of any number of ranks) or of DTensors."""
        state_dict = dict(state_dict)
        for hook in getattr(self, "_optimizer_load_state_dict_pre_hooks", {}).values():
            state_dict = hook(self, state_dict) or state_dict
        self._follow()
        core, states, groups = self._bound, [], []

        def read() -> None:
            nonlocal states, groups
            saved = saved_groups(state_dict)
            check_groups(self.param_groups, saved)
            states = [state_dict["state"].get(key, {}) for group in saved for key in group["params"]]
            for parameter, specs, state in zip(core.parameters, core.specs, states):
                check_state(parameter.name, specs, state)
            groups = [loaded_group(own, group) for own, group in zip(self.param_groups, saved)]
            for group in groups:
                core_options(group["rule"], group, option_names(group["rule"]))  # checks
            core.set_options(groups)

        self._together("load_state_dict", read)
        for index, state in enumerate(states):
            core.load_state(index, state)
        self.param_groups, self._whole_state = groups, None
        for hook in getattr(self, "_optimizer_load_state_dict_post_hooks", {}).values():
            hook(self)

    def __getstate__(self) -> Dict[str, Any]:
        if self._distribution is not None:
            raise Error("an optimizer over ranks cannot be copied or pickled: save its state_dict() and build it anew")
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
