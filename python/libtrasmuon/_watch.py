# SPDX-License-Identifier: Apache-2.0
"""What torch does not tell an optimizer: parameters that a model has replaced or unfrozen, groups that were edited, state
that was moved, and 16-bit weights that others have written."""
import sys
from itertools import chain
from operator import getitem, is_, itemgetter
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import torch

from ._gradients import Gradients
from ._groups import carry_names, check_entries, form_of_group
from ._one_process import AnyCore
from ._routing import named_tensors, unwrapped

_data_ptr: Any = torch.Tensor.data_ptr
_params_of = itemgetter("params")


def same_objects(now: Collection[Any], before: Collection[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


class ModelWatch:
    """The model from which an optimizer was built, if it was: where it keeps parameters, and which were frozen."""

    def __init__(self, source: Any = (), follows: bool = True) -> None:
        """source: a model, or a list of parameters, perhaps with names."""
        is_model = isinstance(source, torch.nn.Module)
        self._model = unwrapped(source) if is_model and follows else None
        self._frozen: List[Tuple[str, torch.Tensor]] = []
        if is_model or (source and isinstance(source[0], tuple)):
            self._frozen = [(name, tensor) for name, tensor in named_tensors(source) if not tensor.requires_grad]
        self.watch([])

    def watch(self, tensors: Sequence[torch.Tensor]) -> None:
        """Remembers where the model keeps these parameters, which are trained from now on."""
        trained = set(map(id, tensors))
        self._frozen = [item for item in self._frozen if id(item[1]) not in trained]
        places: Dict[int, Tuple[Mapping[str, Any], str]] = {}
        for module in self._model.modules() if self._model is not None else []:
            for name, parameter in module._parameters.items():
                places.setdefault(id(parameter), (module._parameters, name))
        self._watched = [tensor for tensor in tensors if id(tensor) in places]
        self._modules = [places[id(tensor)][0] for tensor in self._watched]
        self._names = [places[id(tensor)][1] for tensor in self._watched]

    def replaced(self) -> Dict[int, torch.Tensor]:
        """The parameters that the model has put in the places of others since the last call, by id of those."""
        try:
            if all(map(is_, map(getitem, self._modules, self._names), self._watched)):
                return {}
            present: List[Any] = list(map(getitem, self._modules, self._names))
        except KeyError:  # a module was taken apart; its parameters stay
            self.watch(self._watched)
            return {}
        pairs = [(old, old if new is None else new) for old, new in zip(self._watched, present)]
        self._watched = [new for _, new in pairs]
        return {id(old): new for old, new in pairs if old is not new}

    def thawed(self) -> List[str]:
        """Names of parameters that were frozen and are not any more. Each is reported once."""
        names = [name for name, tensor in self._frozen if tensor.requires_grad]
        if names:
            self._frozen = [item for item in self._frozen if not item[1].requires_grad]
        return names


class GroupWatch:
    """The groups over which a core was built."""

    def __init__(self, groups: Sequence[Dict[str, Any]], core: AnyCore) -> None:
        self._core, self._forms = core, list(map(form_of_group, groups))
        self._rules = [(group, group["rule"]) for group in groups]

    def stay(self, groups: List[Dict[str, Any]]) -> bool:
        """Whether the groups have the parameters that they had. Raises Error if they have another rule."""
        forms = list(map(form_of_group, groups))
        if forms != self._forms:
            check_entries(groups, self._rules)
            if [form[0] for form in forms] != [form[0] for form in self._forms]:
                return False
            self._forms = forms
        return all(map(is_, chain.from_iterable(map(_params_of, groups)), self._core.tensors))

    def carry_names(self, groups: List[Dict[str, Any]]) -> None:
        """Gives parameters that were moved in the lists of groups their names and layouts back."""
        same_sizes = [len(group["params"]) for group in groups] == [form[0] for form in self._forms]
        if not same_sizes or not all(map(is_, chain.from_iterable(map(_params_of, groups)), self._core.tensors)):
            carry_names(groups, self._core.parameters)


def _references_of_two_holders() -> int:
    """What sys.getrefcount() tells, called as in StateWatch, of an object that two dicts hold."""
    first = {0: object()}
    second = dict(first)
    return max(map(sys.getrefcount, second.values()))


class StateWatch:
    """State tensors that somebody has read, and may give other memory while he has them."""

    _held_by_us = _references_of_two_holders()  # the core and optimizer.state

    def __init__(self, core: AnyCore) -> None:
        self._states, self._memory = core.local_states, core.memory
        self._can_forget = core.states is core.local_states  # the tensors of DTensors are held elsewhere too
        self._read: Set[int] = set()  # parameters
        self._has_news = False
        self._tensors: List[torch.Tensor] = []
        self._pointers: List[int] = []

    def reader(self, index: int) -> Callable[[], None]:
        """What is to be called when the state of this parameter is read."""

        def note() -> None:
            self._read.add(index)
            self._has_news = True

        return note

    def has_moved(self) -> bool:
        """Whether some of the state is not where the library writes it."""
        if not self._read:
            return False
        if self._has_news:
            self._collect()
        if list(map(_data_ptr, self._tensors)) != self._pointers:
            return True
        if self._has_news:
            self._has_news = False
            self._forget()
        return False

    def _collect(self) -> None:
        self._tensors = [tensor for index in self._read for tensor in self._states[index].values()]
        self._pointers = [tensor.data_ptr() for index in self._read for tensor in self._memory[index].values()]

    def _forget(self) -> None:
        """Looks no longer at what was only looked at."""
        self._tensors = []
        for index in list(self._read) if self._can_forget else []:
            if max(map(sys.getrefcount, self._states[index].values()), default=0) <= self._held_by_us:
                self._read.discard(index)
        self._collect()


class MasterWatch:
    """16-bit weights that have f32 masters, and the version of each after the last step."""

    def __init__(self, core: AnyCore) -> None:
        self._versions: Dict[int, Any] = {item.parameter: None for item in core.masters()}

    def follow(self, core: AnyCore) -> None:
        """Copies elements that others have written from weights into their masters, which the next step would write
        over them. Compares on the device, so the host does not wait."""
        for index, tensor, master, version in core.masters() if self._versions else []:
            if version == self._versions[index]:
                continue
            self._versions[index] = version
            weight = tensor.detach().reshape(master.shape) if tensor.dim() != master.dim() else tensor.detach()
            if weight.shape != master.shape:  # channels-last
                weight = weight.permute(0, *range(2, weight.dim()), 1)
            same = master.to(weight.dtype) == weight
            master.copy_(torch.where(same, master, weight.to(master.dtype)))

    def note_step(self, core: AnyCore, gradients: Optional[Gradients]) -> None:
        """The step with these gradients has written weights and masters alike."""
        for index, _, _, version in core.masters() if self._versions and gradients else []:
            if gradients[index] is not None:  # type: ignore[index]
                self._versions[index] = version
