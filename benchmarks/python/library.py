# SPDX-License-Identifier: Apache-2.0
"""The part of TrasMuon's C ABI that the benchmark and the comparison with the release need, on torch tensors."""
import ctypes
import math

_DTYPES = {"torch.float64": 0, "torch.float32": 1, "torch.bfloat16": 2, "torch.float16": 3}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("shape", ctypes.c_int64 * 5), ("row_stride", ctypes.c_int64)]


class _Parameter(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("weight", _Tensor),
                ("layout", ctypes.c_int), ("transposed", ctypes.c_int), ("row_blocks", ctypes.c_void_p),
                ("row_block_count", ctypes.c_size_t), ("device", ctypes.c_int)]


def _view(tensor):
    shape = (ctypes.c_int64 * 5)(*tensor.shape)
    return _Tensor(tensor.data_ptr(), _DTYPES[str(tensor.dtype)], tensor.dim(), shape, 0)


def _device(tensor):
    return 1 + tensor.device.index if tensor.is_cuda else 0  # TRASMUON_CUDA + index, TRASMUON_CPU


def set_num_threads(library, threads):
    """Sets the number of threads of steps on the CPU."""
    if ctypes.CDLL(library).trasmuon_set_num_threads(threads) != 0:
        raise ValueError(f"threads must be >= 1, got {threads}")


class Optimizer:
    """One group of tensors under one rule, all on the CPU or all on CUDA."""

    def __init__(self, library, rule, parameters, preset="default", **options):
        self._lib = ctypes.CDLL(library)
        self._lib.trasmuon_last_error.restype = ctypes.c_char_p
        self._parameters, self._gradients = parameters, None
        handle, builder = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("trasmuon_options_create_preset", rule.encode(), preset.encode(), ctypes.byref(handle))
        for field, value in options.items():
            self._call("trasmuon_options_set", handle, field.encode(), str(value).encode())
        self._call("trasmuon_builder_create", ctypes.byref(builder))
        self._call("trasmuon_builder_add_group", builder, handle, None)
        for i, tensor in enumerate(parameters):
            p = _Parameter(ctypes.sizeof(_Parameter), b"p%d" % i, _view(tensor), 0, 0, None, 0, _device(tensor))
            self._call("trasmuon_builder_add_parameter", builder, ctypes.byref(p), None)
        self._handle = ctypes.c_void_p()
        self._call("trasmuon_builder_finish", builder, ctypes.byref(self._handle))
        self._lib.trasmuon_builder_destroy(builder)
        self._lib.trasmuon_options_destroy(handle)

    def step(self, stream=None):
        if self._gradients is None:  # the gradients never move, so their views are made once, as in a C program
            self._gradients = (_Tensor * len(self._parameters))(*[_view(p.grad) for p in self._parameters])
        self._call("trasmuon_optimizer_step_on", self._handle, self._gradients,
                   ctypes.c_size_t(len(self._gradients)), ctypes.c_void_p(stream))

    def state(self, index, name):
        """Copies a state tensor in host memory to a flat list of floats."""
        count, found, tensor = ctypes.c_size_t(), ctypes.c_char_p(), _Tensor()
        self._call("trasmuon_optimizer_state_count", self._handle, ctypes.c_size_t(index), ctypes.byref(count))
        for which in range(count.value):
            self._call("trasmuon_optimizer_state", self._handle, ctypes.c_size_t(index), ctypes.c_size_t(which),
                       ctypes.byref(found), ctypes.byref(tensor))
            if found.value.decode() != name:
                continue
            element = {0: ctypes.c_double, 1: ctypes.c_float}[tensor.dtype]
            size = math.prod(tensor.shape[:tensor.rank])
            return list((element * size).from_address(tensor.data))
        raise KeyError(name)

    def bytes(self, kind):
        value = ctypes.c_size_t()
        self._call(f"trasmuon_optimizer_{kind}_bytes", self._handle, ctypes.byref(value))
        return value.value

    def close(self):
        self._lib.trasmuon_optimizer_destroy(self._handle)

    def _call(self, name, *arguments):
        if getattr(self._lib, name)(*arguments) != 0:
            raise RuntimeError(self._lib.trasmuon_last_error().decode())
