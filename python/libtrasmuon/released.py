# SPDX-License-Identifier: Apache-2.0
"""TrasMuon with the constructor of the authors' package (trasmuon-pytorch 0.1.0, import name `trasmuon`): whoever uses
theirs changes one import, `from trasmuon import TrasMuon`."""
from typing import Any, Dict, List, Optional, Tuple

import torch

from ._groups import Params, listed
from ._library import Error
from ._optimizer import Optimizer
from ._options import Number
from ._routing import is_named

_ENERGIES = {"m": "momentum", "g": "gradient", "O_base": "direction"}
# Options of this library that arguments of the package become, for errors.
_NAMES = {
    "rms_scale": "scale_factor",
    "quantile": "energy_quantile",
    "eps_reference": "eps_energy",
    "alpha": "col_gate_alpha",
    "c_min": "col_gate_cmin",
    "trigger": "energy_k",
    "beta_clip": "gate_ema",
    "period": "col_gate_every",
    "min_damped_dim": "col_gate_min_in",
    "beta_energy": "E_ref_ema_beta",
    "warmup": "warmup_steps",
    "rho": "sf_mix",
    "gamma": "gamma_source",
    "beta_gamma": "gamma_eta_ema",
    "gamma_low": "gamma_eta_lo_mul",
    "gamma_high": "gamma_eta_hi_mul",
}
_MOST_ITERATIONS = 5  # that many triples of coefficients the package has; more ns_iters are as many


class TrasMuon(Optimizer):
    """The step of the authors' package: every parameter with exactly two dimensions takes the matrix rule, all others
    AdamW with the same lr, betas, eps and weight decay. Groups may have any of the arguments below.

    What differs: Newton-Schulz runs in f32 on the CPU and in f16 on a GPU, theirs always in bf16; 16-bit weights are rounded once per step. use_triton, sf_tau_mode, sf_t_half, sf_warmup_steps
    and S0 have no influence on the weights, there and here. distributed_mesh is refused.

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
    >>> optimizer = TrasMuon(model.parameters(), lr=1e-3, col_gate_cmin=0.5, warmup_steps=100)
    >>> [(group["rule"], len(group["params"])) for group in optimizer.param_groups]
    [('trasmuon', 2), ('adamw', 2)]
    """

    rule = "trasmuon"
    _copied = (*Optimizer._copied, "_arguments")

    def __init__(
        self,
        params: Params,
        *,
        distributed_mesh: Optional[Any] = None,
        lr: Number = 1e-3,
        betas: Tuple[float, float] = (0.95, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        ns_iters: int = 5,
        scale_factor: float = 0.2,
        use_triton: bool = True,
        col_gate_enabled: bool = True,
        col_gate_use: str = "m",
        energy_quantile: float = 0.5,
        eps_energy: float = 1e-12,
        col_gate_alpha: float = 1.0,
        col_gate_cmin: float = 0.7,
        energy_k: float = 3.0,
        use_energy_trigger: bool = True,
        gate_ema: float = 0.9,
        col_gate_every: int = 4,
        col_gate_min_in: int = 8,
        E_ref_ema_beta: float = 0.99,
        warmup_steps: int = 0,
        sf_enabled: bool = True,
        sf_mix: float = 0.3,
        sf_exclude_warmup: bool = True,
        gamma_source: str = "lr",
        gamma_eta_ema: float = 0.9,
        gamma_eta_lo_mul: float = 0.3,
        gamma_eta_hi_mul: float = 3.0,
        sf_tau_mode: str = "auto",
        sf_t_half: int = 2000,
        sf_warmup_steps: int = 200,
        S0: float = 1.0,
        diagnostics: bool = False,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in _NO_OPTIONS}
        self._arguments = given
        if distributed_mesh is not None:
            raise Error("released: distributed_mesh must be None, each rank steps whole matrices")
        groups = [part for group in _listed(params) for part in _split(group, given)]
        if not groups:
            raise Error("params: no parameter requires a gradient")
        try:
            super().__init__(groups, translated(given), adamw=_adamw(given), preset="released", diagnostics=diagnostics)
        except Error as error:
            raise _with_names_of_the_package(error) from None

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Adds a group with arguments of the package. One that names a `rule` has options of this library instead."""
        if self._core is None or not isinstance(param_group, dict) or "rule" in param_group:
            super().add_param_group(param_group)
            return
        count = len(self.param_groups)
        try:
            for part in _split(_listed([param_group])[0], self._arguments):
                super().add_param_group(part)
        except BaseException as error:
            if len(self.param_groups) != count:  # one part was added
                del self.param_groups[count:]
                self._rebuild()
            if type(error) is Error:
                raise _with_names_of_the_package(error) from None
            raise


_NO_OPTIONS = ("self", "params", "distributed_mesh", "diagnostics", "__class__")


def _with_names_of_the_package(error: Error) -> Error:
    """An error about options, in terms of the package's arguments."""
    rule, _, text = str(error).partition(": ")
    if rule != "trasmuon":
        return error
    return Error("released: " + " ".join(_NAMES.get(word, word) for word in text.split(" ")))


def _listed(params: Params) -> List[Dict[str, Any]]:
    items: Any = listed(params)
    return items if not isinstance(items, torch.nn.Module) and isinstance(items[0], dict) else [{"params": items}]


def _split(group: Dict[str, Any], given: Dict[str, Any]) -> List[Dict[str, Any]]:
    """A group of the package as one of the matrix rule and one of AdamW."""
    own = {name: value for name, value in group.items() if name != "params"}
    for name in own:
        if name not in given:
            raise Error(f"released: unknown option '{name}', known: {', '.join(given)}")
    params = group["params"] if "params" in group else []
    params = params.named_parameters() if isinstance(params, torch.nn.Module) else params
    items = [params] if isinstance(params, torch.Tensor) else list(params)
    items = [item for item in items if not is_named(item) or item[1].requires_grad]
    tensors = [item[1] if isinstance(item, tuple) else item for item in items]
    matrices = [item for item, tensor in zip(items, tensors) if tensor.dim() == 2]
    rest = [item for item, tensor in zip(items, tensors) if tensor.dim() != 2]
    options = {**given, **own}
    found = [{"params": matrices, "rule": "trasmuon", **translated(options)}] if matrices else []
    return found + ([{"params": rest, "rule": "adamw", **_adamw(options)}] if rest else [])


def _adamw(given: Dict[str, Any]) -> Dict[str, Any]:
    return {name: given[name] for name in ("lr", "betas", "eps", "weight_decay")}


def translated(given: Dict[str, Any]) -> Dict[str, Any]:
    """Arguments of the package as options of the rule "trasmuon", on top of the preset "released"."""
    if given["col_gate_use"] not in _ENERGIES:
        raise Error(f"released: col_gate_use must be one of {', '.join(_ENERGIES)}, got {given['col_gate_use']!r}")
    if given["ns_iters"] < 1:
        raise Error(f"released: ns_iters must be >= 1, got {given['ns_iters']}")
    return {
        **_adamw(given),
        "ns_steps": min(given["ns_iters"], _MOST_ITERATIONS),
        "rms_scale": given["scale_factor"],
        "clip": "soft" if given["col_gate_enabled"] else "none",
        "energy_of": _ENERGIES[given["col_gate_use"]],
        "quantile": given["energy_quantile"],
        "eps_reference": given["eps_energy"],
        "alpha": given["col_gate_alpha"],
        "c_min": given["col_gate_cmin"],
        "trigger": given["energy_k"] if given["use_energy_trigger"] else 0.0,
        "beta_clip": given["gate_ema"],
        "period": given["col_gate_every"],
        "min_damped_dim": given["col_gate_min_in"],
        "beta_energy": given["E_ref_ema_beta"],
        "warmup": max(given["warmup_steps"], 0),
        "rho": given["sf_mix"] if given["sf_enabled"] else 0.0,
        "average_warmup": not given["sf_exclude_warmup"],
        "gamma": given["gamma_source"],
        "beta_gamma": given["gamma_eta_ema"],
        "gamma_low": given["gamma_eta_lo_mul"],
        "gamma_high": given["gamma_eta_hi_mul"],
    }
