# SPDX-License-Identifier: Apache-2.0
"""Options of the rules. Names, defaults, ranges and meanings come from the library (describe()); the types here let
editors and type checkers know them."""
from ctypes import c_void_p
from typing import Any, Dict, List, Mapping, Sequence, Tuple, TypedDict, Union

import torch

from ._library import Error, check, handle_of, lib, number_of, text_of

Number = Union[float, torch.Tensor]
Coefficients = Union[str, Sequence[Tuple[float, float, float]]]


class _Common(TypedDict, total=False):
    weight_decay: float


class _Iteration(_Common, total=False):
    nesterov: bool
    ns_steps: int
    coefficients: Coefficients
    ns_form: str
    ns_precision: str
    momentum_dtype: str


class TrasMuonOptions(_Iteration, total=False):
    """Options of the rule "trasmuon"."""

    betas: Tuple[float, float]
    eps: float
    rms_scale: float
    clip: str
    alpha: float
    c_min: float
    beta_energy: float
    beta_clip: float
    trigger: float
    period: int
    warmup: int
    rho: float
    gamma: Union[float, str]
    beta_gamma: float
    gamma_low: float
    gamma_high: float
    energy_of: str
    reference: str
    reference_start: str
    quantile: float
    quantile_rule: str
    gate_first_step: bool
    average_warmup: bool
    orthogonalize: bool
    row_scale: bool
    calibrate: bool
    eps_energy: float
    eps_reference: float
    eps_average: float
    average_start: str
    clamp_damping: bool
    min_damped_dim: int
    damped_dim: str
    input_eps: str
    row_eps: str
    eps_calibration: float
    skip_nonfinite: bool


class NorMuonOptions(_Iteration, total=False):
    """Options of the rule "normuon"."""

    betas: Tuple[float, float]
    eps: float
    scaling: str
    rms_scale: float


class MuonOptions(_Iteration, total=False):
    """Options of the rule "muon"."""

    momentum: float
    eps: float
    scaling: str


class DionOptions(_Common, total=False):
    """Options of the rule "dion"."""

    momentum: float
    rank_fraction: float
    seed: int


class AdamWOptions(_Common, total=False):
    """Options of the rule "adamw"."""

    betas: Tuple[float, float]
    eps: float


RULES: Dict[str, Any] = {
    "trasmuon": TrasMuonOptions,
    "normuon": NorMuonOptions,
    "muon": MuonOptions,
    "dion": DionOptions,
    "adamw": AdamWOptions,
}


def check_rule(rule: str) -> None:
    """Raises Error unless `rule` is one of the rules."""
    if rule not in RULES:
        raise Error(f"rule must be one of {', '.join(RULES)}, got {rule!r}")


class Options:
    """Options of one rule in the library's memory; an argument for its functions."""

    def __init__(self, rule: str, preset: str = "default") -> None:
        self._as_parameter_ = handle_of(lib.trasmuon_options_create_preset, rule.encode(), preset.encode())

    def __del__(self) -> None:
        lib.trasmuon_options_destroy(getattr(self, "_as_parameter_", c_void_p()))

    def fields(self) -> List[str]:
        count = number_of(lib.trasmuon_options_field_count, self)
        return [text_of(lib.trasmuon_options_field, self, index) for index in range(count)]

    def get(self, field: str) -> str:
        return text_of(lib.trasmuon_options_get, self, field.encode())

    def set(self, field: str, value: Union[str, float]) -> None:
        if isinstance(value, str):
            check(lib.trasmuon_options_set(self, field.encode(), value.encode()))
        else:
            check(lib.trasmuon_options_set_number(self, field.encode(), value))


def describe(rule: str, preset: str = "default") -> str:
    """A table of a rule's options: name, value, range, meaning. beta1 and beta2 are given together, as `betas`.

    >>> print(describe("dion").splitlines()[3])
    rank_fraction   1            in (0, 1]     rank over min(m, n), rounded up
    """
    check_rule(rule)
    return text_of(lib.trasmuon_options_describe, Options(rule, preset))


def _parse(rule: str, field: str, text: str) -> Any:
    wanted = RULES[rule].__annotations__.get(field, float)
    if wanted is bool:
        return text == "true"
    if wanted in (int, str):
        return wanted(text)
    try:
        return float(text)
    except ValueError:
        return text  # the name of a set of coefficients; gamma = lr


def default_options(rule: str, preset: str = "default") -> Dict[str, Any]:
    """The defaults of a rule, or one of its presets, as entries of a parameter group.

    >>> default_options("adamw")
    {'lr': 0.001, 'weight_decay': 0.01, 'betas': (0.9, 0.95), 'eps': 1e-08}
    """
    check_rule(rule)
    options = Options(rule, preset)
    values: Dict[str, Any] = {}
    for field in options.fields():
        value = _parse(rule, field, options.get(field))
        if field == "beta1":
            values["betas"] = (value,)
        elif field == "beta2":
            values["betas"] += (value,)
        else:
            values[field] = value
    return values


def preset_for(rule: str, preset: str, own_rule: str) -> str:
    """The preset of a group in an optimizer with this preset: AdamW has none of the paper."""
    return "default" if rule != own_rule and preset == "paper" else preset


def merged(rule: str, given: Mapping[str, Any], preset: str = "default") -> Dict[str, Any]:
    """The preset with the given options instead; Error on an unknown one."""
    values = default_options(rule, preset)
    for name in given:
        if name not in values:
            raise Error(f"{rule}: unknown option '{name}', known: {', '.join(values)}")
    values.update(given)
    return values


def is_fixed(value: Any) -> bool:
    """Whether a value of an option cannot change in place, as tensors and lists can."""
    return isinstance(value, (int, float, str)) or (isinstance(value, tuple) and all(map(is_fixed, value)))


def core_fields(rule: str, name: str, value: Any) -> List[Tuple[str, Union[str, float]]]:
    """An entry of a parameter group as fields of the library: betas are two of them."""
    if name == "betas":
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise Error(f"{rule}: betas must be two numbers, got {value!r}")
        return [field for i, beta in enumerate(value, 1) for field in core_fields(rule, f"beta{i}", beta)]
    if not isinstance(value, str):
        try:
            if name == "coefficients":
                value = "; ".join(", ".join(repr(float(x)) for x in triple) for triple in value)
            else:
                value = float(value)  # waits for the GPU if it is a tensor there
        except (TypeError, ValueError, RuntimeError) as reason:
            if isinstance(value, torch.Tensor) and value.numel() == 1 and not value.is_complex():
                raise Error(f"{rule}: {name} is a tensor that cannot be read now: {reason}") from reason
            raise Error(f"{rule}: {name} must be a number or a text, got {value!r}") from None
    return [(name, value)]


def core_options(rule: str, group: Mapping[str, Any], names: Sequence[str]) -> Options:
    """The options of a parameter group in the library's memory, checked."""
    options = Options(rule)
    # lr last: lr * weight_decay is limited, and each call is checked alone.
    for name in sorted(names, key=lambda name: name == "lr"):
        for field, value in core_fields(rule, name, group[name]):
            options.set(field, value)
    return options
