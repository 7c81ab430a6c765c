# SPDX-License-Identifier: Apache-2.0
"""The C ABI of the library (include/trasmuon/c_api.h) through ctypes: finds it, declares it, turns failures into
exceptions."""
import ctypes
import os
import pathlib
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, List, Optional

ABI_VERSION = 1
MAX_RANK = 5
CPU, CUDA = 0, 1  # device numbers: CUDA + index
MATRIX, ADAMW = 0, 1  # families
_REFUSED, _OUT_OF_MEMORY = 1, 3


class Error(ValueError):
    """What the library refuses. The text names the field or tensor, the rule and the value found."""


class ExchangeError(RuntimeError):
    """An exchange between ranks that failed. The text names the step, the exchange and the ranks that are missing."""


class Tensor(ctypes.Structure):
    """struct trasmuon_tensor."""

    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int),
        ("rank", c_int),
        ("shape", c_int64 * MAX_RANK),
        ("row_stride", c_int64),
    ]


class Parameter(ctypes.Structure):
    """struct trasmuon_parameter."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("weight", Tensor),
        ("layout", c_int),
        ("transposed", c_int),
        ("row_blocks", POINTER(c_int64)),
        ("row_block_count", c_size_t),
        ("device", c_int),
        ("first_row", c_int64),
        ("total_rows", c_int64),
    ]


class Diagnostics(ctypes.Structure):
    """struct trasmuon_diagnostics."""

    _fields_ = [("step", c_int64), ("skipped", c_int64), ("updated", c_int64)] + [
        (name, c_double)
        for name in ("r_max", "r_q95", "c_min", "c_mean", "damped_share", "update_rms", "eta_hat", "isometry_error")
    ]


class NamedShape(ctypes.Structure):
    """struct trasmuon_named_shape."""

    _fields_ = [("name", c_char_p), ("rank", c_int), ("shape", c_int64 * MAX_RANK)]


class FamilyOverride(ctypes.Structure):
    """struct trasmuon_family_override."""

    _fields_ = [("pattern", c_char_p), ("family", c_int)]


StateCallback = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_char_p, POINTER(Tensor))

_text, _handle, _sizes = POINTER(c_char_p), POINTER(c_void_p), POINTER(c_size_t)
# The functions this package calls and their arguments. All return a status.
_FUNCTIONS = {
    "options_create_preset": [c_char_p, c_char_p, _handle],
    "options_set": [c_void_p, c_char_p, c_char_p],
    "options_set_number": [c_void_p, c_char_p, c_double],
    "options_get": [c_void_p, c_char_p, _text],
    "options_field_count": [c_void_p, POINTER(c_size_t)],
    "options_field": [c_void_p, c_size_t, _text],
    "options_describe": [c_void_p, _text],
    "why_unusable": [c_int, _text],
    "builder_create": [_handle],
    "builder_add_group": [c_void_p, c_void_p, c_void_p],
    "builder_add_parameter": [c_void_p, POINTER(Parameter), c_void_p],
    "builder_set_master_weights": [c_void_p, c_int],
    "builder_set_diagnostics": [c_void_p, c_int],
    "builder_set_state": [c_void_p, StateCallback, c_void_p],
    "builder_finish": [c_void_p, _handle],
    "optimizer_step_on_streams": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t],
    "optimizer_refresh_recorded_on_streams": [c_void_p, c_void_p, c_size_t],
    "optimizer_set_options": [c_void_p, c_size_t, c_void_p],
    "optimizer_set": [c_void_p, c_size_t, c_char_p, c_char_p],
    "optimizer_set_number": [c_void_p, c_size_t, c_char_p, c_double],
    "optimizer_rebind_weight": [c_void_p, c_size_t, c_void_p],
    "optimizer_diagnostics_count": [c_void_p, c_size_t, POINTER(c_size_t)],
    "optimizer_diagnostics": [c_void_p, c_size_t, c_size_t, POINTER(Diagnostics), c_size_t],
    "optimizer_warnings": [c_void_p, _text],
    "optimizer_state_bytes": [c_void_p, POINTER(c_size_t)],
    "optimizer_workspace_bytes": [c_void_p, POINTER(c_size_t)],
    "optimizer_describe_table": [c_void_p, _text],
    "sharded_step_create": [c_void_p, c_int, c_int, POINTER(c_int64), c_size_t, c_int, _handle],
    "sharded_step_sizes": [c_void_p, _sizes, _sizes, _sizes, _sizes, _sizes, _sizes],
    "sharded_step_ownership": [c_void_p, _sizes, POINTER(c_int), POINTER(c_double), POINTER(c_int)],
    "sharded_step_momentum": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p],
    "sharded_step_pack": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p],
    "sharded_step_orthogonalize": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p],
    "sharded_step_row_scale": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p],
    "sharded_step_apply": [c_void_p, c_void_p, c_size_t, c_void_p],
    "sharded_step_cancel": [c_void_p],
    "assign_owners": [POINTER(c_double), c_size_t, c_int, POINTER(c_int), POINTER(c_double), POINTER(c_int)],
    "iteration_cost": [c_int64, c_int64, c_int, POINTER(c_double)],
    "fingerprint": [c_char_p, POINTER(c_uint64)],
    "first_difference": [c_char_p, c_char_p, _text],
    "classify_preset": [
        c_char_p,
        POINTER(NamedShape),
        c_size_t,
        POINTER(FamilyOverride),
        c_size_t,
        POINTER(c_int),
        _text,
    ],
    "set_num_threads": [c_int],
    "get_num_threads": [POINTER(c_int)],
}
_DESTROYERS = ("options_destroy", "builder_destroy", "optimizer_destroy", "sharded_step_destroy")


def library_path() -> pathlib.Path:
    """The file that is loaded: the one that TRASMUON_LIBRARY names, or the one in this package."""
    if "TRASMUON_LIBRARY" in os.environ:
        return pathlib.Path(os.environ["TRASMUON_LIBRARY"])
    folder = pathlib.Path(__file__).parent
    found = sorted(folder.glob("libtrasmuon.so*"))
    if not found:
        raise ImportError(
            f"libtrasmuon.so is missing in {folder}: install the package (pip install .), "
            "or let TRASMUON_LIBRARY name the file"
        )
    return found[0]


def _load() -> ctypes.CDLL:
    path = library_path()
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"cannot load {path}: {error}") from error
    found = loaded.trasmuon_abi_version()
    if found != ABI_VERSION:
        raise ImportError(
            f"{path}: ABI version must be {ABI_VERSION}, got {found}; this package and the library differ"
        )
    for name, arguments in _FUNCTIONS.items():
        getattr(loaded, "trasmuon_" + name).argtypes = arguments
    for name in _DESTROYERS:
        function = getattr(loaded, "trasmuon_" + name)
        function.argtypes, function.restype = [c_void_p], None
    loaded.trasmuon_last_error.restype = loaded.trasmuon_version.restype = c_char_p
    return loaded


lib = _load()


def check(status: int) -> None:
    """Raises the exception of a failed call."""
    if status == 0:
        return
    text = lib.trasmuon_last_error().decode()
    if status == _REFUSED:
        raise Error(text)
    raise MemoryError(text) if status == _OUT_OF_MEMORY else RuntimeError(text)


def text_of(function: Any, *arguments: Any) -> str:
    """Calls a function whose last argument is a text output."""
    text = c_char_p()
    check(function(*arguments, byref(text)))
    return (text.value or b"").decode()


def number_of(function: Any, *arguments: Any) -> int:
    """Calls a function whose last argument is a size_t output."""
    number = c_size_t()
    check(function(*arguments, byref(number)))
    return number.value


def handle_of(function: Any, *arguments: Any) -> c_void_p:
    """Calls a function whose last argument is a handle output."""
    handle = c_void_p()
    check(function(*arguments, byref(handle)))
    return handle


def core_version() -> str:
    """The version of the loaded library."""
    return lib.trasmuon_version().decode()


def why_unusable(device: int) -> Optional[str]:
    """Why parameters on this device cannot be stepped: "cuda: cannot load ..."; None if they can. The device is a
    number of the C ABI: 0 is the CPU, 1 + i is cuda:i."""
    return text_of(lib.trasmuon_why_unusable, device) or None


def set_num_threads(threads: int) -> None:
    """Sets the number of threads of steps on the CPU, for the whole process. Results do not depend on it."""
    check(lib.trasmuon_set_num_threads(threads))


def get_num_threads() -> int:
    """The number of threads of steps on the CPU."""
    threads = c_int()
    check(lib.trasmuon_get_num_threads(byref(threads)))
    return threads.value


def sizes_of(shape: List[int]) -> Any:
    """A shape as the array that the structs hold."""
    return (c_int64 * MAX_RANK)(*shape)
