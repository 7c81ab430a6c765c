# SPDX-License-Identifier: Apache-2.0
"""An optimizer of the library over torch tensors: build, step, rebind, options. It knows nothing of torch.optim, and
is also what each of many ranks steps its part with (_distributed)."""
import ctypes
import weakref
from operator import is_
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from . import _library
from ._compat import VersionBumper
from ._gradients import GradientArray, Gradients
from ._layouts import Layout
from ._library import Error, StateCallback, check, handle_of, lib, number_of, text_of
from ._options import core_fields, core_options, is_fixed
from ._state import StateSpec, copy_state
from ._tensors import TORCH_DTYPES, current_streams, device_number, lent, weight_view

_data_ptr: Any = torch.Tensor.data_ptr
_UNKNOWN = object()  # the value of an option in the library

StateTensors = Dict[str, torch.Tensor]


class RowShard(NamedTuple):
    """Which rows of a weight a tensor holds."""

    first_row: int
    total_rows: int


class BoundParameter(NamedTuple):
    """A tensor to be stepped. `name` identifies it in errors and checkpoints; `shard` is set if the tensor has only
    some rows of the weight, perhaps none."""

    name: str
    tensor: torch.Tensor
    layout: Layout
    shard: Optional[RowShard] = None

    def whole(self) -> torch.Tensor:
        """The tensor, or one without memory that has the shape of the whole weight."""
        if self.shard is None:
            return self.tensor
        return self.tensor.new_empty((self.shard.total_rows, *self.tensor.shape[1:]), device="meta")


class CoreGroup(NamedTuple):
    """Parameters of one rule; `options` holds the entries `option_names`, and more."""

    rule: str
    options: Mapping[str, Any]
    option_names: Sequence[str]
    parameters: Sequence[BoundParameter]


class Master(NamedTuple):
    """A 16-bit weight with its f32 master. `version` changes when somebody writes to the weight, but for writes through
    its `.data`, which autograd does not count."""

    parameter: int
    weight: torch.Tensor
    master: torch.Tensor
    version: Any


def version_of(weight: torch.Tensor) -> Tuple[int, int]:
    """What tells that a weight was written, or given other memory."""
    return weight._version, weight.data_ptr()


def form_of(tensor: torch.Tensor) -> Tuple[Any, ...]:
    """What must stay the same while a core is bound to a tensor."""
    strides = tensor.stride() if tensor.layout is torch.strided else ()
    return tensor.dtype, tensor.device, tensor.layout, tensor.shape, strides


class Core:
    """The library's optimizer over the tensors of all groups, in order. Its state is in torch tensors (`states`), on
    the devices of the parameters. Used by one thread at a time.

    Parameters for which `keeps` is false are never stepped here. They have specs, but no state: what the library writes
    at construction goes into scratch memory."""

    def __init__(
        self,
        groups: Sequence[CoreGroup],
        master_weights: bool = False,
        diagnostics: bool = False,
        keeps: Callable[[int], bool] = lambda index: True,
    ) -> None:
        self.parameters = [parameter for group in groups for parameter in group.parameters]
        self.tensors = [parameter.tensor for parameter in self.parameters]
        self.memory: List[StateTensors] = [{} for _ in self.parameters]  # what the library uses; nobody else has it
        self.states: List[StateTensors] = [{} for _ in self.parameters]  # the same memory, for users
        self.specs: List[Dict[str, StateSpec]] = [{} for _ in self.parameters]
        self.local_states = self.states  # where weights are DTensors, so are `states`
        self.rules = [group.rule for group in groups for _ in group.parameters]
        self._rules = [(group.rule, list(group.option_names)) for group in groups]
        self._values = [[group.options[name] for name in names] for group, (_, names) in zip(groups, self._rules)]
        self._mutable = [  # options whose contents may change
            [name for name, value in zip(names, values) if not is_fixed(value)]
            for (_, names), values in zip(self._rules, self._values)
        ]
        self._views: List[_library.Tensor] = []
        self.orders: List[Optional[Tuple[int, ...]]] = []  # of weights that are not stored in that of their dimensions
        devices = {tensor.device for tensor in self.tensors if tensor.device.type == "cuda"}
        self._gpus = sorted(device.index for device in devices)
        for device in devices:
            torch.cuda.synchronize(device)  # the library writes the first state on a stream of its own
        self._scratch: Dict[torch.device, List[torch.Tensor]] = {}
        self.handle = self._build(groups, master_weights, diagnostics, keeps)
        weakref.finalize(self, lib.trasmuon_optimizer_destroy, self.handle).atexit = False
        self._weight_pointers = [tensor.data_ptr() for tensor in self.tensors]
        self._forms = [form_of(tensor) for tensor in self.tensors]
        names = [parameter.name for parameter in self.parameters]
        self._gradients = GradientArray(names, self.tensors, self._views, self.orders)
        self.gradient_address = self._gradients.address
        self._bumper = VersionBumper(self.tensors)

    # ---- Building ------------------------------------------------------------------------------------------------

    def _build(
        self, groups: Sequence[CoreGroup], master_weights: bool, diagnostics: bool, keeps: Callable[[int], bool]
    ) -> ctypes.c_void_p:
        failures: List[BaseException] = []

        def lend(_: Any, index: int, name: bytes, spec: Any) -> Optional[int]:
            try:
                wanted = spec.contents
                shape = self._by_entry(index, tuple(wanted.shape[: wanted.rank]))
                known = StateSpec(TORCH_DTYPES[wanted.dtype], shape)
                self.specs[index][name.decode()] = known
                if not keeps(index):
                    return self._scratch_for(known, self.tensors[index].device)
                tensor = torch.empty(shape, dtype=known.dtype, device=self.tensors[index].device)
                self.memory[index][name.decode()], self.states[index][name.decode()] = tensor, lent(tensor)
                return tensor.data_ptr()
            except BaseException as failure:  # cannot pass through C
                failures.append(failure)
                return None

        callback = StateCallback(lend)
        builder = handle_of(lib.trasmuon_builder_create)
        try:
            check(lib.trasmuon_builder_set_master_weights(builder, master_weights))
            check(lib.trasmuon_builder_set_diagnostics(builder, diagnostics))
            check(lib.trasmuon_builder_set_state(builder, callback, None))
            for group in groups:
                options = core_options(group.rule, group.options, group.option_names)
                check(lib.trasmuon_builder_add_group(builder, options, None))
                for parameter in group.parameters:
                    self._add(builder, group.rule, parameter)
            return handle_of(lib.trasmuon_builder_finish, builder)
        except Error:
            if failures:
                raise failures[0]
            raise
        finally:
            lib.trasmuon_builder_destroy(builder)

    def _by_entry(self, index: int, shape: Tuple[int, ...]) -> Tuple[int, ...]:
        """The state of a batch of matrices has the batch as its first dimension, so that it can be sharded along it."""
        parameter = self.parameters[index]
        if self.rules[index] == "adamw" or not parameter.layout.is_batch(parameter.tensor):
            return shape
        entries = parameter.tensor.size(0)
        return shape if entries in (0, shape[0]) else (entries, shape[0] // entries, *shape[1:])

    def _scratch_for(self, spec: StateSpec, device: torch.device) -> int:
        """Memory that is written at construction and never read."""
        size = torch.Size(spec.shape).numel()
        used = self._scratch.setdefault(device, [])
        if not used or used[-1].numel() < size:
            used.append(torch.empty(size, dtype=torch.float64, device=device))  # f64: no state is wider
        return used[-1].data_ptr()

    def _add(self, builder: ctypes.c_void_p, rule: str, parameter: BoundParameter) -> None:
        who = f"parameter '{parameter.name}'"
        shard = parameter.shard or RowShard(0, 0)
        view, order = weight_view(parameter.tensor, who, may_be_empty=parameter.shard is not None)
        if parameter.tensor.dim() < 2 and rule != "adamw":
            raise Error(
                f"{who}: {rule} needs at least two dimensions, got shape {list(parameter.tensor.shape)}; build the "
                "optimizer from the model or its named_parameters(), which gives such parameters to AdamW, or put them "
                "into a group of their own with rule='adamw'"
            )
        layout = parameter.layout
        if order is not None and (layout.transposed or layout.kind == "batch"):
            raise Error(f"{who}: must be contiguous for its layout, got a channels-last tensor")
        blocks = layout.row_blocks(parameter.whole(), who) if rule != "adamw" else []
        struct = _library.Parameter(
            ctypes.sizeof(_library.Parameter),
            parameter.name.encode(),
            view,
            layout.number(),
            layout.transposed and rule != "adamw",
            (ctypes.c_int64 * len(blocks))(*blocks) if blocks else None,
            len(blocks),
            device_number(parameter.tensor, who),
            shard.first_row,
            shard.total_rows,
        )
        check(lib.trasmuon_builder_add_parameter(builder, ctypes.byref(struct), None))
        self._views.append(view)
        self.orders.append(order)

    # ---- Before a step -------------------------------------------------------------------------------------------

    def replace_tensors(self, tensors: List[torch.Tensor]) -> None:
        """Takes other tensors for the parameters; follow_weights() then compares them with those before."""
        if not all(map(is_, tensors, self.tensors)):
            self.tensors, self._bumper = tensors, VersionBumper(tensors)

    def follow_weights(self) -> bool:
        """Follows weights to other memory. Returns False if the core must be built anew: one has changed in more than its
        address, or is now where another was."""
        pointers = list(map(_data_ptr, self.tensors))
        if pointers == self._weight_pointers:
            return True
        self._bumper = VersionBumper(self.tensors)
        if not self.is_as_built():
            return False
        try:
            for index, pointer in enumerate(pointers):
                if pointer != self._weight_pointers[index]:
                    check(lib.trasmuon_optimizer_rebind_weight(self.handle, index, pointer))
                    self._weight_pointers[index] = pointer
        except Error:
            return False
        return True

    def is_as_built(self) -> bool:
        """Whether weights have the dtypes, shapes and devices that they had."""
        return self._forms == [form_of(tensor) for tensor in self.tensors]

    def set_options(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Passes on the entries of parameter groups that have changed."""
        for number, (group, (rule, names)) in enumerate(zip(groups, self._rules)):
            values, known, mutable = list(map(group.__getitem__, names)), self._values[number], self._mutable[number]
            if not mutable and all(map(is_, values, known)):
                continue
            pairs = zip(names, values, known)
            changed = [name for name, now, before in pairs if now is not before or name in mutable]
            # If one is refused the library has those before it, so that all have to be set the next time.
            self._values[number] = [_UNKNOWN] * len(names)
            try:
                for name in changed:
                    for field, value in core_fields(rule, name, group[name]):
                        self._set(number, field, value)
            except Error:  # also where only the order of the fields was refused
                options = core_options(rule, group, names)
                check(lib.trasmuon_optimizer_set_options(self.handle, number, options))
            self._values[number] = values
            self._mutable[number] = [name for name in changed if not is_fixed(group[name])]

    def _set(self, group: int, field: str, value: Any) -> None:
        if isinstance(value, str):
            check(lib.trasmuon_optimizer_set(self.handle, group, field.encode(), value.encode()))
        else:
            check(lib.trasmuon_optimizer_set_number(self.handle, group, field.encode(), value))

    # ---- Step ----------------------------------------------------------------------------------------------------

    def gradients(self) -> List[Optional[torch.Tensor]]:
        return [tensor.grad for tensor in self.tensors]

    def step(self, gradients: Gradients) -> bool:
        """Steps every parameter whose gradient is not None. GPU work is enqueued on torch's current streams. Returns
        False, and has changed nothing, if a weight has another dtype or shape than before at the same address, so that
        the core must be built anew."""
        if not self.lend_gradients(gradients):
            return False
        streams, count = self._streams()
        check(
            lib.trasmuon_optimizer_step_on_streams(self.handle, self.gradient_address, len(self._views), streams, count)
        )
        self.note_written()
        return True

    def lend_gradients(self, gradients: Gradients) -> bool:
        """Writes the gradients into the array at `gradient_address`. Returns False as step() does."""
        if not self._gradients.lend(gradients):
            if not self.is_as_built():
                return False
            self._gradients.lend_any(gradients, self.tensors)
        return True

    def check_gradients(self, gradients: Gradients) -> bool:
        """Raises Error if one of the gradients cannot be stepped with. Returns False as step() does."""
        lent = self.lend_gradients(gradients)
        self._gradients.release()
        return lent

    def note_written(self) -> None:
        """Tells autograd that the weights with gradients were written."""
        self._gradients.release()
        self._bumper(self._gradients.present)

    def _streams(self) -> Tuple[Any, int]:
        if not self._gpus:
            return None, 0
        streams = current_streams(self._gpus)
        return (ctypes.c_void_p * len(streams))(*streams), len(streams)

    def refresh_recorded(self) -> None:
        """Updates scalars inside CUDA graphs that were captured earlier."""
        streams, count = self._streams()
        check(lib.trasmuon_optimizer_refresh_recorded_on_streams(self.handle, streams, count))

    # ---- State ---------------------------------------------------------------------------------------------------

    def masters(self) -> List[Master]:
        """The parameters that have master weights."""
        found = enumerate(zip(self.tensors, self.memory))
        return [
            Master(i, tensor, state["master"], version_of(tensor)) for i, (tensor, state) in found if "master" in state
        ]

    def load_state(self, index: int, saved: Mapping[str, Any]) -> None:
        """Copies the saved state of a parameter, which has the shapes of `specs`."""
        copy_state(saved, self.memory[index], f"parameter '{self.parameters[index].name}'")

    # ---- After a step --------------------------------------------------------------------------------------------

    def diagnostics(self, index: int) -> List[Dict[str, float]]:
        """One entry per matrix of a parameter; empty unless diagnostics are on. Waits for the GPU."""
        entries = []
        for matrix in range(number_of(lib.trasmuon_optimizer_diagnostics_count, self.handle, index)):
            filled = _library.Diagnostics()
            size = ctypes.sizeof(filled)
            check(lib.trasmuon_optimizer_diagnostics(self.handle, index, matrix, ctypes.byref(filled), size))
            entries.append({name: getattr(filled, name) for name, _ in filled._fields_})
        return entries

    def warnings(self) -> List[str]:
        """Settings that are allowed but known to work badly."""
        return text_of(lib.trasmuon_optimizer_warnings, self.handle).splitlines()

    def state_bytes(self) -> int:
        return number_of(lib.trasmuon_optimizer_state_bytes, self.handle)

    def workspace_bytes(self) -> int:
        return number_of(lib.trasmuon_optimizer_workspace_bytes, self.handle)
