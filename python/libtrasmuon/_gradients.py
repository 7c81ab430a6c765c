# SPDX-License-Identifier: Apache-2.0
"""The gradients of a step as the array of structs that the library reads."""
import ctypes
from array import array
from typing import Any, List, Optional, Sequence, Tuple

import torch

from . import _library
from ._tensors import dtype_number, usable_gradient

Gradients = Sequence[Optional[torch.Tensor]]  # None: the parameter is not stepped

_WORDS = ctypes.sizeof(_library.Tensor) // 8  # of 64 bits in struct trasmuon_tensor; `data` is the first

_data_ptr: Any = torch.Tensor.data_ptr
_is_contiguous: Any = torch.Tensor.is_contiguous
_numel: Any = torch.Tensor.numel
_device_of: Any = torch.Tensor.get_device  # a number; -1 is the CPU


class GradientArray:
    """Made once. A step only replaces the pointers in it, all at once, if every gradient is as its weight: of its size
    and dtype, and contiguous."""

    def __init__(
        self,
        names: Sequence[str],
        weights: Sequence[torch.Tensor],
        views: Sequence[_library.Tensor],
        orders: Sequence[Optional[Tuple[int, ...]]],
    ) -> None:
        """views, orders: how the weights are stored, as weight_view() tells."""
        self._names, self._orders = names, orders
        self._memory = bytearray(8 * _WORDS * len(views))
        self._structs = (_library.Tensor * len(views)).from_buffer(self._memory)
        for target, view in zip(self._structs, views):
            target.dtype, target.rank, target.shape = view.dtype, view.rank, view.shape
        self._pointers = memoryview(self._memory).cast("Q")[::_WORDS]
        self._sizes = list(map(_numel, weights))
        self._devices = list(map(_device_of, weights))
        self._singles = [index for index, size in enumerate(self._sizes) if size == 1]
        # No gradient is plain whose weight is stored in another order.
        self._dtypes = [None if order else weight.dtype for order, weight in zip(orders, weights)]
        self._lent: Gradients = []
        self._lent_pointers: List[int] = []
        self.address = ctypes.addressof(self._structs)
        self.present: Optional[List[int]] = None  # indices of the gradients that exist; None: all

    def lend(self, gradients: Gradients) -> bool:
        """Takes gradients that need nothing but their pointers; False if there are others."""
        pointers = self._plain_pointers(gradients)
        if pointers is None:
            return False
        if pointers != self._lent_pointers:
            has_none = 0 in pointers
            if not self._can_be_read(gradients, pointers, has_none):
                return False
            self._write(pointers, has_none)
        self._lent = gradients
        return True

    def lend_any(self, gradients: Gradients, weights: Sequence[torch.Tensor]) -> None:
        """Takes gradients, copies where necessary. Raises Error if one cannot be stepped with."""
        gradients = self._usable(gradients, weights)
        pointers = [0 if gradient is None else gradient.data_ptr() for gradient in gradients]
        self._write(pointers, 0 in pointers)
        self._lent = gradients  # may be copies, which must live until the step is done

    def _write(self, pointers: List[int], has_none: bool) -> None:
        self._pointers[:] = array("Q", pointers)
        self.present = [index for index, pointer in enumerate(pointers) if pointer] if has_none else None
        self._lent_pointers = pointers

    def _can_be_read(self, gradients: Gradients, pointers: List[int], has_none: bool) -> bool:
        """Whether gradients at new addresses have memory, on the devices of their weights. torch checks the device when
        a gradient is assigned, but not when it or its weight gets other `.data`."""
        if has_none:
            without = [i for i, pointer in enumerate(pointers) if pointer == 0 and gradients[i] is not None]
            if any(self._sizes[index] > 0 for index in without):
                return False
        if not torch.cuda.is_initialized():
            return True
        pairs = zip(gradients, self._devices)
        return all(gradient is None or _device_of(gradient) == device for gradient, device in pairs)

    def release(self) -> None:
        self._lent = []

    def _plain_pointers(self, gradients: Gradients) -> Optional[List[int]]:
        """The addresses of the gradients, 0 for None; None if one of them has to be looked at."""
        # Only a tensor of one element can be contiguous and, as a part of a conjugate, lazily negated.
        if any(gradient is not None and gradient.is_neg() for gradient in map(gradients.__getitem__, self._singles)):
            return None
        wanted: Tuple[Sequence[Any], ...] = (gradients, self._sizes, self._dtypes)
        try:
            return _plain_pointers(*wanted)
        except TypeError:  # some are None
            present = [index for index, gradient in enumerate(gradients) if gradient is not None]
            chosen = [[values[index] for index in present] for values in wanted]
            found = _plain_pointers(*chosen)
        if found is None:
            return None
        pointers = [0] * len(gradients)
        for index, pointer in zip(present, found):
            pointers[index] = pointer
        return pointers

    def _usable(self, gradients: Gradients, weights: Sequence[torch.Tensor]) -> Gradients:
        """The gradients as the library reads them: contiguous, in the order of the weight; copies where necessary."""
        found: List[Optional[torch.Tensor]] = []
        for index, gradient in enumerate(gradients):
            if gradient is not None:
                who = f"gradient of '{self._names[index]}'"
                gradient = usable_gradient(gradient, weights[index], self._orders[index], who)
                self._structs[index].dtype = dtype_number(gradient, who)
                if self._orders[index] is None:
                    self._dtypes[index] = gradient.dtype
            found.append(gradient)
        return found


def _plain_pointers(gradients: Sequence[Any], sizes: Sequence[int], dtypes: Sequence[Any]) -> Optional[List[int]]:
    """The addresses of contiguous gradients of these sizes and dtypes; None if one of them is something else."""
    try:
        pointers = list(map(_data_ptr, gradients))
    except RuntimeError:  # sparse tensors have no address
        return None
    alike = all(map(_is_contiguous, gradients)) and list(map(_numel, gradients)) == sizes
    return pointers if alike and [gradient.dtype for gradient in gradients] == dtypes else None
