# SPDX-License-Identifier: Apache-2.0
"""What optimizer.state holds for one parameter."""
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

import torch

from ._library import Error
from ._tensors import lent


def _nothing() -> None:
    pass


class ParameterState(Dict[str, Any]):
    """State of one parameter: momentum, v_row, ... The library uses the memory of these tensors, so assigning to a name
    copies the values. `order` is that in which the weight is stored, as storage_order() tells.

    Whoever reads a tensor can give it other memory (`.data = ...`, share_memory_()). So every way to read one calls
    `note_reading`, and state that nobody has read needs no look in a step."""

    def __init__(
        self,
        tensors: Mapping[str, Any],
        order: Optional[Tuple[int, ...]],
        memory: Optional[Mapping[str, torch.Tensor]] = None,
        note_reading: Callable[[], Any] = _nothing,
    ) -> None:
        """memory: the tensors, as the library has them."""
        super().__init__(tensors)
        self.order = order
        self._memory = memory or {}
        self._note_reading = note_reading

    def _read(self) -> "ParameterState":
        self._note_reading()
        return self

    def references(self) -> Dict[str, Any]:
        """Tensors over the same memory, for others to keep; nothing but their values has an influence here."""
        own = dict(super().items())
        stayed = {n: m for n, m in self._memory.items() if n in own and own[n].data_ptr() == m.data_ptr()}
        return {n: lent(stayed[n]) if n in stayed else self[n] for n in own}

    # ---- Reading -------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        return super(ParameterState, self._read()).__getitem__(name)

    def __iter__(self) -> Any:  # with it dict(state) and {**state} read through __getitem__
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        return super(ParameterState, self._read()).get(name, default)

    def values(self) -> Any:
        return super(ParameterState, self._read()).values()

    def items(self) -> Any:
        return super(ParameterState, self._read()).items()

    def pop(self, *arguments: Any) -> Any:
        return super(ParameterState, self._read()).pop(*arguments)

    def popitem(self) -> Any:
        return super(ParameterState, self._read()).popitem()

    def setdefault(self, name: str, default: Any = None) -> Any:
        return super(ParameterState, self._read()).setdefault(name, default)

    def copy(self) -> Dict[str, Any]:
        return dict(self)

    def __or__(self, other: Any) -> Any:
        return dict(self) | other

    def __reduce__(self) -> Any:
        return (dict, (dict(self),))

    def __deepcopy__(self, memo: Any) -> Dict[str, Any]:
        return {name: v.clone() if isinstance(v, torch.Tensor) else v for name, v in super().items()}

    # ---- Writing -------------------------------------------------------------------------------------------------

    def __setitem__(self, name: str, value: Any) -> None:
        bound = super().get(name)
        if isinstance(bound, torch.Tensor) and isinstance(value, torch.Tensor) and value is not bound:
            if value.shape != bound.shape:
                raise Error(f"state '{name}': shape must be {list(bound.shape)}, got {list(value.shape)}")
            with torch.no_grad():
                bound.copy_(value)
            return
        super().__setitem__(name, value)

    def update(self, *others: Any, **named: Any) -> None:
        for name, value in dict(*others, **named).items():
            self[name] = value


def references(state: Mapping[str, Any]) -> Dict[str, Any]:
    """What state_dict() holds of a parameter's state, or of what a user has put in its place."""
    return state.references() if isinstance(state, ParameterState) else dict(state)
